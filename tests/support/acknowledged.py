"""
The log of a client: what it was about to ask for, and what it was told is done. The oracle of every test with faults.

"The sums are right" is blind to a lost posting; what was acknowledged and isn't there is not. Each line is one write()
to a file opened for appending, so that a killed client leaves whole lines.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from tests.support.stores import rows_of


class Wanted(NamedTuple):
    """A posting that a client asked for."""

    key: str
    debit: str
    credit: str
    amount: int


class ClientLog:
    """Writes intents before they are asked for, and acknowledgements after the commit was answered."""

    def __init__(self, directory: Path, name: str) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._intents = os.open(directory / f"{name}.intents", flags)
        self._acked = os.open(directory / f"{name}.acked", flags)

    def intends(self, *wanted: Wanted) -> None:
        """Note what is about to be asked for."""
        os.write(self._intents, "".join(f"{'|'.join(map(str, one))}\n" for one in wanted).encode())

    def heard(self, *wanted: Wanted) -> None:
        """Note what is known to be committed."""
        os.write(self._acked, "".join(f"{one.key}\n" for one in wanted).encode())


class Verdict(NamedTuple):
    """What became of what was asked for. `unanswered`: stored, but the client never heard; `lost` must be empty."""

    intended: int
    acked: int
    unanswered: int
    lost: frozenset[str]
    invented: frozenset[str]

    def __str__(self) -> str:
        return (
            f"{self.intended} intended, {self.acked} acked, {self.unanswered} stored unanswered, "
            f"{len(self.lost)} lost, {len(self.invented)} invented"
        )


def intents(directory: Path) -> dict[str, Wanted]:
    """Return everything that was asked for, by key."""
    found: dict[str, Wanted] = {}
    for file in sorted(directory.glob("*.intents")):
        for line in file.read_text().splitlines():
            key, debit, credit, amount = line.split("|")
            found[key] = Wanted(key, debit, credit, int(amount))
    return found


def acked(directory: Path) -> set[str]:
    """Return the keys of everything that was acknowledged."""
    return {key for file in directory.glob("*.acked") for key in file.read_text().splitlines()}


def judge(directory: Path, url: str, ledger_name: str) -> Verdict:
    """Compare the clients' logs with what the ledger holds: no acknowledged posting lost, none invented or altered."""
    asked, told = intents(directory), acked(directory)
    query = (
        "SELECT transfer.key, d.name, c.name, transfer.amount "
        "FROM {s}transfer AS transfer JOIN {s}account AS d ON d.id = debit_id "
        "JOIN {s}account AS c ON c.id = credit_id WHERE transfer.key LIKE 'client:%'"
    )
    stored = {row[0]: Wanted(*row) for row in rows_of(url, query, ledger_name)}
    return Verdict(
        intended=len(asked),
        acked=len(told),
        unanswered=len(stored.keys() - told),
        lost=frozenset(key for key in told if stored.get(key) != asked[key]),
        invented=frozenset(key for key in stored if asked.get(key) != stored[key]),
    )
