"""
Statements: the entries of an account in a span of time, in the order of their moments, without holding anything meanwhile.

A statement is of all that had an id when it was asked for and is committed or gone by now, as a mark is: so nothing of it
changes while it is read, page by page. Entries come in the order of ids, and moments follow that order but for a few; so
the pieces of the history that a span touches are taken in the order of their least moments, and what is read of them goes
out as soon as no later piece can hold anything earlier. Held in memory is what the pieces overlap by.
"""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime, timedelta
from functools import partial
from heapq import heappop, heappush
from itertools import count
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from lastro.errors import HistoryRetired, LockTimeout, SerializationLost
from lastro.model.limits import CLOSING_BLOCK_ENTRIES, STATEMENT_WAIT_MS
from lastro.model.moment import EARLIEST, LATEST
from lastro.model.statement import By, StatementHead, StatementLine, moment_of
from lastro.model.transfer import Entry
from lastro.plans.course import Act, Course, Pause
from lastro.plans.moments import standing_at
from lastro.plans.patience import outlast
from lastro.plans.plan import Effect, Plan, Row, Rows, step
from lastro.plans.stored import read_entry

MICROSECOND: Final = timedelta(microseconds=1)
# What a statement's lines yield beside acts: lines that are ready, in their order.
Lines: TypeAlias = Generator[Act | Pause | list[StatementLine], Any, None]


class Piece(NamedTuple):
    """
    A piece of an account's history by ids, with the least moment in it. `place`: it follows the piece one below at once.
    """

    min_at: datetime
    first_id: int
    last_id: int
    entries: int
    place: int | None


class Opened(NamedTuple):
    """
    A statement whose span is fixed: both balances are known, and where its entries are to be found.

    `settled` says that nothing which it is of can still come in.
    """

    head: StatementHead
    account_id: int
    id_ceiling: int
    last_id: int
    settled: bool

    @property
    def span(self) -> dict[str, Any]:
        """The span as the statements take it: both ends belong to it."""
        head = self.head
        return {
            "account_id": self.account_id,
            "since_at": head.since or EARLIEST,
            "to_at": _last_moment(head.until),
            "by_occurred": int(head.by == "occurred"),
        }


def _last_moment(until: datetime | None) -> datetime:
    return LATEST if until is None else until - MICROSECOND


def open_statement(
    name: str, currency: str, *, since: datetime | None, until: datetime | None, by: By
) -> Course[Opened]:
    """
    Fix a statement: what it is of, and its two balances. Waits briefly for transactions that may still add to it.
    """
    last_id: int = yield Act(_reached, Effect.READ)
    try:
        yield from outlast(_under_way, _still_open, wait_ms=STATEMENT_WAIT_MS)
        settled = True
    except LockTimeout:
        # Whoever is still open may never post to this account. If it does, the sum of what is read tells.
        settled = False
    opened: Opened = yield Act(
        partial(_open, name, currency, since=since, until=until, by=by, last_id=last_id, settled=settled), Effect.READ
    )
    return opened


def _reached() -> Plan[int]:
    rows = yield step("statements.reached")
    last_id: int = rows[0]["last_id"]
    return last_id


def _under_way() -> Plan[Rows]:
    return (yield step("keeping.under_way"))


def _still_open(oldest: Row) -> LockTimeout:
    return LockTimeout(f"pid {oldest['pid']} ({oldest['application']}) is still open", pid=oldest["pid"])


def _open(
    name: str, currency: str, *, since: datetime | None, until: datetime | None, by: By, last_id: int, settled: bool
) -> Plan[Opened]:
    while True:
        before = yield from standing_at(name, currency, at=(since or EARLIEST) - MICROSECOND, by=by, last_id=last_id)
        after = yield from standing_at(name, currency, at=_last_moment(until), by=by, last_id=last_id)
        if after.id_ceiling <= last_id:
            break
        # A mark was made meanwhile. What has an id up to it is settled as well.
        last_id = after.id_ceiling
    head = StatementHead(after.account, after.currency, since, until, by, before.posted, after.posted)
    return Opened(head, after.account_id, after.id_ceiling, last_id, settled)


def lines(opened: Opened) -> Lines:
    """
    Yield the lines of a statement, in lists, and acts to be run. Raises where they don't lead from the opening balance to
    the closing one.
    """
    head, balance = opened.head, opened.head.opening
    tie = count()
    waiting: list[tuple[datetime, int, int, Entry]] = []
    pieces: list[Piece] = yield Act(partial(_pieces, opened), Effect.READ)
    for piece in (*pieces, None):
        ready: list[StatementLine] = []
        while waiting and (piece is None or waiting[0][0] < piece.min_at):
            entry = heappop(waiting)[-1]
            balance += entry.signed
            ready.append(StatementLine(entry, balance))
        if ready:
            yield ready
        if piece is not None:
            found: list[Entry] = yield Act(partial(_entries, opened, piece), Effect.READ)
            for entry in found:
                heappush(waiting, (moment_of(entry, head.by), entry.transfer_id, next(tie), entry))
    if balance != head.closing:
        raise _does_not_add_up(opened, balance)


def _pieces(opened: Opened) -> Plan[list[Piece]]:
    span = opened.span
    closed = yield step("statements.closed_pieces", **span, last_id=opened.id_ceiling)
    later = yield step(
        "statements.later_pieces",
        **span,
        after_id=opened.id_ceiling,
        last_id=opened.last_id,
        block_entries=CLOSING_BLOCK_ENTRIES,
    )
    found = [
        Piece(row["min_at"], row["first_id"], row["last_id"], row["entries"], row["place"]) for row in (*closed, *later)
    ]
    return sorted(_joined(sorted(found, key=attrgetter("first_id"))))


def _joined(pieces: list[Piece]) -> list[Piece]:
    """
    Return neighbours that hold little as one piece, so that a quiet account's year isn't read day by day.
    """
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if (
            last is not None
            and piece.place is not None
            and last.place is not None
            and piece.place == last.place + 1
            and last.entries + piece.entries <= CLOSING_BLOCK_ENTRIES
        ):
            joined[-1] = Piece(
                min(last.min_at, piece.min_at),
                last.first_id,
                piece.last_id,
                last.entries + piece.entries,
                piece.place,
            )
        else:
            joined.append(piece)
    return joined


def _entries(opened: Opened, piece: Piece) -> Plan[list[Entry]]:
    rows = yield step("statements.entries", **opened.span, first_id=piece.first_id, last_id=piece.last_id)
    return [read_entry(row) for row in rows]


def _does_not_add_up(opened: Opened, balance: int) -> Exception:
    head = opened.head
    if not opened.settled:
        return SerializationLost(
            f"entries of {head.account!r} in {head.currency} were committed into the span while it was read, by a "
            "transaction that was open before; ask for the statement again"
        )
    return HistoryRetired(
        f"the entries of account {head.account!r} in {head.currency} lead to {balance} minor units and not to "
        f"{head.closing}: entries of the span were retired with their partition; ask for a span that begins after it",
        account=head.account,
        currency=head.currency,
    )
