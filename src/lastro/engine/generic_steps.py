"""
A plan's steps on a SQLAlchemy connection: one statement after the other, in whatever transaction it is in.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, NestedTransaction, inspect, text
from sqlalchemy.exc import DBAPIError

from lastro.engine.generic_text import DIALECT, Said, Statements, Text, statements_of, typed, types_of
from lastro.engine.generic_values import IDS, adapted, as_row, copied, drawn_gap, fresh_account_id, plain
from lastro.errors import InvalidInput, LockTimeout
from lastro.plans.plan import Row, Rows, Step
from lastro.sql.catalogue import texts_of

__all__ = ["DIALECT", "Steps"]

# So many values stand behind one IN; databases take a thousand, or two.
LISTED_MAX = 500
# What a migrator asks before the ledger has a table to ask.
BEFORE_ANY_TABLE = ("schema.exists", "schema.lock", "schema.limit_lock_wait")
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
_MADE = re.compile(r"(?P<verb>CREATE|DROP) (?P<kind>TABLE|VIEW|INDEX) (?P<name>\w+)(?: ON (?P<table>\w+))?")


class Steps:
    """
    Executes the steps of one plan. Their parameters get the moment, the digests and the ids that standard SQL can't make.
    """

    def __init__(self, connection: Connection, ledger: str) -> None:
        self._connection = connection
        self._ledger = ledger
        self._types = types_of(connection.dialect)
        self._statements: Statements = statements_of(ledger, self._types)
        self._savepoints: list[NestedTransaction] = []
        self._newest_id = 0
        self._now = time.time_ns() // 1000

    def execute(self, step: Step) -> Rows:
        """Execute one step and return its rows: those of the last statement that has any."""
        if step.script is not None:
            self._make(step.script)
            return []
        said = self._statements[step.statement]
        _refuse(said, step, self._statements)
        match step.statement:
            case "session.savepoint":
                self._savepoints.append(self._connection.begin_nested())
            case "session.rollback_to_savepoint":
                self._savepoints[-1].rollback()
            case "session.release_savepoint":
                savepoint = self._savepoints.pop()
                if savepoint.is_active:
                    savepoint.commit()
            case name if name in BEFORE_ANY_TABLE and not self._has_tables():
                return [{"found": False}]
            case _:
                return self._say(said, step)
        return []

    def _has_tables(self) -> bool:
        return inspect(self._connection).has_table(f"{self._ledger}_version")

    def _say(self, said: Said, step: Step) -> Rows:
        if step.copied is not None:
            (one,) = said.texts
            names = [name for name in one.params if name != "key_digest"]
            self._connection.execute(one.statement, copied(names, step.copied))
            return []
        params = adapted(step.params, self._now) | {
            "fresh_id": fresh_account_id(),
            "drawn_id": IDS.drawn()[0],
            "drawn_gap": drawn_gap(),
            "newest_id": self._newest_id,
        }
        found: list[Row] | None = []
        for number, one in enumerate(said.texts, start=1):
            last = number == len(said.texts)
            rows = self._sent(one, params, last=last)
            if rows is None:
                continue
            found = rows
            if not rows:
                break
            # What one statement finds the next ones may use.
            params = {**rows[0], **params}
        decoded = [as_row(row) for row in found or []]
        return self._drawn(decoded, step) if step.statement == "batch.draw_ids" else decoded

    def _drawn(self, rows: list[dict[str, Any]], step: Step) -> Rows:
        ids = IDS.drawn(step.params["transfers"], above=max(row["ids"] for row in rows))
        self._newest_id = ids[-1]
        return [{**rows[0], "ids": ids}]

    def _sent(self, one: Text, params: Mapping[str, Any], *, last: bool) -> list[Row] | None:
        """
        Send one statement, as often as its lists ask for; None where it isn't one that returns rows.

        No row ends the step: a lock row that isn't there (any more), or what the statement looked for, each time that it
        was sent, where others are to follow. A balance that can't be written is an error.
        """
        found: list[Row] = []
        returns = False
        for bound in _pieces(one, params):
            result = self._connection.execute(one.statement, bound)
            if not result.returns_rows:
                # Drivers that can't count say -1.
                if result.rowcount == 0 and one.rebases:
                    raise _unlocked()
                if result.rowcount == 0 and one.locks:
                    return []
                continue
            returns = True
            rows = [_raw(row) for row in result.mappings()]
            if not rows and not last:
                return []
            found += rows
        return found if returns or last else None

    def _make(self, script: str) -> None:
        # Each by itself and committed at once, for not every database takes such a statement back, or shows what it
        # made to the transaction that made it. What is there already (or gone) is left out, so that a script that broke
        # off goes on where it did.
        for sql in texts_of(_COMMENT.sub("", script)):
            made = _MADE.match(sql)
            assert made, f"a script of this dialect makes and drops things one by one; got {sql[:60]!r}"
            if self._is_there(made) == (made["verb"] == "DROP"):
                try:
                    self._connection.execute(text(typed(sql, self._types)))
                    self._connection.commit()
                except DBAPIError:
                    self._connection.rollback()
                    if self._is_there(made) == (made["verb"] == "DROP"):
                        raise
            self._connection.rollback()

    def _is_there(self, made: re.Match[str]) -> bool:
        known = inspect(self._connection)
        match made["kind"]:
            case "TABLE":
                return known.has_table(made["name"])
            case "VIEW":
                return made["name"] in known.get_view_names()
            case _:
                return made["name"] in [index["name"] for index in known.get_indexes(made["table"])]


def _refuse(said: Said, step: Step, statements: Statements) -> None:
    # An account is kept hot only where postings to a hot account can be said.
    why = statements["posting.post_to_hot"].refused if step.params.get("keeping") == "hot" else said.refused
    if why:
        raise InvalidInput(f"this database can't do that: {why}", argument="ledger")


def _unlocked() -> LockTimeout:
    return LockTimeout(
        "the lock row of an account could not be updated, so the payment was stopped and nothing was written: "
        "look whether the row is there and whether this role may update it"
    )


def _pieces(one: Text, params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    own = {name: params[name] for name in one.params}
    if one.each:
        for values in zip(*(own[name] for name in one.each), strict=True):
            yield own | dict(zip(one.each, values, strict=True))
        return
    if one.listed is None:
        yield own
        return
    # An empty list can't stand behind IN everywhere; a NULL there is equal to nothing.
    listed = own[one.listed] or [None]
    for start in range(0, len(listed), LISTED_MAX):
        yield own | {one.listed: listed[start : start + LISTED_MAX]}


def _raw(row: Mapping[Any, Any]) -> dict[str, Any]:
    # Databases that fold names to upper case, and words that some of them keep for themselves (`key_`).
    return {str(column).lower().rstrip("_"): plain(value) for column, value in row.items()}
