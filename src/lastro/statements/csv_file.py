"""
A statement as CSV: one line an entry between the two balances, safe to open in a spreadsheet.
"""

from __future__ import annotations

import csv
import io
import re
from typing import IO, Final
from unicodedata import category

from lastro.model.statement import StatementHead, StatementLine
from lastro.statements.amounts import decimal_text, moment_text, places_of

COLUMNS: Final = (
    "line", "transfer_id", "recorded_at", "occurred_at", "kind", "side", "amount", "amount_minor", "balance",
    "balance_minor", "currency", "account", "counter_account", "key", "cause", "reverses", "source", "actor",
)  # fmt: skip
# A spreadsheet takes a cell that begins so for a formula, whoever wrote it, behind blanks and what can't be seen too; an
# apostrophe says that it is text. A text that begins with one gets a second, so that the first is always ours.
_FORMULA: Final = frozenset("=+-@'＝＋－＠")
# A spreadsheet that was told of another separator, or that minds no quotes, begins a cell behind each of these.
_SEPARATOR: Final = re.compile(r"([;\t\r\n])")
_INVISIBLE: Final = "Cf"


def safe(text: str | None) -> str:
    """
    Return a text as a cell that no spreadsheet takes for a formula.
    """
    if not text:
        return ""
    marked = "".join(f"'{cell}" if _is_formula(cell) else cell for cell in _SEPARATOR.split(text))
    return f"'{marked}" if text[0] in "\t\r\n" else marked


def _is_formula(cell: str) -> bool:
    begins = next((each for each in cell if not each.isspace() and category(each) != _INVISIBLE), "")
    return begins in _FORMULA


class CsvWriter:
    """
    Writes UTF-8 with lines as RFC 4180 has them, each cell in quotes. Amounts twice, as plain numbers: as people write
    them, and as whole minor units.
    """

    def __init__(self, head: StatementHead, file: IO[bytes]) -> None:
        self.lines = 0
        self._head = head
        self._places = places_of(head.currency)
        self._file = file
        self._text = io.StringIO(newline="")
        self._rows = csv.writer(self._text, quoting=csv.QUOTE_ALL)
        self._rows.writerow(COLUMNS)
        self._balance_row("opening", head.opening, moment_text(head.since))

    def add(self, line: StatementLine) -> None:
        """Write an entry."""
        entry = line.entry
        self._rows.writerow([
            "entry", entry.transfer_id, moment_text(entry.recorded_at), moment_text(entry.occurred_at),
            safe(entry.kind), entry.side, self._decimal(entry.signed), entry.signed, self._decimal(line.balance),
            line.balance, safe(entry.currency), safe(entry.account), safe(entry.counter_account), safe(entry.key),
            safe(entry.cause), safe(entry.reverses), safe(entry.source), safe(entry.actor),
        ])  # fmt: skip
        self.lines += 1
        self._pass_on()

    def end(self) -> None:
        """Write the closing balance."""
        self._balance_row("closing", self._head.closing, moment_text(self._head.until))

    def _balance_row(self, line: str, minor: int, moment: str) -> None:
        head = self._head
        moments = ("", moment) if head.by == "occurred" else (moment, "")
        texts = (safe(head.currency), safe(head.account), "", "", "", "", "", "")
        self._rows.writerow([line, "", *moments, "", "", "", "", self._decimal(minor), minor, *texts])
        self._pass_on()

    def _decimal(self, minor: int) -> str:
        return decimal_text(minor, self._head.currency, self._places)

    def _pass_on(self) -> None:
        self._file.write(self._text.getvalue().encode())
        self._text.seek(0)
        self._text.truncate()
