"""
What a run of matching found, as files: CSV for spreadsheets, and a page to be read and printed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, Literal, Protocol, TypeAlias

from lastro.errors import InvalidInput
from lastro.matching.values import Item, MatchGroup, MatchRun, Outcome
from lastro.model.text import shown
from lastro.statements import complete
from lastro.statements.amounts import decimal_text, places_of
from lastro.statements.csv_file import safe
from lastro.statements.page import END, beginning, row

ReportFormat: TypeAlias = Literal["csv", "html"]

COLUMNS: Final = (
    "group", "outcome", "reference", "currency", "difference", "difference_minor", "side", "id", "on", "amount",
    "amount_minor", "cut_short",
)  # fmt: skip
# What people call the outcomes.
SAID: Final[dict[Outcome, str]] = {
    "matched": "matched",
    "amount_differs": "amount differs",
    "missing_in_ledger": "missing in ledger",
    "missing_in_statement": "missing in statement",
}
# Amount and difference.
NUMBERS: Final = 2


class GroupWriter(Protocol):
    """Takes the groups of one run. `groups` counts them."""

    groups: int

    def add(self, group: MatchGroup) -> None:
        """Write one group."""
        ...

    def end(self) -> None:
        """Write what stands behind the last one."""
        ...


@contextmanager
def reporting(run: MatchRun, to: str | Path | IO[bytes], format_: ReportFormat) -> Iterator[GroupWriter]:
    """
    Give a writer for the groups of *run*; a path gets its file when everything is written.
    """
    if format_ not in _WRITERS:
        raise InvalidInput(f"format is one of {', '.join(_WRITERS)}; got {shown(format_)}", argument="format")
    with complete(to) as file:
        writer = _WRITERS[format_](run, file)
        yield writer
        writer.end()


def figures(run: MatchRun) -> str:
    """
    Return a run's figures as a sentence.
    """
    counts = ", ".join(f"{getattr(run, outcome)} {said}" for outcome, said in SAID.items())
    more = f"; the search was cut short for {run.cut_short}" if run.cut_short else ""
    return f"{run.lines} lines and {run.transfers} transfers: {counts}{more}"


def sides(group: MatchGroup) -> Iterator[tuple[str, Item]]:
    """
    Yield the items of a group with their side, the statement's first.
    """
    yield from (("statement", line) for line in group.lines)
    yield from (("ledger", transfer) for transfer in group.transfers)


def amount_text(minor: int, currency: str) -> str:
    """
    Return an amount as people write it; in minor units where nobody knows the currency's decimals.
    """
    return decimal_text(minor, currency, places_of(currency))


class _Csv:
    """
    One line an item, in quotes, with what is known of its group.
    """

    def __init__(self, run: MatchRun, file: IO[bytes]) -> None:
        del run  # whose file it is says the file's name
        self.groups = 0
        self._file = file
        self._text = io.StringIO(newline="")
        self._rows = csv.writer(self._text, quoting=csv.QUOTE_ALL)
        self._rows.writerow(COLUMNS)

    def add(self, group: MatchGroup) -> None:
        for side, item in sides(group):
            self._rows.writerow([
                group.number, group.outcome, safe(group.reference), safe(group.currency),
                amount_text(group.difference, group.currency), group.difference, side, safe(item.id),
                item.on.isoformat(), amount_text(item.amount, group.currency), item.amount,
                "yes" if group.cut_short else "no",
            ])  # fmt: skip
        self.groups += 1
        self._pass_on()

    def end(self) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        self._file.write(self._text.getvalue().encode())
        self._text.seek(0)
        self._text.truncate()


class _Html:
    """
    A row a group, and below it one an item.
    """

    def __init__(self, run: MatchRun, file: IO[bytes]) -> None:
        self.groups = 0
        self._file = file
        about = f" Only {run.account}." if run.account is not None else ""
        self._write(
            beginning(
                f"Matching: {run.spec}, {run.period}",
                f"Run {run.id} of {run.ran_at.isoformat(' ', 'seconds')}: {figures(run)}.{about}",
                ("Outcome", "Reference", "Side", "Line or transfer", "Date", "Amount", "Difference"),
                numbers=NUMBERS,
            )
        )

    def add(self, group: MatchGroup) -> None:
        outcome = f"{SAID[group.outcome]}{' (search cut short)' if group.cut_short else ''}"
        difference = f"{amount_text(group.difference, group.currency)} {group.currency}"
        self._write(row((outcome, group.reference or "", "", "", "", "", difference), numbers=NUMBERS, strong=True))
        for side, item in sides(group):
            amount = amount_text(item.amount, group.currency)
            self._write(row(("", "", side, item.id, item.on.isoformat(), amount, ""), numbers=NUMBERS))
        self.groups += 1

    def end(self) -> None:
        self._write(END)

    def _write(self, text: str) -> None:
        self._file.write(text.encode())


_WRITERS: Final[dict[str, Callable[[MatchRun, IO[bytes]], GroupWriter]]] = {"csv": _Csv, "html": _Html}
