"""Keys and values stay what they are, on a server whose defaults fold, cut and swallow them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.sql.catalogue import catalogue
from tests.stores.mariadb.conftest import Connect, rows_of
from tests.support.money import CURRENCY, transfer

# What the default collation takes for one text, and what its binary one still does ('a' and 'a ').
ALIKE = (
    "Payment:Abc",
    "payment:abc",
    "payment:abc ",
    "payment:abc  ",
    "páyment:abc",
    "payment:ABC",
    "payment:abc\u00a0",
)


@pytest.mark.req("1.4")
@pytest.mark.case("S08")
def test_keys_that_the_default_collation_equates_are_two_keys(ledger: Ledger, connect: Connect) -> None:
    """Case, accents and trailing spaces make another key, another account and another counter."""
    ledger.open_account("a", CURRENCY)
    caller = connect()
    for number, key in enumerate(ALIKE):
        held = ledger.within(caller) if number % 2 else ledger
        assert not held.post(**transfer(key, "world", "a", 1)).replayed
        held.open_account(key, CURRENCY)
        held.bump(key)
        caller.commit()
    assert ledger.balance("a", CURRENCY).posted == len(ALIKE)
    assert sorted(account.name for account in ledger.accounts()) == sorted([*ALIKE, "a", "world"])
    assert [ledger.count(key) for key in ALIKE] == [1] * len(ALIKE)
    assert all(ledger.post(**transfer(key, "world", "a", 1)).replayed for key in ALIKE)


@pytest.mark.case("S08")
def test_long_keys_with_one_beginning_are_two_keys(ledger: Ledger) -> None:
    """400 characters of four bytes each are compared to the last."""
    ledger.open_account("a", CURRENCY)
    beginning = "😀" * 399
    for end in "ab":
        assert not ledger.post(**transfer(beginning + end, "world", "a", 1)).replayed
    assert ledger.post_many([transfer(beginning + end, "world", "a", 1) for end in "ab"])[1].replayed


@pytest.mark.case("C102")
def test_nothing_is_inserted_with_ignore() -> None:
    """INSERT IGNORE cuts what doesn't fit and swallows what it should report; no statement has it."""
    for statement in catalogue("mysql").values():
        for text in statement.texts:
            assert " ignore " not in f" {text.lower()} ", statement.name


@pytest.mark.case("S08")
@pytest.mark.case("C102")
def test_a_session_that_is_not_strict_cuts_nothing(ledger: Ledger, name: str, connect: Connect) -> None:
    """In a caller's session without strict mode the largest values are stored as they are, and too large ones refused."""
    caller = connect("SET SESSION sql_mode = ''")
    held = ledger.within(caller)
    held.open_account("n" * 340, "C" * 32, floor=None)
    wanted = {
        "key": "k" * 400, "kind": "k" * 16, "debit": "world", "credit": "n" * 340, "currency": "C" * 32,
        "amount": 2**63 - 1, "cause": "c" * 255, "source": "s" * 255, "actor": "a" * 255,
        "occurred_at": datetime(9999, 12, 30, tzinfo=UTC),
    }  # fmt: skip
    stored = held.post(**wanted).transfer  # type: ignore[arg-type]
    with pytest.raises(lastro.AmountOutOfRange):
        held.post(**transfer("over", "world", "n" * 340, 1) | {"currency": "C" * 32})
    with pytest.raises(lastro.AmountOutOfRange):
        held.post_many([transfer(f"over {n}", "world", "n" * 340, 1) | {"currency": "C" * 32} for n in range(9)])
    held.bump("c", 2**63 - 1)
    with pytest.raises(lastro.AmountOutOfRange):
        held.bump("c", 1)
    caller.commit()
    assert ledger.transfer("k" * 400) == stored
    assert stored.amount == 2**63 - 1
    assert rows_of(caller, f"SELECT max(amount) FROM {name}.base") == [(2**63 - 1,)]


@pytest.mark.case("C032")
@pytest.mark.parametrize("digits", [1, 7, 8, 15, 16, 17, 18, 19])
def test_every_digit_of_an_amount_comes_back(ledger: Ledger, digits: int) -> None:
    """Amounts of any size go in and out, alone and in a batch, as the integers they are."""
    ledger.open_account("a", CURRENCY, floor=None)
    amount = int("9123456789012345678"[:digits])
    alone = ledger.post(**transfer("1", "world", "a", amount)).transfer
    ledger.post(**transfer("2", "a", "world", amount))
    batch = [transfer("3", "world", "a", amount), *(transfer(f"{n}", "a", "world", 1) for n in range(4, 12))]
    if digits > 1:
        ledger.post_many(batch)
        assert ledger.transfer("3").amount == amount  # type: ignore[union-attr]
    for transfer_read in (alone, ledger.transfer("1"), *ledger.entries("a", CURRENCY, limit=1)):
        assert transfer_read is not None
        assert (transfer_read.amount, type(transfer_read.amount)) == (amount, int)


@pytest.mark.req("1.4")
def test_the_count_of_rows_is_not_believed(ledger: Ledger, connect: Connect) -> None:
    """With CLIENT.FOUND_ROWS, which SQLAlchemy always sets, a duplicate counts as a row; it is a replay all the same."""
    from pymysql.constants import CLIENT

    ledger.open_account("a", CURRENCY)
    held = ledger.within(caller := connect(client_flag=CLIENT.FOUND_ROWS))
    wanted: dict[str, Any] = transfer("k", "world", "a", 5)
    assert [held.post(**wanted).replayed for _ in range(3)] == [False, True, True]
    assert [outcome.replayed for outcome in held.post_many([wanted, transfer("k2", "world", "a", 1)])] == [True, False]
    reversals = [held.reverse("k", "undo").replayed for _ in range(2)]
    assert reversals == [False, True]
    caller.commit()
    assert ledger.balance("a", CURRENCY).posted == 1
