"""
Cells that are merged: one value for several cells is refused for the others, or filled down where that is declared.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastro.imports.cells import Merge, Unreadable, Value
from lastro.imports.columns import Column


class MergedCells:
    """
    What the merged cells of a sheet do to its declared columns, which stand at the given places.
    """

    def __init__(self, columns: Sequence[Column], places: Sequence[int]) -> None:
        self._by_place = {place: index for index, place in enumerate(places)}
        self._columns = columns
        # The values of merged cells that may go on in the next batch.
        self._first: dict[Merge, Value] = {}

    def applied(
        self, merges: Sequence[Merge], numbers: Sequence[int], columns: list[Sequence[Value]]
    ) -> list[Sequence[Value]]:
        """
        Return the columns with what a merge covers put in its place: a refusal, or its first value.
        """
        if not merges:
            return columns
        first, last = numbers[0], numbers[-1]
        index_of = {number: index for index, number in enumerate(numbers)}
        changed: dict[int, list[Value]] = {}
        for merge in merges:
            if merge.last_row < first or merge.first_row > last or merge[:2] == merge[2:]:
                continue
            within = range(max(first, merge.first_row), min(last, merge.last_row) + 1)
            for place, index in self._by_place.items():
                if merge.first_column <= place <= merge.last_column:
                    cells = changed.setdefault(index, list(columns[index]))
                    touched = [(number, index_of[number]) for number in within if number in index_of]
                    self._cover(merge, place, self._columns[index], cells, touched)
        return [changed.get(index, cells) for index, cells in enumerate(columns)]

    def _cover(
        self, merge: Merge, place: int, column: Column, cells: list[Value], touched: list[tuple[int, int]]
    ) -> None:
        across = merge.first_column != merge.last_column
        for number, index in touched:
            if number == merge.first_row and place == merge.first_column:
                self._first[merge] = cells[index]
                if across:
                    cells[index] = Unreadable(str(cells[index]), f"is merged with other columns ({merge})")
            elif column.merged == "fill" and not across:
                cells[index] = self._first.get(merge, "")
            else:
                why = "across columns" if across else 'downwards (declare merged = "fill" to have it filled down)'
                cells[index] = Unreadable("", f"is covered by the cells {merge}, merged {why}")
