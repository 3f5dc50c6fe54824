"""Posting one transfer: once, exactly, refused when it isn't covered, whatever the keepings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.model.account import Facts, Keeping
from lastro.testing import Clock
from tests.conformance.conftest import Raw
from tests.conformance.eyes import PostgresRaw

pytestmark = pytest.mark.usefixtures("balanced")

KEEPINGS: tuple[Keeping, ...] = ("direct", "hot", "summed")


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 5 BRL from the world to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 5, "currency": "BRL"} | changed


@pytest.mark.req("0.1")
@pytest.mark.req("2.4")
@pytest.mark.parametrize("floor", [None, 0])
@pytest.mark.parametrize("debit", KEEPINGS)
def test_every_pair_of_keepings(book: Ledger, raw: Raw, debit: Keeping, floor: int | None) -> None:
    """Between any two keepings a transfer moves its amount; the direct sides carry their balances before and after."""
    book.open_account("from", "BRL", keeping=debit, floor=floor)
    book.post(**wanted(key="seed", credit="from", amount=100))
    for number, credit in enumerate(KEEPINGS, 1):
        key, before = f"to {credit}", 100 - 30 * (number - 1)
        book.open_account(credit, "BRL", keeping=credit, floor=floor)
        posted = book.post(**wanted(key=key, debit="from", credit=credit, amount=30))
        assert not posted.replayed
        assert (book.balance("from", "BRL").posted, book.balance(credit, "BRL").posted) == (before - 30, 30)
        transfer = posted.transfer
        assert (transfer.debit_before, transfer.debit_after) == (
            (before, before - 30) if debit == "direct" else (None, None)
        )
        assert (transfer.credit_before, transfer.credit_after) == ((0, 30) if credit == "direct" else (None, None))
        assert book.transfer(key) == transfer
        if not raw.has_tail:
            continue
        tails = raw("SELECT amount FROM {s}.tail AS tail WHERE transfer_id = %s ORDER BY amount", transfer.id)
        assert tails == [(sign * 30,) for sign, keeping in ((-1, debit), (1, credit)) if keeping == "hot"]


@pytest.mark.req("0.1")
def test_a_credit_only_inserts(book: Ledger, raw: Raw) -> None:
    """A credit of a hot account writes no base row: not the amount, not the counter, not even a new row version."""
    book.open_account("a", "BRL", keeping="hot")
    versions = raw.versions()
    book.post(**wanted())
    book.post_many([wanted(key="k2"), wanted(key="k3")])
    assert raw.versions() == versions
    assert book.balance("a", "BRL").posted == 15


@pytest.mark.req("1.1")
@pytest.mark.req("2.8")
def test_all_fields_come_back(book: Ledger, raw: Raw) -> None:
    """Each field at its greatest length, with text that SQL, Python and COPY would trip over, comes back as given."""
    trap = 'it\'s %s {} $1 \\ \t\n "x" é😀 '
    name = ("n" * (340 - len(trap))) + trap
    book.open_account(name, "C" * 32)
    moment = datetime(2026, 2, 28, 23, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-3)))
    fields: dict[str, Any] = {
        "key": trap + "k" * (400 - len(trap)),
        "kind": "k" * 16,
        "debit": "world",
        "credit": name,
        "amount": 1,
        "currency": "C" * 32,
        "cause": trap + "c" * (255 - len(trap)),
        "source": trap + "s" * (255 - len(trap)),
        "actor": trap + "a" * (255 - len(trap)),
        "occurred_at": moment,
        "metadata": {"trap": trap, "number": 2**60, "none": None, "nested": {"list": [1.5, True]}},
    }
    batched = fields | {"key": "batched " + trap}
    for posted, given in ((book.post(**fields), fields), (book.post_many([batched])[0], batched)):
        stored = book.transfer(given["key"])
        assert stored is not None
        assert stored == posted.transfer
        for field, value in given.items():
            assert getattr(stored, field) == value, field
        assert stored.occurred_at.utcoffset() == timedelta(0)
    assert raw.one("SELECT count(DISTINCT movement_key) FROM {s}.movement") == 2
    assert {entry.cause for entry in book.entries(name, "C" * 32)} == {fields["cause"]}
    assert raw.columns("movement") == [
        raw.position, "movement_key", "kind", "currency", "debit", "credit", "amount", "occurred_at", "recorded_at",
        "cause", "reverses",
    ]  # fmt: skip


@pytest.mark.req("1.9")
def test_moments_are_kept_in_utc(reopen: Callable[..., Ledger]) -> None:
    """One instant in two time zones is one instant: stored in UTC, and a retry from elsewhere is a replay."""
    clock = Clock(datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=9))))
    book = reopen(clock=clock)
    book.open_account("a", "BRL")
    first = book.post(**wanted(occurred_at=datetime(2026, 2, 28, 21, 0, tzinfo=timezone(timedelta(hours=-3)))))
    assert first.transfer.occurred_at == datetime(2026, 3, 1, tzinfo=UTC)
    assert first.transfer.recorded_at == datetime(2026, 3, 1, 3, tzinfo=UTC)
    assert first.transfer.recorded_at.tzinfo is UTC
    assert book.post(**wanted(occurred_at=datetime(2026, 3, 1, 9, tzinfo=timezone(timedelta(hours=9))))).replayed
    plain = book.post(**wanted(key="plain"))
    assert plain.transfer.occurred_at == plain.transfer.recorded_at


@pytest.mark.req("0.2")
@pytest.mark.req("1.5")
@pytest.mark.req("2.5")
@pytest.mark.case("S04")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_key_posts_once(book: Ledger, raw: Raw, keeping: Keeping) -> None:
    """The second attempt writes nothing and returns the row that the database kept, marked as replayed."""
    book.open_account("a", "BRL", keeping=keeping)
    first = book.post(**wanted(actor="worker 1", metadata={"try": 1}))
    before = raw.written()
    again = book.post(**wanted(actor="worker 2", metadata={"try": 2}))
    assert again == lastro.Posted(first.transfer, replayed=True)
    assert book.post_many([wanted()]) == [lastro.Posted(first.transfer, replayed=True)]
    assert raw.written() == before


@pytest.mark.req("0.11")
@pytest.mark.req("1.5")
@pytest.mark.case("S02")
@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("amount", 6),
        ("kind", "other"),
        ("debit", "b"),
        ("credit", "b"),
        ("cause", "order:2"),
        ("cause", None),
        ("source", "elsewhere"),
        ("occurred_at", datetime(2026, 1, 2, tzinfo=UTC)),
    ],
)
def test_another_content_under_a_key_is_a_conflict(book: Ledger, raw: Raw, field: str, other: Any) -> None:
    """The same key with another content is never swallowed: the conflict names the field, both values, and writes nothing."""
    for name in ("a", "b"):
        book.open_account(name, "BRL", floor=None)
    content = wanted(cause="order:1", source="shop", occurred_at=datetime(2026, 1, 1, tzinfo=UTC))
    book.post(**content)
    before = raw.written()
    with pytest.raises(lastro.TransferConflict) as caught:
        book.post(**content | {field: other})
    assert caught.value.fields == {field: (content[field], other)}
    assert caught.value.key == "k"
    with pytest.raises(lastro.TransferConflict) as caught:
        book.post_many([content | {field: other}])
    assert caught.value.fields == {field: (content[field], other)}
    assert raw.written() == before


@pytest.mark.req("0.11")
def test_another_currency_under_a_key_is_a_conflict(book: Ledger) -> None:
    """The currency belongs to the content."""
    book.open_account("a", "BRL")
    book.open_account("a", "USD")
    book.post(**wanted())
    with pytest.raises(lastro.TransferConflict) as caught:
        book.post(**wanted(currency="USD"))
    assert caught.value.fields == {"currency": ("BRL", "USD")}


@pytest.mark.req("0.3")
@pytest.mark.req("1.6")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_debit_is_refused_when_it_is_not_covered(book: Ledger, raw: Raw, keeping: Keeping) -> None:
    """Down to the floor and not a cent below; the refusal carries its numbers, writes nothing, uses no key up."""
    book.open_account("a", "BRL", keeping=keeping, floor=-20)
    book.post(**wanted(key="seed", amount=100))
    before = raw.written()
    with pytest.raises(lastro.InsufficientFunds, match=r"100 BRL available, a floor of -20, and 121 is") as caught:
        book.post(**wanted(debit="a", credit="world", amount=121))
    assert (caught.value.needed, caught.value.available, caught.value.floor) == (121, 100, -20)
    assert (caught.value.account, caught.value.currency) == ("a", "BRL")
    assert raw.written() == before
    assert book.transfer("k") is None
    posted = book.post(**wanted(debit="a", credit="world", amount=120))
    assert not posted.replayed
    assert book.balance("a", "BRL").posted == -20
    with pytest.raises(lastro.InsufficientFunds):
        book.post(**wanted(key="k2", debit="a", credit="world", amount=1))


@pytest.mark.req("0.3")
@pytest.mark.req("0.11")
@pytest.mark.case("S02")
@pytest.mark.case("S04")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_retried_debit_is_replayed_not_insufficient(book: Ledger, raw: Raw, keeping: Keeping) -> None:
    """A debit that was applied and is retried when nothing is left is told from one that isn't covered."""
    book.open_account("a", "BRL", keeping=keeping)
    book.post(**wanted(key="seed", amount=100))
    payout = wanted(key="payout", debit="a", credit="world", amount=100)
    first = book.post(**payout)
    before = raw.written()
    assert book.post(**payout) == lastro.Posted(first.transfer, replayed=True)
    with pytest.raises(lastro.TransferConflict):
        book.post(**payout | {"amount": 900})
    assert raw.written() | {"base payments": 0} == before | {"base payments": 0}
    assert book.balance("a", "BRL").posted == 0


@pytest.mark.req("1.3")
@pytest.mark.parametrize("keeping", ["hot", "summed"])
def test_a_payment_is_counted_on_the_lock_row(book: Ledger, raw: Raw, keeping: Keeping) -> None:
    """Each payment writes the payer's base row (`payments` + 1) without an amount, so that the next one must see it."""
    book.open_account("a", "BRL", keeping=keeping)
    book.post(**wanted(key="seed", amount=100))
    base = "SELECT amount, payments FROM {s}.base JOIN {s}.account ON id = account_id WHERE name = 'a'"
    assert raw(base) == [(0, 0)]
    for number in range(3):
        book.post(**wanted(key=f"out {number}", debit="a", credit="world", amount=10))
    assert raw(base) == [(0, 3)]


@pytest.mark.req("0.11")
@pytest.mark.case("S01")
def test_a_debit_of_an_unknown_account_is_a_refusal(book: Ledger, raw: Raw) -> None:
    """Unknown accounts on either side, and accounts in another currency only, are named; nothing is written."""
    book.open_account("a", "BRL", keeping="hot")
    before = raw.written()
    for changed in ({"debit": "nobody"}, {"credit": "nobody"}):
        with pytest.raises(lastro.UnknownAccount, match="no account 'nobody' in BRL"):
            book.post(**wanted(**changed))
    with pytest.raises(lastro.CurrencyMismatch, match="'a' is kept in BRL, not in USD"):
        book.post(**wanted(currency="USD", debit="a", credit="world"))
    assert raw.written() == before


def test_two_currencies_never_meet(book: Ledger, raw: Raw) -> None:
    """A transfer has one currency: an account that is kept in another is refused by its name."""
    book.open_account("a", "BRL")
    book.open_account("b", "USD")
    before = raw.written()
    with pytest.raises(lastro.CurrencyMismatch) as caught:
        book.post(**wanted(debit="b"))
    assert (caught.value.account, caught.value.currency, caught.value.currencies) == ("b", "BRL", ["USD"])
    assert raw.written() == before


@pytest.mark.req("2.5")
def test_a_refusal_uses_no_key_up(book: Ledger) -> None:
    """What was refused for want of funds or of an account may be posted under the same key later."""
    payout = wanted(key="payout", debit="a", credit="b", amount=10)
    with pytest.raises(lastro.UnknownAccount):
        book.post(**payout)
    book.open_account("a", "BRL")
    book.open_account("b", "BRL")
    with pytest.raises(lastro.InsufficientFunds):
        book.post(**payout)
    book.post(**wanted(key="seed", amount=10))
    assert not book.post(**payout).replayed


@pytest.mark.req("1.10")
@pytest.mark.parametrize(
    ("column", "breaking"),
    [
        ("amount", "UPDATE {s}.transfer SET amount = -5"),
        ("amount", "UPDATE {s}.transfer SET amount = 0"),
        ("kind", "UPDATE {s}.transfer SET kind = ''"),
        ("cause", "UPDATE {s}.transfer SET cause = ''"),
        ("metadata", "UPDATE {s}.transfer SET metadata = '[1]'"),
    ],
)
def test_a_row_that_cannot_be_right_is_not_read(book: Ledger, raw: Raw, column: str, breaking: str) -> None:
    """A stored row that somebody made unreadable raises UnreadableRow; it is never read as something else."""
    assert_unreadable(book, raw, column, breaking)


@pytest.mark.req("1.9")
@pytest.mark.req("1.10")
@pytest.mark.parametrize("moment", ["recorded_at", "occurred_at"])
def test_a_moment_that_cannot_be_right_is_not_read(book: Ledger, raw: Raw, store: str, moment: str) -> None:
    """The same of moments: infinity, and years or days that Python doesn't know. Psycopg can't say of which column it speaks."""
    beyond = {
        "postgres": ("'-infinity'", "'20000-01-01'"),
        "mariadb": ("'0000-00-00'", "'2026-02-00'"),
        "sqlite": ("-9223372036854775808", "999999999999999999"),
        "firebird": ("-9223372036854775808", "999999999999999999"),
    }
    value = beyond[store][moment == "occurred_at"]
    column = None if store == "postgres" else moment
    assert_unreadable(book, raw, column, f"UPDATE {{s}}.transfer SET {moment} = {value}")


def assert_unreadable(book: Ledger, raw: Raw, column: str | None, breaking: str) -> None:
    """Break a stored transfer past the library; whoever looks at it is told."""
    book.open_account("a", "BRL", keeping="summed")
    book.post(**wanted(cause="c", metadata={}))
    raw.disarm("transfer")
    raw(breaking)
    with pytest.raises(lastro.UnreadableRow) as caught:
        book.transfer("k")
    assert caught.value.column == column
    with pytest.raises(lastro.UnreadableRow):
        book.post(**wanted(cause="c", metadata={}))
    with pytest.raises(lastro.UnreadableRow):
        book.post_many([wanted(cause="c", metadata={})])
    if column != "metadata":
        with pytest.raises(lastro.UnreadableRow):
            book.entries("a", "BRL")
    # Put back what can be put back, so that the books are in order for the test's end.
    raw("UPDATE {s}.transfer SET amount = 5")


@pytest.mark.req("1.7")
@pytest.mark.stores("postgres")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_lock_row_that_cannot_be_updated_stops_the_payment(
    book: Ledger, reopen: Callable[..., Ledger], raw: PostgresRaw, keeping: Keeping
) -> None:
    """A payment whose lock row is held, full or gone is an error and writes nothing; it is never "insufficient"."""
    book.open_account("a", "BRL", keeping=keeping)
    book.post(**wanted(key="seed", amount=100))
    ((account_id,),) = raw("SELECT id FROM {s}.account WHERE name = 'a'")
    payment = wanted(debit="a", credit="world")
    before = raw.written()
    hasty = reopen(lock_timeout_ms=50)
    with raw.connection.transaction():
        raw("SELECT FROM {s}.base WHERE account_id = %s FOR NO KEY UPDATE", account_id)
        for call in (lambda: hasty.post(**payment), lambda: hasty.post_many([payment])):
            with pytest.raises(lastro.LockTimeout):
                call()
    assert raw.written() == before
    raw("UPDATE {s}.base SET payments = 9223372036854775807 WHERE account_id = %s", account_id)
    for call in (lambda: book.post(**payment), lambda: book.post_many([payment])):
        with pytest.raises(lastro.LastroError) as caught:
            call()
        assert not isinstance(caught.value, lastro.InsufficientFunds)
    raw("UPDATE {s}.base SET payments = 0 WHERE account_id = %s", account_id)
    assert raw.written() == before
    raw("SET session_replication_role = replica")
    ((row,),) = raw("DELETE FROM {s}.base WHERE account_id = %s RETURNING to_jsonb(base)::text", account_id)
    for call in (lambda: book.post(**payment), lambda: book.post_many([payment])):
        with pytest.raises(lastro.LastroError) as caught:
            call()
        assert not isinstance(caught.value, lastro.InsufficientFunds)
    raw("INSERT INTO {s}.base SELECT * FROM jsonb_populate_record(NULL::{s}.base, %s::jsonb)", row)
    assert raw.written() == before
    assert not book.post(**payment).replayed


def test_a_transfer_that_is_not_there_is_none(book: Ledger) -> None:
    """transfer(key) answers None for a key that nobody used."""
    assert book.transfer("nothing") is None


@pytest.mark.req("0.6")
@pytest.mark.req("2.1")
@pytest.mark.stores(without=("firebird",))
def test_the_ledger_offers_no_way_to_change_history(book: Ledger) -> None:
    """There is no method that updates or deletes; what was posted reads the same after everything else happened."""
    book.open_account("a", "BRL", keeping="hot")
    first = book.post(**wanted()).transfer
    book.reverse("k", "undo")
    book.consolidate()
    book.keep("a", "BRL", "direct")
    assert book.transfer("k") == first
    words = {word for name in dir(lastro.Ledger) for word in name.split("_")}
    assert not words & {"update", "delete", "edit"}


@pytest.mark.case("C039")
def test_no_balance_is_remembered(book: Ledger, reopen: Callable[..., Ledger], raw: Raw) -> None:
    """What a process read or posted decides nothing later: another one empties the account, and its next is judged."""
    other = reopen()
    for keeping in KEEPINGS if raw.has_tail else ("direct", "summed"):
        sides = {"debit": keeping, "credit": "world"}
        book.open_account(keeping, "BRL", keeping=keeping)
        book.post(**wanted(key=f"{keeping}:fund", credit=keeping, amount=100))
        assert book.balance(keeping, "BRL").available == 100
        other.post(**wanted(key=f"{keeping}:other", amount=90, **sides))
        with pytest.raises(lastro.InsufficientFunds) as caught:
            book.post(**wanted(key=f"{keeping}:20", amount=20, **sides))
        assert caught.value.available == 10
        book.post(**wanted(key=f"{keeping}:10", amount=10, **sides))
        assert other.balance(keeping, "BRL").posted == 0
    assert not {"amount", "posted", "held", "available", "balance"} & set(Facts._fields), "what a process keeps of one"
