"""Bad input: one typed error that says what and why, nothing written, the caller's transaction still usable."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

import lastro
from lastro import Ledger
from tests.conformance.adapters import Caller
from tests.conformance.conftest import Raw

pytestmark = pytest.mark.usefixtures("balanced")


class Bad(NamedTuple):
    """A transfer that must be refused: what is wrong with it, as what, and words of the message."""

    changed: dict[str, Any]
    error: type[lastro.Refusal]
    words: str


class Text(str):
    """Text of a class of its own is text."""


class _NoOffset(tzinfo):
    """A time zone that doesn't know its offset: as good as none."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return None

    def dst(self, moment: datetime | None) -> timedelta | None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return None


def amounts() -> Iterator[Bad]:
    """Reliability F24, the amounts."""
    wrong = ("amount must be an int of minor units", lastro.InvalidInput)
    for amount in (
        True, False, 1.0, 2.5, 0.1 + 0.2, float("nan"), float("inf"), -float("inf"), "10", "12abc", "", b"10", None,
        [5], 5j, Fraction(5, 1), object(), "1" * 10**6, b"1" * 10**6, list(range(10_000)),
    ):  # fmt: skip
        yield Bad({"amount": amount}, wrong[1], wrong[0])
    for amount in ("0.001", "0.5", "NaN", "sNaN", "Infinity", "-Infinity", "1e-5"):
        yield Bad({"amount": Decimal(amount)}, lastro.InvalidInput, "whole number of minor units")
    for amount in (0, -1, -(2**63), -(10**6000), Decimal("-1e999999"), Decimal(0), Decimal(-5), Decimal("-0")):
        yield Bad({"amount": amount}, lastro.AmountOutOfRange, "1 … 9223372036854775807")
    for amount in (2**63, 2**64, 10**400, 10**6000, Decimal(2**63), Decimal("1e400"), Decimal("1e999999")):
        yield Bad({"amount": amount}, lastro.AmountOutOfRange, "this is more")


def texts() -> Iterator[Bad]:
    """Reliability F24, the keys, and the same for every other text."""
    limits = {
        "key": 400,
        "debit": 340,
        "credit": 340,
        "currency": 32,
        "kind": 16,
        "cause": 255,
        "source": 255,
        "actor": 255,
    }
    for field, characters in limits.items():
        for empty in ("", " ", "\t\n", "\u00a0"):
            yield Bad({field: empty}, lastro.InvalidInput, f"{field} must not be empty or blank")
        for long in (characters + 1, 2_700, 10**6):
            yield Bad(
                {field: "x" * long},
                lastro.InvalidInput,
                f"{field} may have {characters} characters; this one has {long}",
            )
        yield Bad({field: "a\0b"}, lastro.InvalidInput, f"{field} must not contain a NUL")
        for lone in ("a\ud800b", "\udfff"):
            yield Bad({field: lone}, lastro.InvalidInput, f"{field} contains a lone surrogate")
        for other in (5, b"bytes", ["x"], True):
            yield Bad({field: other}, lastro.InvalidInput, f"{field} must be text; got {type(other).__name__}")
    for field in ("key", "kind", "debit", "credit", "currency"):
        yield Bad({field: None}, lastro.InvalidInput, f"{field} must be text; got NoneType")


def others() -> Iterator[Bad]:
    """Moments, metadata and the two accounts."""
    for naive in (datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=_NoOffset())):  # noqa: DTZ001
        yield Bad({"occurred_at": naive}, lastro.InvalidInput, "occurred_at needs a time zone")
    for other in ("2026-01-01", 0, datetime(2026, 1, 1).date(), datetime(2026, 1, 1).time()):  # noqa: DTZ001
        yield Bad({"occurred_at": other}, lastro.InvalidInput, "occurred_at must be a datetime; got")
    for edge in (
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))),
    ):
        yield Bad({"occurred_at": edge}, lastro.InvalidInput, "occurred_at must lie between 0001-01-02 and 9999-12-30")
    for metadata in ("text", 5, [("a", 1)], True):
        yield Bad({"metadata": metadata}, lastro.InvalidInput, "metadata must be a mapping; got")
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"d": deep}
    not_json: tuple[dict[Any, Any], ...] = (
        {"a": object()}, {"a": float("nan")}, {"a": b""}, {("a",): 1}, deep,
    )  # fmt: skip
    for no_json in not_json:
        yield Bad({"metadata": no_json}, lastro.InvalidInput, "metadata must be plain JSON")
    yield Bad({"metadata": {"a": "\0"}}, lastro.InvalidInput, "metadata must not contain a NUL")
    yield Bad({"metadata": {"a\ud800": 1}}, lastro.InvalidInput, "metadata contains a lone surrogate")
    yield Bad({"metadata": {"a": "x" * 16_384}}, lastro.InvalidInput, "metadata may have 16384 bytes")
    yield Bad({"debit": "a"}, lastro.InvalidInput, "a transfer needs two accounts; debit and credit are both 'a'")
    yield Bad({"credit": "nobody"}, lastro.UnknownAccount, "no account 'nobody' in BRL")
    yield Bad({"debit": "nobody"}, lastro.UnknownAccount, "no account 'nobody' in BRL")
    yield Bad({"credit": "closed"}, lastro.AccountClosed, "account 'closed' in BRL is closed")
    yield Bad({"debit": "closed"}, lastro.AccountClosed, "account 'closed' in BRL is closed")
    yield Bad({"debit": "dollars"}, lastro.CurrencyMismatch, "'dollars' is kept in USD, not in BRL")
    yield Bad({"currency": "EUR"}, lastro.CurrencyMismatch, "is kept in BRL, not in EUR")


KINDS_OF_BAD = [amounts, texts, others]


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 5 BRL from the world to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 5, "currency": "BRL"} | changed


def furnish(book: Ledger) -> None:
    """Accounts to be wrong about, and a transfer that is there."""
    book.open_account("a", "BRL", keeping="hot")
    book.open_account("dollars", "USD")
    book.open_account("closed", "BRL")
    book.close_account("closed", "BRL")
    book.post(**wanted(key="there"))


def refuses(bad: Bad, call: Any, *args: Any, **kwargs: Any) -> lastro.LastroError:
    """The call raises the one error, with words that say what is wrong, of readable length."""
    shown = f"{list(bad.changed)} ({', '.join(type(value).__name__ for value in bad.changed.values())})"
    with pytest.raises(lastro.LastroError) as caught:
        call(*args, **kwargs)
    error = caught.value
    assert isinstance(error, bad.error), f"{shown}: {type(error).__name__}: {error}"
    assert bad.words in str(error), f"{shown}: {error}"
    assert len(str(error)) < 500, f"{shown}: the message has {len(str(error))} characters"
    assert error.code != lastro.LastroError.code
    return error


@pytest.mark.parametrize("bads", KINDS_OF_BAD)
def test_each_way_to_post_refuses(book: Ledger, raw: Raw, bads: Any) -> None:
    """Alone, in a batch and in a partial batch: one typed error, nothing written by it, its neighbours unharmed."""
    furnish(book)
    before = raw.written()
    for bad in bads():
        refuses(bad, book.post, **wanted(**bad.changed))
        error = refuses(bad, book.post_many, [wanted(key="good"), wanted(**bad.changed)])
        assert error.index == 1
        outcomes = book.post_many([wanted(**bad.changed), wanted(key="there")], partial=True)
        assert isinstance(outcomes[0], bad.error)
        assert isinstance(outcomes[1], lastro.Posted)
        assert outcomes[1].replayed
    assert raw.written() == before


@pytest.mark.parametrize("bads", KINDS_OF_BAD)
def test_the_callers_transaction_stays_usable(callers_book: Ledger, caller: Caller, raw: Raw, bads: Any) -> None:
    """Inside the caller's transaction each bad input leaves it alive: its work after every one of them is committed."""
    furnish(callers_book)
    before = raw.written()
    held = callers_book.within(caller.handle)
    count = 0
    for bad in bads():
        refuses(bad, held.post, **wanted(**bad.changed))
        refuses(bad, held.post_many, [wanted(key="good"), wanted(**bad.changed)])
        caller.order(count)
        count += 1
    caller.commit()
    assert count > 20
    assert raw.written() == before | {"orders": count}


def test_a_batch_of_something_else(book: Ledger, raw: Raw) -> None:
    """What is no transfer in a batch says what a transfer takes, what is missing and what is unknown."""
    furnish(book)
    before = raw.written()
    rows: list[tuple[Any, str]] = [
        ({}, "missing: key, kind, debit, credit, amount, currency; unknown: none"),
        (wanted(colour="red"), "missing: none; unknown: colour"),
        (wanted() | {5: 1}, "unknown: 5"),
        ("text", "got str"),
        (None, "got NoneType"),
        ([("key", "k")], "got list"),
        (wanted(reverses="there"), "unknown: reverses"),
    ]
    for row, words in rows:
        with pytest.raises(lastro.InvalidInput, match=words) as caught:
            book.post_many([wanted(key="good"), row])
        assert caught.value.index == 1
    for batch in (None, 5, "text", {"key": "k"}, b"", object()):
        with pytest.raises(lastro.InvalidInput):
            book.post_many(batch)  # type: ignore[call-overload]
    assert raw.written() == before


@pytest.mark.stores(without=("firebird",))
def test_the_edges_are_accepted(book: Ledger) -> None:
    """What lies just inside: 1, 2^63−1, whole Decimals, 400 characters, the first and the last moment."""
    book.open_account("a", "BRL", keeping="hot", floor=None)
    whole = book.post(**wanted(amount=Decimal("1e3")))
    assert whole.transfer.amount == 1000
    assert type(whole.transfer.amount) is int
    assert book.post(**wanted(amount=1000)).replayed
    assert book.post(**wanted(key=Text("text"), amount=1)).transfer.key == "text"
    for moment in ("0001-01-02T00:00:00+00:00", "9999-12-30T23:59:59.999999+00:00"):
        at = datetime.fromisoformat(moment)
        for posted in (
            book.post(**wanted(key=moment, occurred_at=at)),
            *book.post_many([wanted(key=f"b {moment}", occurred_at=at)]),
        ):
            assert posted.transfer.occurred_at == at
            assert book.transfer(posted.transfer.key) == posted.transfer
    full = {"m": "x" * (16_384 - len('{"m":""}'))}
    assert book.post(**wanted(key="metadata", metadata=full)).transfer.metadata == full
    assert book.post(**wanted(key="e", amount=2**63 - 1, debit="a", credit="world")).transfer.amount == 2**63 - 1
    book.reverse("e", "undo e")


# Pairs and more that a database, a file system or an operator might take for one text.
ALIKE = [
    "payment:abc", "Payment:abc", "PAYMENT:ABC", "payment:abc ", " payment:abc", "payment:abc\t", "payment:abc\n",
    "payment:a\u0301bc", "payment:\u00e1bc", "ﬁ", "fi", "ß", "ss", "SS", "ı", "i", "I", "İ", "\u212a", "K", "k",
    "\u200bx", "x", "x\ufeff", "\u202ex", "1", "01", "1.0", "１", "null", "NULL", "None", "\\N", "\\", "\\\\", "\\n",
    "%s", "%(key)s", "%%", "%", "{}", "{0}", "$1", ":key", "?", "'", "''", '"', "`", "'; DROP TABLE transfer; --",
    "😀", "😀😀", "\U0001f469\u200d\U0001f467", "שלום", "مرحبا", "٣", "a\rb", "a\x7fb", "a\x01b", "a\x85b", "a\u2028b",
]  # fmt: skip


def test_keys_that_look_alike_are_distinct(book: Ledger) -> None:
    """Case, blanks, Unicode form, digits and quotes all tell keys apart: each posts once and finds its own transfer."""
    book.open_account("a", "BRL", keeping="hot")
    assert len(set(ALIKE)) == len(ALIKE)
    alone = [book.post(**wanted(key=key, amount=number + 1)) for number, key in enumerate(ALIKE)]
    batched = book.post_many([wanted(key=f"batch {key}", amount=number + 1) for number, key in enumerate(ALIKE)])
    assert not any(posted.replayed for posted in [*alone, *batched])
    for posted in [*alone, *batched]:
        stored = book.transfer(posted.transfer.key)
        assert stored == posted.transfer
    for number, key in enumerate(ALIKE):
        assert book.post(**wanted(key=key, amount=number + 1)).replayed
    again = book.post_many([wanted(key=key, amount=number + 1) for number, key in enumerate(ALIKE)])
    assert [posted.transfer for posted in again] == [posted.transfer for posted in alone]


def test_accounts_that_look_alike_are_distinct(book: Ledger, raw: Raw) -> None:
    """The same for account names and for currencies: a transfer moves the money of that very account."""
    for number, name in enumerate(ALIKE):
        book.open_account(name, "BRL", keeping="hot")
        book.post(**wanted(key=f"n{number}", credit=name, amount=number + 1))
        if len(name) <= 32 and name != "BRL":
            book.open_account("money", name)
            book.post(**wanted(key=f"c{number}", credit="money", currency=name, amount=number + 1))
    for number, name in enumerate(ALIKE):
        assert book.balance(name, "BRL").posted == number + 1
        assert book.balance("money", name).posted == number + 1
    assert len(set(raw("SELECT name FROM {s}.account"))) == len(ALIKE) + 2


@pytest.mark.req("1.1")
def test_the_longest_keys_fit_the_index(book: Ledger) -> None:
    """400 characters of whatever alphabet, hard to compress, fit the unique index: alone, in a batch, as a reversal."""
    book.open_account("a", "BRL", floor=None)
    emoji = "".join(chr(0x1F300 + (number * 7919) % 700) for number in range(400))
    hexadecimal = "".join(f"{(number * 2654435761) % 2**32:08x}" for number in range(50))
    for number, key in enumerate((emoji, hexadecimal, "ж" * 400, "x" * 400)):
        assert len(key) == 400
        assert len(key.encode()) <= 1600
        book.post(**wanted(key=key, cause=key[:255]))
        book.post_many([wanted(key=key[::-1] if key[::-1] != key else f"{number}" + key[1:])])
        assert book.reverse(key, "u" + key[1:]).transfer.reverses == key
        name = key[:340]
        book.open_account(name, key[:32])
        assert book.account(name, key[:32]).name == name
    assert book.balance("a", "BRL").posted == 20


BAD_OPENINGS: list[tuple[dict[str, Any], type[lastro.Refusal]]] = [
    ({"name": ""}, lastro.InvalidInput),
    ({"name": " "}, lastro.InvalidInput),
    ({"name": "n" * 341}, lastro.InvalidInput),
    ({"name": "a\0"}, lastro.InvalidInput),
    ({"name": "\ud800"}, lastro.InvalidInput),
    ({"name": None}, lastro.InvalidInput),
    ({"currency": ""}, lastro.InvalidInput),
    ({"currency": "C" * 33}, lastro.InvalidInput),
    ({"currency": 986}, lastro.InvalidInput),
    ({"floor": 0.0}, lastro.InvalidInput),
    ({"floor": True}, lastro.InvalidInput),
    ({"floor": "0"}, lastro.InvalidInput),
    ({"floor": Decimal(0)}, lastro.InvalidInput),
    ({"floor": 2**63}, lastro.AmountOutOfRange),
    ({"floor": -(2**63) - 1}, lastro.AmountOutOfRange),
    ({"keeping": "warm"}, lastro.InvalidInput),
    ({"metadata": "text"}, lastro.InvalidInput),
    ({"metadata": {"a": float("inf")}}, lastro.InvalidInput),
]


def test_bad_accounts_are_not_opened(book: Ledger, callers_book: Ledger, caller: Caller, raw: Raw) -> None:
    """Each bad term of an account is refused by one typed error, alone and in the caller's transaction."""
    before = raw.written()
    held = callers_book.within(caller.handle)
    caller.order(1)
    for changed, error in BAD_OPENINGS:
        terms = {"name": "a", "currency": "BRL"} | changed
        with pytest.raises(error):
            book.open_account(**terms)
        with pytest.raises(error):
            held.open_account(**terms)
    caller.commit()
    assert raw.written() == before | {"orders": 1}
    for floor in (2**63 - 1, -(2**63)):
        assert book.open_account(f"a{floor}", "BRL", floor=floor).floor == floor


def test_bad_arguments_of_reading(book: Ledger) -> None:
    """What can't be a key, a page mark or a moment is refused, not looked up."""
    book.open_account("a", "BRL")
    for key in ("", "k" * 401, None, 5, "\0", "\ud800"):
        with pytest.raises(lastro.InvalidInput):
            book.transfer(key)  # type: ignore[arg-type]
    for after in (1.0, "1", True, 2**63):
        with pytest.raises(lastro.InvalidInput):
            book.entries("a", "BRL", after=after)  # type: ignore[arg-type]
    for mark in (("a",), "a", ("a", "BRL", "x"), (1, "BRL"), 5):
        with pytest.raises(lastro.InvalidInput):
            book.accounts(after=mark)  # type: ignore[arg-type]
    with pytest.raises(lastro.InvalidInput):
        book.balance("a", "BRL", at="2026-01-01")  # type: ignore[arg-type]
    assert book.entries("a", "BRL", after=-5) == []


def test_a_currency_in_another_case_is_no_second_currency(book: Ledger) -> None:
    """`brl` beside BRL would be a world of money of its own; the refusal says how it is written."""
    with pytest.raises(lastro.InvalidInput, match="'brl' is written 'BRL'"):
        book.open_account("a", "brl")
    book.open_account("a", "points")


@pytest.mark.parametrize("handle", [None, "postgresql://", 5])
def test_what_is_no_connection_is_refused_when_it_is_handed_over(ledger: Ledger, handle: object) -> None:
    """within() says so itself, not the first call after it."""
    with pytest.raises(lastro.InvalidInput, match=r"within\(\) takes a .*Connection"):
        ledger.within(handle)


@pytest.mark.parametrize("pool_max", [0, -1, True, "5"])
def test_a_pool_has_room(server_url: str, pool_max: object) -> None:
    """A pool of nothing is refused by `connect`, as one of our errors."""
    with pytest.raises(lastro.InvalidInput, match="pool_max must be a positive whole number"):
        lastro.connect(server_url, pool_max=pool_max)  # type: ignore[arg-type]
