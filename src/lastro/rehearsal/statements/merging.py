"""
Two processes that merge the same zip at the same time, and what their merges did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import lastro
from lastro.rehearsal.cast import Cast, Line
from lastro.rehearsal.stage import Stage

MERGERS = 2
COUNTED = ("inserted", "updated", "unchanged", "deleted")

# Of each file: its status, and by sheet what its merge did, in rows.
Done = list[tuple[str, dict[str, dict[str, int]]]]


class Merged:
    """
    What several merges of one zip came to together: `files` by their status, and rows by sheet and by what was done.
    """

    def __init__(self, done: Iterable[Done]) -> None:
        self.files = Counter[str]()
        self.rows: dict[str, Counter[str]] = {}
        for files in done:
            for status, sheets in files:
                self.files[status] += 1
                for sheet, counts in sheets.items():
                    self.rows.setdefault(sheet, Counter()).update(counts)

    def of(self, sheet: str, *what: str) -> int:
        """How many rows of a sheet that was done to."""
        return sum(self.rows.get(sheet, Counter())[each] for each in what)


def merge_twice(stage: Stage, file: Path, period: str) -> Merged:
    """
    Let two processes merge a zip at the same time, each on a ledger of its own.
    """
    with Cast() as cast:
        mergers = [cast.hire(f"merger {number}", work_as_merger, stage, file, period) for number in range(MERGERS)]
        cast.start(*mergers)
        for _ in cast.listen(*mergers):
            pass
        return Merged(merger.result for merger in mergers)


def work_as_merger(line: Line, stage: Stage, file: Path, period: str) -> Done:
    """
    Merge a zip, and return what became of its files.
    """
    with lastro.connect(stage.url, ledger=stage.ledger) as ledger:
        line.wait_for_start()
        files = ledger.imports.run(file, period=period, actor="demo")
    return [
        (
            file.status if file.reason is None else f"{file.status}: {file.reason}",
            {sheet.sheet: {what: asdict(sheet)[what] for what in COUNTED} for sheet in file.sheets},
        )
        for file in files
    ]
