"""
A sheet as a table: what its spec makes of it, the names that statements need, and whether a spec fits a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from lastro.errors import InvalidInput
from lastro.imports.columns import Column
from lastro.imports.limits import SHEET_NAME_CHARACTERS_MAX
from lastro.imports.spec_files import READY, ready_specs
from lastro.imports.specs import SheetSpec
from lastro.plans.plan import OwnNames

# What stands beside the fields in every sheet's table.
TABLES_OWN: Final = ("line_id", "file_id", "row_number", "written_at")
# What the statements of merging call their own rows and tables: a field of that name would be taken for one of them.
STATEMENTS_OWN: Final = ("old", "new", "excluded", "merged", "staged", "dated", "changes", "is_own")
TYPES: Final = {
    "text": 'text COLLATE "C"',
    "integer": "bigint",
    "money": "bigint",
    "decimal": "numeric",
    "date": "date",
    "datetime": "timestamptz",
    "boolean": "boolean",
}
MONTHS_A_YEAR: Final = 12


class Bounds(NamedTuple):
    """
    A month as the values of a period's column: from the first on, and before the second.
    """

    first: str
    behind: str


def table_of(sheet: str) -> str:
    """
    Return the name of a sheet's table.
    """
    return f"sheet_{sheet}"


def check_storable(spec: SheetSpec) -> None:
    """
    Raise InvalidInput for a spec whose rows no table can hold under its names.
    """
    if len(spec.name) > SHEET_NAME_CHARACTERS_MAX:
        spec.refuse("name", f"has at most {SHEET_NAME_CHARACTERS_MAX} characters where its rows are stored")
    for name in spec.fields:
        if name in TABLES_OWN:
            spec.refuse("columns", f"can't name a field {name}: its table has that already")
        if name in STATEMENTS_OWN:
            spec.refuse("columns", f"can't name a field {name}: merging has that name for something else")


def names_of(spec: SheetSpec, fields: Sequence[str], *, place: int) -> OwnNames:
    """
    Return the names that a statement on a sheet needs: of a file that has these *fields*, at this *place* in its merge.
    """
    names = [
        ("table", (table_of(spec.name),)),
        ("staged", (f"staged_{place}",)),
        ("changes", (f"changes_{place}",)),
        ("fields", tuple(fields)),
        ("key", spec.key),
    ]
    if spec.period is not None:
        names.append(("period", (spec.period,)))
    return tuple(names)


def bounds(spec: SheetSpec, period: str | None) -> Bounds | None:
    """
    Return the month *period* ("2026-11") in the values of the sheet's column for it; None where one of them isn't there.
    """
    if period is None or spec.period is None:
        return None
    year, month = map(int, period.split("-"))
    following = (year + month // MONTHS_A_YEAR, month % MONTHS_A_YEAR + 1)
    column = spec.column(spec.period)
    return Bounds(_first_moment((year, month), column), _first_moment(following, column))


def stored_spec(name: str, declared: Mapping[str, SheetSpec]) -> SheetSpec | None:
    """
    Return the spec that a sheet's table was made by: the one *declared*, or a ready one's; None where there is no table.
    """
    if name in declared:
        return declared[name]
    return ready_specs(name)[0] if name in READY else None


def check_fits(spec: SheetSpec, stored: SheetSpec | None) -> None:
    """
    Raise InvalidInput unless the rows of *spec* fit the table that the spec *stored* made.
    """
    if stored is None:
        raise InvalidInput(
            f"sheet {spec.name} has no table yet: declare it (`lastro import … --declare`, or ledger.imports.declare())",
            argument="specs",
        )
    refused = misfit(spec, stored)
    if refused:
        raise InvalidInput(f"sheet {spec.name} was declared otherwise: {refused}", argument="specs")
    unknown = [name for name in spec.fields if name not in stored.fields]
    if unknown:
        raise InvalidInput(
            f"sheet {spec.name} has no {', '.join(unknown)} yet: declare it again with them (`--declare`)",
            argument="specs",
        )


def misfit(spec: SheetSpec, stored: SheetSpec) -> str | None:
    """
    Return what of *spec* can't be merged into a table that *stored* made, or None.
    """
    if spec.key != stored.key:
        return f"its key is {', '.join(stored.key)}, and not {', '.join(spec.key)}"
    if spec.period != stored.period:
        return f"its period is {stored.period}, and not {spec.period}"
    for column in stored.columns:
        if column.name not in spec.fields:
            if column.required:
                return f"{column.name} is required in it"
            continue
        given = spec.column(column.name)
        if TYPES[given.type] != TYPES[column.type] or _meaning(given) != _meaning(column):
            return f"{column.name} is {_meaning(column)}, and not {_meaning(given)}"
        if column.required and not given.required:
            return f"{column.name} is required in it"
    return None


def _meaning(column: Column) -> str:
    # Minor units of one currency are none of another.
    return f"{column.type} in {column.currency}" if column.currency is not None else column.type


def _first_moment(month: tuple[int, int], column: Column) -> str:
    if column.type == "date":
        return date(*month, 1).isoformat()
    return datetime(*month, 1, tzinfo=ZoneInfo(column.zone or "UTC")).astimezone(UTC).isoformat()
