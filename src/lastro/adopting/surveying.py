"""
Looking at the old table before anything is written: what its columns are made of, what is in it, what stands in the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lastro.adopting.declaration import OldColumn, refuse_other_unit
from lastro.adopting.own_table import OwnTable
from lastro.adopting.telling_apart import read_units
from lastro.adopting.values import AdoptionSurvey
from lastro.errors import InvalidInput
from lastro.model.account import currency_code
from lastro.model.limits import BALANCE_MAX, BALANCE_MIN
from lastro.plans.plan import Plan, Row, step

CURRENCIES_SHOWN = 20
DECIMALS_MAX = 18

WHOLE = frozenset({"smallint", "integer", "bigint", "tinyint", "mediumint", "int"})
DECIMAL = frozenset({"numeric", "decimal"})
FLOATING = frozenset({"real", "double precision", "float", "double"})
TEXTS = frozenset({"text", "character varying", "character", "uuid", "char", "varchar", "citext"})
# SQLite gives columns an affinity by words in their type, whatever it is.
LITE_WHOLE, LITE_TEXTS, LITE_FLOATING = "int", ("char", "clob", "text"), ("real", "floa", "doub")


class Made(NamedTuple):
    """
    What the columns of a declaration are made of, and what of that stands in the way. `typed`: the database holds every
    value to its column's type.
    """

    text_ids: tuple[bool, ...]
    problems: tuple[str, ...]
    typed: bool


def survey(column: OldColumn) -> Plan[AdoptionSurvey]:
    """
    Return what is in the old table.

    Reads the whole table once or twice, in two statements, and locks nothing.
    """
    made = yield from look_at_columns(column)
    if made.problems:
        return AdoptionSurvey(0, 0, 0, None, None, {}, made.problems, ())
    table = OwnTable(column, made.text_ids)
    found = (yield table.step("survey"))[0]
    rows = yield table.step("currencies", rows_max=CURRENCIES_SHOWN)
    currencies = {str(row["currency"]): int(row["rows_seen"]) for row in rows}
    return AdoptionSurvey(
        rows=int(found["rows_seen"]),
        nulls=int(found["null_count"]),
        negative=int(found["negative"]),
        least=read_units(found["least"]),
        most=read_units(found["most"]),
        currencies=currencies,
        problems=(*_problems(column, found, typed=made.typed), *_currency_problems(column, currencies)),
        advice=_advice(column, found),
    )


def look_at_columns(column: OldColumn) -> Plan[Made]:
    """
    Return what the declared columns are made of. Reads the database's catalogue alone.
    """
    rows = yield step("adopting.columns", table_schema=column.schema, table_name=column.table)
    types = {row["column_name"]: row for row in rows}
    if not types:
        where = "the database" if column.schema is None else f"schema {column.schema!r}"
        raise InvalidInput(
            f"there is no table {column.table!r} in {where} (names are compared as they are spelt): "
            "an adoption needs a table in the ledger's own database",
            argument="table",
        )
    named = [*column.ids, column.balance, column.currency_column, column.only[0] if column.only else None]
    missing = [name for name in (*named, column.only_null) if name is not None and name not in types]
    if missing:
        raise InvalidInput(
            f"table {column.table!r} has no column {missing[0]!r}; it has {', '.join(map(repr, types))}",
            argument="column",
        )
    typed = bool(rows[0]["typed"])
    of_balance = _type_problem(column, types[column.balance], typed=typed)
    kinds = {name: _kind_of_id(types[name]["type_name"], typed=typed) for name in column.ids}
    of_ids = [
        f"id column {name!r} is of type {types[name]['type_name']}: an id is a whole number, text or a UUID"
        + ("" if typed else " (in SQLite a column of type INTEGER or TEXT)")
        for name, kind in kinds.items()
        if kind is None
    ]
    problems = (*([of_balance] if of_balance else []), *of_ids)
    return Made(tuple(kind == "text" for kind in kinds.values()), problems, typed)


def _kind_of_id(type_name: str, *, typed: bool) -> str | None:
    if not typed:
        # Of another affinity, a value needn't be found again by its own text.
        return "whole" if LITE_WHOLE in type_name else "text" if any(map(type_name.__contains__, LITE_TEXTS)) else None
    return "whole" if type_name in WHOLE else "text" if type_name in TEXTS else None


def _type_problem(column: OldColumn, made: Row, *, typed: bool) -> str | None:
    kind, name = str(made["type_name"]), column.balance
    if kind in FLOATING or (not typed and any(word in kind for word in LITE_FLOATING)):
        return (
            f"{name!r} is of type {kind}, which holds no exact amounts (0.1 + 0.2 is not 0.3 in it). Add a column of whole "
            f"minor units, fill it with round({name} * 100) in one transaction with the code that writes it, look at the "
            "rows where the rounding changed something, and adopt that column"
        )
    if not typed:
        return _lite_problem(column)
    if kind == "money":
        return (
            f"{name!r} is of type money, whose decimals depend on the session's locale: "
            f"ALTER TABLE … ALTER COLUMN {name} TYPE numeric(19, 2) first"
        )
    if kind not in WHOLE | DECIMAL:
        return f"{name!r} is of type {kind}: a balance is an integer or a numeric (decimal) column"
    scale = 0 if kind in WHOLE else made["scale"]
    if scale is not None and scale < column.decimals:
        return (
            f"{name!r} has {scale} decimals and decimals = {column.decimals} was declared: what the ledger holds could not "
            "be written back on a roll-back. Widen the column, or declare decimals = 0 where it counts minor units"
        )
    if scale is not None and scale > DECIMALS_MAX:
        return f"{name!r} has {scale} decimals; up to {DECIMALS_MAX} can be read"
    return None


def _lite_problem(column: OldColumn) -> str | None:
    if not column.decimals:
        return None
    return (
        f"decimals = {column.decimals} was declared, and SQLite keeps decimal numbers as floating point, whatever a column's "
        f"type says: add an integer column of minor units, fill it with round({column.balance} * {10**column.decimals}), "
        "look at the rows where the rounding changed something, and adopt that column"
    )


def _problems(column: OldColumn, found: Row, *, typed: bool) -> tuple[str, ...]:
    least, most = found["least"], found["most"]
    ranged = [read_units(end) is None for end in (least, most) if end is not None] if not found["unreadable"] else []
    unreadable = (
        "have a balance with more decimals than its minor unit has"
        if typed
        else "have a balance that SQLite doesn't hold as an integer"
    )
    said = (
        (found["nameless"], "{} rows have no id"),
        (
            found["rows_seen"] - found["keys_seen"] if not found["nameless"] else 0,
            "{} rows have the id of another: the id of an adoption is unique",
        ),
        (
            found["null_count"] if column.nulls == "refuse" else 0,
            '{} rows have no balance (NULL): declare nulls = "zero"',
        ),
        (found["unreadable"], f"{{}} rows {unreadable}"),
        (any(ranged), f"a balance lies outside {BALANCE_MIN} … {BALANCE_MAX} minor units"),
        (
            found["negative"] if column.floor is not None and column.floor >= 0 else 0,
            '{} rows have a balance below zero: declare floor = "none", or solve them',
        ),
    )
    return tuple(sentence.format(int(count)) for count, sentence in said if count)


def _currency_problems(column: OldColumn, currencies: Mapping[str, int]) -> tuple[str, ...]:
    problems = []
    for currency in currencies:
        try:
            refuse_other_unit(column.decimals, currency_code(currency))
        except InvalidInput as error:
            problems.append(str(error))
    return tuple(problems)


def _advice(column: OldColumn, found: Row) -> tuple[str, ...]:
    said = []
    if column.nulls == "zero" and found["null_count"]:
        said.append(f"{int(found['null_count'])} rows have no balance and are taken for zero")
    if not column.decimals and column.currency is not None and found["rows_seen"]:
        said.append(
            f"the column counts minor units of {column.currency}: the largest balance is {read_units(found['most'])} of them; "
            "declare decimals where it counts whole units"
        )
    return tuple(said)
