"""Closings, balances at a moment and statements: what they say of the past is what a naive sum of the history says."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any, NamedTuple

import pytest

import lastro
from lastro import Ledger, StatementLine
from lastro.model.account import Keeping
from lastro.model.statement import By
from lastro.testing import Clock
from tests.conformance.adapters import Style
from tests.conformance.conftest import Raw

pytestmark = [pytest.mark.usefixtures("balanced"), pytest.mark.stores(without=("firebird",))]

BEGINS = datetime(2026, 1, 1, tzinfo=UTC)
BLOCK_ENTRIES = 4
DAYS = 10
ACCOUNTS: dict[str, Keeping] = {"a": "direct", "h": "hot", "s": "summed"}
EVERYONE = (*ACCOUNTS, "world")
HOUR_S = 3_600


class Seen(NamedTuple):
    """An entry as the test remembers it."""

    recorded: datetime
    occurred: datetime
    transfer_id: int
    signed: int


Memory = dict[str, list[Seen]]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of four entries, for some dozens of entries to fill several."""
    monkeypatch.setattr("lastro.plans.closing_days.CLOSING_BLOCK_ENTRIES", BLOCK_ENTRIES)
    monkeypatch.setattr("lastro.plans.statements.CLOSING_BLOCK_ENTRIES", BLOCK_ENTRIES)


@pytest.fixture
def clock() -> Clock:
    """A clock that the test sets, backwards too."""
    return Clock(BEGINS)


@pytest.fixture
def book(reopen: Callable[..., Ledger], clock: Clock) -> Ledger:
    """The test's ledger by that clock, in the style under test."""
    book = reopen(clock=clock)
    for name, keeping in ACCOUNTS.items():
        book.open_account(name, "BRL", keeping=keeping, floor=None)
    return book


def lines_of(style: Style, statement: Any) -> list[StatementLine]:
    """All lines of a statement, whichever style it has."""
    if style.name == "blocking":
        return list(statement)

    async def gathered() -> list[StatementLine]:
        return [line async for line in statement]

    lines: list[StatementLine] = style.settle(gathered())
    return lines


def some_days(book: Ledger, clock: Clock, chance: random.Random, *, close: bool = True) -> Memory:
    """Post for some days by a clock that jumps back at times, dated back at times and dated ahead; close days on the way."""
    memory: Memory = {name: [] for name in EVERYONE}
    number = 0
    now = BEGINS
    for _ in range(DAYS):
        for _ in range(chance.randrange(20)):
            now += timedelta(minutes=chance.randrange(-20, 120))
            clock.set(now)
            debit, credit = chance.sample(EVERYONE, 2)
            amount = chance.randrange(1, 100)
            occurred = now - timedelta(hours=chance.choice((0, 0, 0, 1, 5, 40, 200, -30)), minutes=chance.randrange(5))
            posted = book.post(
                key=str(number),
                kind="pay",
                debit=debit,
                credit=credit,
                amount=amount,
                currency="BRL",
                occurred_at=occurred,
            ).transfer
            number += 1
            for name, signed in ((debit, -amount), (credit, amount)):
                memory[name].append(Seen(posted.recorded_at, posted.occurred_at, posted.id, signed))
        if close and chance.random() < 0.6:
            book.close_days(every_s=HOUR_S)
        if chance.random() < 0.3:
            book.consolidate()
    return memory


def moments(chance: random.Random, memory: Memory) -> list[datetime]:
    """Moments around the days, and some of entries themselves."""
    around = [BEGINS + timedelta(hours=chance.randrange(-300, 24 * 14)) for _ in range(12)]
    return around + [chance.choice(memory["h"]).recorded for _ in range(3)] + [chance.choice(memory["a"]).occurred]


@pytest.mark.case("C062", "C075")
@pytest.mark.parametrize("by", ["recorded", "occurred"])
def test_a_balance_at_any_moment_is_the_sum_up_to_it(book: Ledger, clock: Clock, by: By) -> None:
    """By either clock, of every account, between marks and after them, dated back or ahead: the sum of what was up to then."""
    chance = random.Random(f"balances {by}")
    memory = some_days(book, clock, chance)
    for at in moments(chance, memory):
        for name in EVERYONE:
            expected = sum(seen.signed for seen in memory[name] if getattr(seen, by) <= at)
            assert book.balance(name, "BRL", at=at, by=by).posted == expected, (name, at)


@pytest.mark.req("3.19")
@pytest.mark.case("C075", "C076")
@pytest.mark.parametrize("by", ["recorded", "occurred"])
def test_a_statement_is_its_span_and_adds_up(book: Ledger, clock: Clock, style: Style, by: By) -> None:
    """Each entry of the span once, by its moment and then its id, from the opening to the closing balance; ends are half-open."""
    chance = random.Random(f"statements {by}")
    memory = some_days(book, clock, chance)
    bounds = [None, *moments(chance, memory)]
    for name in EVERYONE:
        for _ in range(2):
            first, end = chance.choice(bounds), chance.choice(bounds)
            if first and end and end < first:
                first, end = end, first
            statement = book.statement(name, "BRL", since=first, until=end, by=by)
            expected = sorted(
                (getattr(seen, by), seen.transfer_id, seen.signed)
                for seen in memory[name]
                if (first is None or getattr(seen, by) >= first) and (end is None or getattr(seen, by) < end)
            )
            lines = lines_of(style, statement)
            assert [
                (
                    line.entry.occurred_at if by == "occurred" else line.entry.recorded_at,
                    line.entry.transfer_id,
                    line.entry.signed,
                )
                for line in lines
            ] == expected
            before = sum(seen.signed for seen in memory[name] if first is not None and getattr(seen, by) < first)
            assert statement.head.opening == before
            assert statement.head.closing == before + sum(signed for _, _, signed in expected)
            assert [line.balance for line in lines] == running(before, (signed for _, _, signed in expected))


def running(balance: int, changes: Iterable[int]) -> list[int]:
    """The balance after each change."""
    balances = []
    for change in changes:
        balance += change
        balances.append(balance)
    return balances


def test_closings_are_history(book: Ledger, clock: Clock, raw: Raw) -> None:
    """Each closing goes on where the account's last one ended, its blocks add up to it, and nothing of it can be changed."""
    some_days(book, clock, random.Random("history"))
    book.close_days(every_s=1)
    rows = raw(
        "SELECT account_id, mark_id, opening, amount, entries, blocks FROM {s}.closing ORDER BY account_id, mark_id"
    )
    stood: dict[int, int] = {}
    for account_id, mark_id, opening, amount, entries, blocks in rows:
        assert opening == stood.get(account_id, 0)
        stood[account_id] = amount
        parts = raw(
            "SELECT moved, entries FROM {s}.closing_block WHERE account_id = %s AND mark_id = %s", account_id, mark_id
        )
        assert len(parts) == blocks == (-(-entries // BLOCK_ENTRIES) if entries > BLOCK_ENTRIES else 0)
        if parts:
            assert (sum(moved for moved, _ in parts), sum(count for _, count in parts)) == (amount - opening, entries)
    assert sum(stood.values()) == 0
    marks = raw("SELECT id, id_floor, id_ceiling FROM {s}.mark ORDER BY id")
    assert [mark_id for mark_id, _, _ in marks] == list(range(1, len(marks) + 1))
    assert [floor for _, floor, _ in marks] == [0, *(ceiling for _, _, ceiling in marks[:-1])]
    for table in ("mark", "closing", "closing_block", "open_mark"):
        with pytest.raises(Exception, match=r"append-only|one row"):
            raw(f"DELETE FROM {{s}}.{table}")
        if table != "open_mark":
            column = "id" if table == "mark" else "mark_id"
            with pytest.raises(Exception, match="append-only"):
                raw(f"UPDATE {{s}}.{table} SET {column} = {column}")


def test_a_day_is_closed_once(book: Ledger, clock: Clock) -> None:
    """The first call makes the first mark, one more a day by UTC makes the next; between them nothing is due."""
    book.post(key="k", kind="pay", debit="world", credit="a", amount=5, currency="BRL")
    assert book.close_days() == (1, 2, False, ())
    clock.set(BEGINS + timedelta(hours=23, minutes=59))
    assert book.close_days() == (0, 0, False, ())
    clock.set(BEGINS + timedelta(days=1))
    assert book.close_days() == (1, 0, False, ())
    for wrong in (0, True, "day"):
        with pytest.raises(lastro.InvalidInput, match="every_s"):
            book.close_days(every_s=wrong)  # type: ignore[arg-type]


def test_a_round_that_was_stopped_is_gone_on_with(book: Ledger, clock: Clock) -> None:
    """Told to end after a page, it ends there, and nothing of it is read yet; the next one goes on, and the sums are right."""
    memory = some_days(book, clock, random.Random("stopped"), close=False)
    told: list[int] = []
    first = book.close_days(after_batch=lambda closings: bool(told.append(closings)))
    assert (first.marks, first.closings, first.full) == (0, told[0], True)
    at = clock() - timedelta(days=4)
    expected = {name: sum(seen.signed for seen in memory[name] if seen.recorded <= at) for name in EVERYONE}
    assert {name: book.balance(name, "BRL", at=at).posted for name in EVERYONE} == expected
    assert book.close_days() == (1, 0, False, ())
    assert {name: book.balance(name, "BRL", at=at).posted for name in EVERYONE} == expected


def test_what_is_asked_is_checked(book: Ledger) -> None:
    """Moments have time zones and an order, `by` is one of two words, an account is there; nothing is answered for less."""
    at = BEGINS
    for wrong in (
        lambda: book.balance("a", "BRL", at=at, by="posted"),  # type: ignore[arg-type]
        lambda: book.statement("a", "BRL", by=1),  # type: ignore[arg-type]
        lambda: book.statement("a", "BRL", since=datetime(2026, 1, 1)),  # noqa: DTZ001
        lambda: book.statement("a", "BRL", since=at, until=at - timedelta(microseconds=1)),
    ):
        with pytest.raises(lastro.InvalidInput):
            wrong()
    with pytest.raises(lastro.UnknownAccount):
        book.statement("b", "BRL")
    with pytest.raises(lastro.CurrencyMismatch):
        book.statement("a", "USD")
    empty = book.statement("a", "BRL", since=at, until=at)
    assert (empty.head.opening, empty.head.closing) == (0, 0)


def test_a_statement_is_written(book: Ledger, clock: Clock, style: Style) -> None:
    """A statement writes itself in either style, and what it wrote says what it says."""
    memory = some_days(book, clock, random.Random("written"))
    statement = book.statement("h", "BRL")
    file = BytesIO()
    written = statement.write(file, "json")
    assert (written if style.name == "blocking" else style.settle(written)) == len(memory["h"])
    document = json.loads(file.getvalue())
    assert [int(entry["signed"]) for entry in document["entries"]] == [
        seen.signed for seen in sorted(memory["h"], key=lambda seen: (seen.recorded, seen.transfer_id))
    ]
    assert int(document["closing"]) == sum(seen.signed for seen in memory["h"])
