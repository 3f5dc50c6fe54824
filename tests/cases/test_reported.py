"""Faults that people reported of ledgers of this kind and that no other folder plays."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

import lastro
from lastro import ConnectionLost, InsufficientFunds, InvalidInput, LastroError, Ledger, Posted
from lastro.model.account import Keeping
from lastro.testing import assert_balanced
from tests.support.money import CURRENCY, KEEPINGS, fund, posted, transfer
from tests.support.sessions import Background, Observer, Sessions, pid_of, together

SQL_FILES = sorted((Path(lastro.__file__).parent / "sql").rglob("*.sql"))
BARE_IN = re.compile(
    r"\bIN\s*\(\s*SELECT(?:(?!\bIN\s*\().)*?\bLIMIT\b[^)]*?\bFOR\s+(?:NO KEY )?UPDATE", re.DOTALL | re.IGNORECASE
)
STUCK = 3


@pytest.mark.case("C001")
@pytest.mark.case("C003")
def test_a_stuck_hot_account_starves_no_other(
    ledger: Ledger, server_url: str, ledger_name: str, session: Sessions, observer: Observer
) -> None:
    """While debits of one account wait, posts on other accounts go through at once, on connections that are left."""
    fund(ledger, "platform", 100, "hot")
    fund(ledger, "shop", 100)
    stuck = session()
    ledger.within(stuck).post(**transfer("stuck", "platform", "world", 1))
    with lastro.connect(server_url, ledger=ledger_name, pool_max=STUCK + 1, lock_timeout_ms=1_500) as shared:
        waiting = [
            Background(partial(shared.post, **transfer(f"debit:{number}", "platform", "world", 1)))
            for number in range(STUCK)
        ]
        observer.until_anyone_waits_for(pid_of(stuck), sessions=1)
        assert not shared.post(**transfer("other", "shop", "world", 1)).replayed
        assert not shared.post(**transfer("credit", "world", "platform", 1)).replayed
        assert not any(going.done for going in waiting)
        stuck.rollback()
        assert all(isinstance(going.result(), Posted) for going in waiting)


@pytest.mark.case("C015")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_the_application_may_lock_first(ledger: Ledger, connection: psycopg.Connection[Any], keeping: Keeping) -> None:
    """A posting inside a transaction that has locked and written already, below a savepoint: a refusal undoes itself."""
    fund(ledger, "shop", 100, keeping)
    connection.execute("CREATE TABLE invoice (id bigint PRIMARY KEY, paid boolean NOT NULL)")
    connection.execute("INSERT INTO invoice VALUES (1, false)")
    connection.commit()
    connection.execute("SELECT 1 FROM invoice WHERE id = 1 FOR UPDATE")
    held = ledger.within(connection)
    with connection.transaction():
        held.post(**transfer("one", "shop", "world", 60))
    with pytest.raises(InsufficientFunds), connection.transaction():
        held.post(**transfer("two", "shop", "world", 60))
    with pytest.raises(InsufficientFunds):
        held.post(**transfer("three", "shop", "world", 41))
    connection.execute("UPDATE invoice SET paid = true")
    connection.commit()
    assert connection.execute("SELECT paid FROM invoice").fetchone() == (True,)
    assert posted(ledger, "shop") == 40
    assert_balanced(ledger)


@pytest.mark.case("C016")
@pytest.mark.case("C025")
def test_a_duplicate_is_no_error(ledger: Ledger) -> None:
    """Identical requests at once all succeed with the same transfer; the unique index never surfaces as an error."""
    fund(ledger, "shop", 0)
    answers = together([partial(ledger.post, **transfer("k", "world", "shop", 5))] * 6)
    assert {type(answer) for answer in answers} == {Posted}
    again = ledger.post(**transfer("k", "world", "shop", 5))
    assert again.replayed
    assert again.transfer == ledger.transfer("k")


@pytest.mark.case("C023")
def test_a_key_outlives_its_partition(ledger: Ledger, connection: psycopg.Connection[Any]) -> None:
    """The key of a transfer whose partition was retired is still taken: a late retry posts nothing."""
    fund(ledger, "shop", 0)
    ledger.post(**transfer("old", "world", "shop", 5))
    first = ledger.partitions()[0]
    connection.execute("SELECT setval('transfer_id', %s)", [first.to_id + 1])
    connection.commit()
    ledger.keep_partitions()
    ledger.retire_partition(first.name)
    for retried in (transfer("old", "world", "shop", 5), transfer("old", "world", "shop", 6)):
        with pytest.raises(LastroError) as caught:
            ledger.post(**retried)
        assert caught.value.code == "transfer_conflict"
    assert posted(ledger, "shop") == 5


@pytest.mark.case("C043")
@pytest.mark.parametrize("amount", [0, -1, -100, True, 1.0, float("nan"), "10", None, 2**63])
def test_no_amount_but_a_positive_one(ledger: Ledger, amount: Any) -> None:
    """Zero, negative and whatever isn't an integer are refused before anything is written, in each way of posting."""
    fund(ledger, "shop", 100)
    wanted = transfer("k", "shop", "world", 1) | {"amount": amount}
    with pytest.raises(InvalidInput):
        ledger.post(**wanted)
    with pytest.raises(InvalidInput):
        ledger.post_many([wanted])
    assert ledger.post_many([wanted], partial=True)[0].code in {"invalid_input", "amount_out_of_range"}  # type: ignore[union-attr]
    if amount is not None:
        with pytest.raises(InvalidInput):
            ledger.reverse("fund:shop:0", "undo", amount=amount)
    assert posted(ledger, "shop") == 100
    assert ledger.transfer("k") is None


@pytest.mark.case("C061")
@pytest.mark.parametrize("file", SQL_FILES, ids=lambda file: file.name)
def test_no_statement_limits_its_locks_in_a_bare_in(file: Path) -> None:
    """No statement takes rows by `IN (SELECT … LIMIT … FOR UPDATE)`, whose limit a plan may ignore."""
    assert not BARE_IN.search(file.read_text())


def test_a_bare_in_would_be_found() -> None:
    """The search finds the article's own form."""
    assert BARE_IN.search("DELETE FROM t WHERE id IN (\n SELECT id FROM t ORDER BY id LIMIT 5 FOR UPDATE SKIP LOCKED)")


@pytest.mark.case("C069")
def test_posting_notifies_nobody(ledger: Ledger, session: Sessions) -> None:
    """No statement and no trigger of ours sends a NOTIFY: it would serialise every commit."""
    assert not [file.name for file in SQL_FILES if re.search(r"\bNOTIFY\b|pg_notify", file.read_text(), re.IGNORECASE)]
    fund(ledger, "platform", 100, "hot")
    reader = session(autocommit=True)
    functions = reader.execute(
        "SELECT count(*) FROM pg_proc WHERE pronamespace = %s::regnamespace AND prosrc ~* 'notify'",
        [ledger._operations.ledger],
    ).fetchone()
    assert functions == (0,)


@pytest.mark.case("C110")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_batch_is_all_or_nothing(ledger: Ledger, keeping: Keeping) -> None:
    """A batch of two that are covered and one that isn't leaves nothing; in part it leaves the two and says which."""
    fund(ledger, "shop", 100, keeping)
    batch = [transfer(f"k:{part}", "shop", "world", 40) for part in range(3)]
    with pytest.raises(InsufficientFunds) as caught:
        ledger.post_many(batch)
    assert (caught.value.index, caught.value.available) == (2, 20)
    assert posted(ledger, "shop") == 100
    assert [ledger.transfer(f"k:{part}") for part in range(3)] == [None] * 3
    outcomes = ledger.post_many(batch, partial=True)
    assert [isinstance(outcome, Posted) for outcome in outcomes] == [True, True, False]
    assert posted(ledger, "shop") == 20
    assert_balanced(ledger)


@pytest.mark.case("C112")
def test_lists_have_one_order(ledger: Ledger) -> None:
    """Pages of accounts and of entries follow one total order, so that nothing shows twice and nothing is skipped."""
    for name in ("b", "a", "ä", "A", "a ", "c"):
        fund(ledger, name, 3)
        ledger.open_account(name, "USD")
    seen: list[tuple[str, str]] = []
    while page := ledger.accounts(after=seen[-1] if seen else None, limit=4):
        seen += [(account.name, account.currency) for account in page]
    assert seen == sorted(seen, key=lambda pair: (pair[0].encode(), pair[1].encode()))
    assert len(seen) == len(set(seen)) == 14
    entries: list[int] = []
    while read := ledger.entries("world", CURRENCY, after=entries[-1] if entries else None, limit=5):
        entries += [entry.transfer_id for entry in read]
    assert entries == sorted(set(entries))
    assert len(entries) == 12


@pytest.mark.case("C009")
def test_a_database_that_is_not_there_is_a_fault_of_its_own() -> None:
    """A refused connection is ConnectionLost, says so at once, and nothing about accounts or funds."""
    with (
        lastro.connect("postgresql://nobody:secret@127.0.0.1:1/none") as nowhere,
        pytest.raises(ConnectionLost) as caught,
    ):
        nowhere.post(**transfer("k", "shop", "world", 1))
    assert caught.value.committed == "no"
    assert "secret" not in str(caught.value)
