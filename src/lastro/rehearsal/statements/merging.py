"""
Two processes that merge the same zips at the same time, and what their merges did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from lastro.imports.merges import ImportedFile
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


def merge_twice(stage: Stage, files: Sequence[Path], period: str) -> list[Merged]:
    """
    Let two processes merge each of some zips at the same time, one zip after the other, each on a ledger of its own.
    """
    with Cast() as cast:
        mergers = [cast.hire(f"merger {number}", work_as_merger, stage, files, period) for number in range(MERGERS)]
        for _ in files:
            # Both are through with the zip before it, and begin with this one together.
            cast.start(*mergers)
        for _ in cast.listen(*mergers):
            pass
        return [Merged(done) for done in zip(*(merger.result for merger in mergers), strict=True)]


def work_as_merger(line: Line, stage: Stage, files: Sequence[Path], period: str) -> list[Done]:
    """
    Merge zips, and return what became of the files in each.
    """
    done: list[Done] = []
    with stage.open_ledger() as ledger:
        for file in files:
            line.wait_for_start()
            done.append([_said(merged) for merged in ledger.imports.run(file, period=period, actor="demo")])
    return done


def _said(file: ImportedFile) -> tuple[str, dict[str, dict[str, int]]]:
    status = file.status if file.reason is None else f"{file.status}: {file.reason}"
    return status, {sheet.sheet: {what: asdict(sheet)[what] for what in COUNTED} for sheet in file.sheets}
