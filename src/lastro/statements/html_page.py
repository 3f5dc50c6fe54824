"""
A statement as a page to be read and printed: one file that needs nothing else, no script and no network.
"""

from __future__ import annotations

from datetime import datetime
from typing import IO, Final

from lastro.model.statement import StatementHead, StatementLine, moment_of
from lastro.statements.amounts import decimal_text, places_of
from lastro.statements.page import END, beginning, row

# Amount and balance.
NUMBERS: Final = 2


class HtmlWriter:
    """
    Writes UTF-8. Whatever stands in a name or a key is shown as it is, and never becomes markup.
    """

    def __init__(self, head: StatementHead, file: IO[bytes]) -> None:
        self.lines = 0
        self._head = head
        self._places = places_of(head.currency)
        self._file = file
        placed = "Occurred" if head.by == "occurred" else "Recorded"
        unit = "" if self._places is not None else "; amounts in minor units"
        self._write(
            beginning(
                f"Statement: {head.account} in {head.currency}",
                f"What {placed.lower()} {_span(head.since, head.until)}{unit}. Moments are UTC.",
                (placed, "Kind", "Other account", "Key", "Cause", "Amount", "Balance"),
                numbers=NUMBERS,
            )
        )
        self._balance("Opening balance", head.opening)

    def add(self, line: StatementLine) -> None:
        """Write an entry."""
        entry = line.entry
        cells = (
            _moment(moment_of(entry, self._head.by)),
            entry.kind,
            entry.counter_account,
            entry.key,
            entry.cause or "",
            self._decimal(entry.signed),
            self._decimal(line.balance),
        )
        self._write(row(cells, numbers=NUMBERS))
        self.lines += 1

    def end(self) -> None:
        """Write the closing balance and end the page."""
        self._balance("Closing balance", self._head.closing)
        self._write(END)

    def _balance(self, name: str, minor: int) -> None:
        self._write(
            f'<tr class="balance"><th scope="row" colspan="6">{name}</th>'
            f'<td class="number">{self._decimal(minor)}</td></tr>\n'
        )

    def _decimal(self, minor: int) -> str:
        return decimal_text(minor, self._head.currency, self._places)

    def _write(self, text: str) -> None:
        self._file.write(text.encode())


def _span(since: datetime | None, until: datetime | None) -> str:
    first = "from the beginning" if since is None else f"from {_moment(since)}"
    return f"{first} to the end" if until is None else f"{first}, before {_moment(until)}"


def _moment(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(" ", timespec="microseconds" if moment.microsecond else "seconds")
