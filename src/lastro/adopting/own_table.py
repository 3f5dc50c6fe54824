"""
What the statements on the application's table are given: its names, and the terms by which its rows are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lastro.adopting.declaration import OldColumn
from lastro.plans.plan import OwnNames, Plan, Row, Step

# Between the parts of a row's key. A value that holds this character is refused.
SEPARATOR = "\x1f"


class Place(NamedTuple):
    """
    Where a page begins: at the row with these ids (`inclusive`), or behind it.
    """

    ids: tuple[Any, ...]
    inclusive: bool


class OwnTable(NamedTuple):
    """
    The table of a declaration, and which columns of its id are texts.
    """

    column: OldColumn
    text_ids: tuple[bool, ...]

    def step(self, statement: str, **params: Any) -> Step:
        """Name a statement on the table, with the terms by which its rows are read."""
        return Step(f"adopting_own.{statement}", {**self._terms(), **params}, own=self._names())

    def within(self, place: Place) -> dict[str, Any]:
        """Return the parameters of a page that begins at *place*."""
        return {**self.row(place.ids), "inclusive": place.inclusive}

    def row(self, ids: Sequence[Any]) -> dict[str, Any]:
        """Return the parameters that lead to the row with these *ids*."""
        return {"from_1": ids[0], "from_2": ids[-1]}

    def ids_of(self, row: Row) -> tuple[Any, ...]:
        """Return the ids of a row, as they come from the database and go back into it."""
        return (row["id_1"], row["id_2"])[: len(self.column.ids)]

    def ids_in(self, row_key: str) -> tuple[Any, ...]:
        """Return the ids that a row's key was made of."""
        parts = row_key.split(SEPARATOR)
        return tuple(part if is_text else int(part) for part, is_text in zip(parts, self.text_ids, strict=True))

    def _names(self) -> OwnNames:
        column, ids = self.column, self.column.ids
        names = {
            "own_table": (column.table,) if column.schema is None else (column.schema, column.table),
            "own_id": (ids[0],),
            "own_id_2": (ids[-1],),
            "own_balance": (column.balance,),
            # Where these mean nothing, another column stands in their place and a parameter says that it isn't meant.
            "own_currency": (column.currency_column or ids[0],),
            "own_only": (column.only[0] if column.only else ids[0],),
            "own_null": (column.only_null or ids[0],),
        }
        texts = {f"text_{place}": () for place, is_text in ((1, self.text_ids[0]), (2, self.text_ids[-1])) if is_text}
        return tuple({**names, **texts}.items())

    def _terms(self) -> Mapping[str, Any]:
        column = self.column
        return {
            "adoption": column.name,
            "two_ids": len(column.ids) > 1,
            "currency": column.currency,
            "factor": 10**column.decimals,
            "null_is_zero": column.nulls == "zero",
            "only_value": column.only[1] if column.only else None,
            "only_null": column.only_null is not None,
        }


def first_place(table: OwnTable) -> Plan[Place | None]:
    """
    Return where the table's pages begin; None where it is empty.
    """
    rows = yield table.step("first")
    return Place(table.ids_of(rows[0]), inclusive=True) if rows else None
