"""
The statements of standard SQL as one database takes them: SQLAlchemy spells the parameters, the types and the limits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import (
    BigInteger,
    Dialect,
    Executable,
    Select,
    Unicode,
    UnicodeText,
    bindparam,
    literal_column,
    select,
    text,
)
from sqlalchemy.types import TypeEngine

from lastro.sql.catalogue import catalogue

DIALECT = "generic"
# A parameter of this kind is a list, and its statement is sent once for each element, the lists side by side.
EACH = "each_"
# What an UPDATE of a base row changes that is there for its lock alone.
LOCKS = "locks_taken"
_PARAMETER = re.compile(r"%\((?P<name>\w+)\)s|%%")
_LIST = re.compile(r"\bIN %\((?P<name>\w+)\)s")
_PAGE = re.compile(r"\nORDER BY (?P<order>[^;]*?)\nFETCH FIRST %\(rows_max\)s ROWS ONLY\s*$")
_TYPE = re.compile(r"\b(?:bigint|clob|varchar\((?P<characters>\d+)\))(?=[\s,)])")


class Text(NamedTuple):
    """
    One statement, ready for SQLAlchemy. `each` and `listed` name its lists: those it is sent again for, and the one that
    stands behind its IN. `locks` says that it takes the lock of a base row, `rebases` that it writes one.
    """

    statement: Executable
    params: tuple[str, ...]
    each: tuple[str, ...]
    listed: str | None
    locks: bool
    rebases: bool


class Said(NamedTuple):
    """
    One step of the catalogue: its texts in order, or why this dialect refuses it.
    """

    texts: tuple[Text, ...]
    refused: str | None


Statements: TypeAlias = Mapping[str, Said]


@lru_cache
def statements_of(ledger: str, types: tuple[str, str, str]) -> Statements:
    """
    Return the catalogue of a ledger with the database's own names of the *types* (see `types_of`).
    """
    return {
        name: Said(tuple(_ready(one, ledger, types) for one in statement.texts), statement.refused)
        for name, statement in catalogue(DIALECT, ledger).items()
    }


def types_of(dialect: Dialect) -> tuple[str, str, str]:
    """
    Return what a database calls a 64-bit integer, a text of up to {} characters, and a text of any length.
    """
    # The number of characters is one that nothing else in the type's name could be.
    marked = _name(Unicode(9377), dialect).replace("9377", "{}")
    return _name(BigInteger(), dialect), marked, _name(UnicodeText(), dialect)


def _name(kind: TypeEngine[Any], dialect: Dialect) -> str:
    return str(kind.compile(dialect=dialect))


def typed(sql: str, types: tuple[str, str, str]) -> str:
    """
    Return *sql* with the database's own names of the three types that this dialect is written in.
    """
    integer, characters, long = types

    def named(found: re.Match[str]) -> str:
        if found["characters"]:
            return characters.format(found["characters"])
        return integer if found[0] == "bigint" else long

    return _TYPE.sub(named, sql)


def _ready(sql: str, ledger: str, types: tuple[str, str, str]) -> Text:
    names = tuple(dict.fromkeys(found["name"] for found in _PARAMETER.finditer(sql) if found["name"]))
    listed: Sequence[str] = sorted({found["name"] for found in _LIST.finditer(sql)})
    assert len(listed) <= 1, f"one list behind IN is what the engine can cut into pieces; got {listed}"
    of_base = sql.split()[:2] == ["UPDATE", f"{ledger}_base"]
    return Text(
        _page(sql, listed, types) if _PAGE.search(sql) else _plain(sql, listed, types),
        names,
        tuple(name for name in names if name.startswith(EACH)),
        listed[0] if listed else None,
        locks=of_base and LOCKS in sql,
        rebases=of_base and LOCKS not in sql,
    )


def _plain(sql: str, listed: Sequence[str], types: tuple[str, str, str]) -> Any:
    def spelt(found: re.Match[str]) -> str:
        return f":{found['name']}" if found["name"] else "%"

    spelling = _PARAMETER.sub(spelt, typed(sql, types))
    return text(spelling).bindparams(*(bindparam(name, expanding=True) for name in listed))


def _page(sql: str, listed: Sequence[str], types: tuple[str, str, str]) -> Executable:
    # LIMIT, TOP, FETCH FIRST, ROWS: each database has its own way to say how many, and SQLAlchemy knows it.
    page = _PAGE.search(sql)
    assert page is not None
    rows = _plain(sql[: page.start()], listed, types).columns().subquery("page")
    asked: Select[Any] = select(literal_column("*")).select_from(rows).order_by(text(page["order"]))
    return asked.limit(bindparam("rows_max"))
