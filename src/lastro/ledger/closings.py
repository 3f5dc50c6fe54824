"""
The past, blocking: closing days, and statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO

from lastro.ledger.running import Walks
from lastro.model.statement import By, StatementHead, StatementLine
from lastro.plans.closing_days import DAY_S, AfterBatch, DaysClosed
from lastro.plans.statements import Opened, lines
from lastro.statements import Format, writing


class Statement:
    """
    An account's statement: `head` has both balances; iterating reads its lines, page by page, each time anew.

    A line is an entry and the balance after it, in the order of the statement's moment and then of ids. Raises at the
    end where the lines don't lead to the closing balance: HistoryRetired where entries of the span were retired,
    SerializationLost where a transaction that had been open for long came in between (ask again).
    """

    def __init__(self, head: StatementHead, read: Callable[[], Iterator[StatementLine]]) -> None:
        self.head = head
        self._read = read

    def __iter__(self) -> Iterator[StatementLine]:
        return self._read()

    def write(self, to: str | Path | IO[bytes], format: Format = "csv") -> int:  # noqa: A002  (what it is)
        """
        Write it as "csv", "json", "html" or "parquet" (`pip install 'lastro[parquet]'`); return the number of lines.

        A file comes into being once it is complete: `to` is its path, or a binary file that is open.
        """
        with writing(self.head, to, format) as writer:
            for line in self:
                writer.add(line)
        return writer.lines


class ReadsThePast(Walks):
    """
    Closing days and reading statements, which take transactions of the ledger's own.
    """

    def close_days(self, *, every_s: int = DAY_S, after_batch: AfterBatch | None = None) -> DaysClosed:
        """
        Write down what each account stood at, if a day (`every_s` seconds, by UTC) has begun since it was last done.

        What `balance(at=)` and `statement` of the past are then read from. One round, as the worker `close_days` does it
        every minute. It waits a moment for transactions that are open, and tells in `waits_for` which are left: call
        again, it goes on where it was. Each page of accounts is a transaction of its own; nobody who posts waits.
        `after_batch` is told the accounts of each page as soon as it is committed; when it returns False the round ends.
        """
        closed: DaysClosed = self._walk(self._operations.close_days(every_s=every_s, after_batch=after_batch))
        return closed

    def statement(
        self,
        name: str,
        currency: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        by: By = "recorded",
    ) -> Statement:
        """
        Return an account's statement of what was recorded (with `by="occurred"`: of what occurred) from `since` on and
        before `until`, both with their time zone; so that one span's `until` is the next one's `since`.

        It is of what was posted when it was asked for; what comes later doesn't show in it. Locks nothing; waits up to
        1 s for transactions under way. Raises UnknownAccount, InvalidInput.
        """
        opened = self._walk(self._operations.open_statement(name, currency, since=since, until=until, by=by))
        return Statement(opened.head, lambda: self._lines(opened))

    def _lines(self, opened: Opened) -> Iterator[StatementLine]:
        reading = lines(opened)
        try:
            going = next(reading)
            while True:
                if isinstance(going, list):
                    yield from going
                    going = next(reading)
                else:
                    going = reading.send(self._act(going))
        except StopIteration:
            return
