"""
A plan's step as SQLite says it: one statement after the other, ended by the first that returns nothing where it might.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from lastro.engine.sqlite_values import adapted, as_rows, copied
from lastro.errors import InvalidInput
from lastro.plans.plan import Rows, Step
from lastro.sql.catalogue import Statement, catalogue, with_names

DIALECT = "sqlite"
Statements: TypeAlias = Mapping[str, Statement]
_PARAMETER = re.compile(r"%\((?P<name>\w+)\)s|%%")
_NAME = re.compile(r":(\w+)")


class Call(NamedTuple):
    """
    One statement to hand to the driver, with its parameters; `many` has one set of them a row instead.
    """

    text: str
    params: Mapping[str, Any]
    many: Iterable[Mapping[str, Any]] | None = None


class Answer(NamedTuple):
    """
    What the driver gave back: no columns from a statement that returns nothing by its nature.
    """

    columns: Sequence[str] | None
    rows: Sequence[Sequence[Any]]


Calls: TypeAlias = Generator[Call, Answer, Rows]


@lru_cache
def statements_of(ledger: str) -> Statements:
    """
    Return the catalogue of a ledger with its parameters spelt as SQLite does.
    """

    def spelt(found: re.Match[str]) -> str:
        return f":{found['name']}" if found["name"] else "%"

    return {
        name: statement._replace(texts=tuple(_PARAMETER.sub(spelt, text) for text in statement.texts))
        for name, statement in catalogue(DIALECT, ledger).items()
    }


def calls_of(statements: Statements, step: Step, now: int) -> Calls:
    """
    Yield the statements of one step, receive their answers, and return the step's rows: those of the last that has any.

    A statement that could return rows and returns none ends the step: it is an INSERT that met its key.
    """
    if step.script is not None:
        for text in script_texts(step.script):
            yield Call(text, {})
        return []
    statement = statements[step.statement]
    if statement.refused:
        raise InvalidInput(f"this database can't do that: {statement.refused}", argument="ledger")
    if step.copied is not None:
        yield Call(statement.text, {}, copied(_values_of(statement.text), step.copied))
        return []
    params = adapted(step.params, now)
    rows: Rows = []
    for text in statement.texts:
        columns, found = yield Call(with_names(text, step.own, dialect=DIALECT), params)
        if columns is not None:
            rows = as_rows(columns, found)
            if not rows:
                break
    return rows


def execute(cursor: sqlite3.Cursor, calls: Calls) -> Rows:
    """
    Make the calls on a cursor and return the step's rows.
    """
    try:
        call = next(calls)
        while True:
            call = calls.send(answer(cursor, call))
    except StopIteration as done:
        rows: Rows = done.value
        return rows


def answer(cursor: sqlite3.Cursor, call: Call) -> Answer:
    """
    Make one call.
    """
    if call.many is not None:
        cursor.executemany(call.text, call.many)
        return Answer(None, [])
    cursor.execute(call.text, call.params)
    if cursor.description is None:
        return Answer(None, [])
    return Answer([column[0] for column in cursor.description], cursor.fetchall())


def script_texts(script: str) -> list[str]:
    """
    Return the statements of a script; executescript() would commit the transaction first.
    """
    texts, text = [], ""
    for piece in script.split(";"):
        text += piece + ";"
        if sqlite3.complete_statement(text):
            texts.append(text)
            text = ""
    return texts


def _values_of(text: str) -> list[str]:
    return _NAME.findall(text)
