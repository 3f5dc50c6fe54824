"""
Errors that SQLAlchemy raises, whatever the database, as errors of this library: by SQLSTATE, else by their words.
"""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    InvalidRequestError,
    NoSuchModuleError,
    PendingRollbackError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from lastro.errors import (
    AmountOutOfRange,
    ConnectionLost,
    InvalidInput,
    KeyRaceLost,
    LastroError,
    LockTimeout,
    NotInTransaction,
    OutcomeUnknown,
    SchemaOutdated,
    SerializationLost,
)

_SQLSTATE = re.compile(r"[0-9A-Z]{5}")
KEY_RACE = (
    "another transaction wrote the same key (or opened the same account) at the same moment, and was first; this "
    "database can only be told by a plain INSERT, so its uniqueness error comes to you. Nothing of this call was "
    "stored: make the same call again (in a transaction of your own: begin it anew), which finds what the other wrote"
)
_RETRY = "the transaction met a concurrent one it can't be ordered with: retry the whole transaction"
_WAITED = "a lock was not granted in time; retry with the same key"
_TABLES = "the ledger's tables are not there, or of another version than this code: run `lastro migrate`"
_RANGE = "a number leaves the range of the database's 64 bits"

# By SQLSTATE where the driver tells one; 23000 is every violation, and its words tell which.
_BY_STATE: dict[str, tuple[type[LastroError], str]] = {
    "23505": (KeyRaceLost, KEY_RACE),
    "23514": (InvalidInput, "the database refused a row that breaks a rule of the ledger"),
    "40001": (SerializationLost, _RETRY),
    "40P01": (SerializationLost, _RETRY),
    "55P03": (LockTimeout, _WAITED),
    "HYT00": (LockTimeout, _WAITED),
    "22003": (AmountOutOfRange, _RANGE),
    "42S02": (SchemaOutdated, _TABLES),
    "42P01": (SchemaOutdated, _TABLES),
    "25P02": (NotInTransaction, "the transaction has already failed and can only be rolled back; nothing was written"),
}
# In this order: a message may hold words of several.
_BY_WORDS: tuple[tuple[str, type[LastroError], str], ...] = (
    (r"\bcheck\b", InvalidInput, "the database refused a row that breaks a rule of the ledger"),
    (r"unique|duplicate|primary key", KeyRaceLost, KEY_RACE),
    (r"lock ?(wait)? ?time-?out|lock conflict|database is locked|no wait", LockTimeout, _WAITED),
    (r"deadlock|serializ|update conflict|concurrent update|can't serialize", SerializationLost, _RETRY),
    (r"overflow|out of range", AmountOutOfRange, _RANGE),
    (r"no such table|table unknown|unknown table|invalid object name|does not exist", SchemaOutdated, _TABLES),
)


def translated(error: Exception, *, ambiguous: bool) -> LastroError:
    """
    Return the error of this library for one of SQLAlchemy's.

    *ambiguous* says that a COMMIT was handed to the driver: where the connection broke then, only the same key tells
    whether it was stored.
    """
    if isinstance(error, OverflowError):
        return AmountOutOfRange(f"{_RANGE} ({error})")
    if isinstance(error, PoolTimeoutError):
        return ConnectionLost(f"no database connection could be had in time; nothing was stored ({error})")
    if isinstance(error, PendingRollbackError):
        return NotInTransaction(
            f"the transaction on this connection has already failed and can only be rolled back ({error})"
        )
    if isinstance(error, DBAPIError):
        return _of_driver(error, ambiguous=ambiguous)
    if isinstance(error, ArgumentError | NoSuchModuleError | InvalidRequestError):
        return InvalidInput(f"SQLAlchemy can't use what it was given ({error})", argument="url")
    return LastroError(f"SQLAlchemy refused ({error})")


def _of_driver(error: DBAPIError, *, ambiguous: bool) -> LastroError:
    words = str(error.orig)
    if error.connection_invalidated:
        if ambiguous:
            return OutcomeUnknown(
                "the connection broke while the work was being committed; the same call with the same key finds out "
                f"({words})"
            )
        return ConnectionLost(f"the connection broke; nothing was stored ({words})")
    state = _sqlstate(error.orig)
    kind, sentence = _BY_STATE.get(state or "") or _by_words(error, words)
    return kind(f"{sentence} ({words})", sqlstate=state)


def _by_words(error: DBAPIError, words: str) -> tuple[type[LastroError], str]:
    for pattern, kind, sentence in _BY_WORDS:
        if re.search(pattern, words, re.IGNORECASE):
            return kind, sentence
    if isinstance(error, IntegrityError):
        # What is written was checked before; what is left is a key that a rival took.
        return KeyRaceLost, KEY_RACE
    return LastroError, "the database refused a statement"


def _sqlstate(orig: Any) -> str | None:
    arguments = getattr(orig, "args", ())
    for given in (getattr(orig, "sqlstate", None), getattr(orig, "pgcode", None), *arguments[:1]):
        if isinstance(given, str) and _SQLSTATE.fullmatch(given):
            return given
    return None


__all__ = ["SQLAlchemyError", "translated"]
