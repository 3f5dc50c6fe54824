"""
Driver errors as errors of this library, by SQLSTATE.
"""

from __future__ import annotations

import re

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from lastro.errors import (
    AmountOutOfRange,
    ConnectionLost,
    InvalidInput,
    KindNotAllowed,
    LastroError,
    LockTimeout,
    NotInTransaction,
    OutcomeUnknown,
    PeriodClosed,
    Refusal,
    SchemaOutdated,
    SerializationLost,
    ServerUnavailable,
    UnreadableRow,
)

_POOLED = (Refusal, "a pooler has no such prepared statement here: connect with prepared=False; nothing was stored")
# What the ledger's own triggers raise.
KIND_REFUSED = "23L01"
PERIOD_REFUSED = "23L02"

_BY_STATE: dict[str, tuple[type[LastroError], str]] = {
    "40001": (SerializationLost, "a concurrent transaction got in between: retry the whole transaction"),
    "40P01": (SerializationLost, "a deadlock was broken at our cost: retry the whole transaction"),
    "55P03": (LockTimeout, "a lock was not granted in time; retry with the same key"),
    "57014": (ServerUnavailable, "the statement was cancelled or ran into statement_timeout; nothing was stored"),
    "25006": (ServerUnavailable, "the server takes no writes (a standby?): connect to the primary"),
    "25P02": (NotInTransaction, "the transaction has failed before this call: roll it back first"),
    "25P03": (ConnectionLost, "the transaction was idle for too long and the server ended it; nothing was stored"),
    "25P04": (ConnectionLost, "the transaction took too long and the server ended it; nothing was stored"),
    "26000": _POOLED,
    "42P05": _POOLED,
    "42P01": (SchemaOutdated, "the ledger's tables are not there: run `lastro migrate` (or ledger.migrate())"),
    "3F000": (SchemaOutdated, "the ledger's schema is not there: run `lastro migrate` (or ledger.migrate())"),
    "42703": (SchemaOutdated, "the ledger's tables are of another version than this code: run `lastro migrate`"),
    "42883": (SchemaOutdated, "the ledger's schema is of another version than this code: run `lastro migrate`"),
    "42501": (Refusal, "the database role lacks a right that this call needs"),
    "22003": (AmountOutOfRange, "a balance would leave the 64-bit range"),
    "22021": (InvalidInput, "the text can't be stored in this database's encoding"),
    "22P05": (InvalidInput, "the text can't be stored in this database's encoding"),
    "23001": (Refusal, "history is append-only"),
    KIND_REFUSED: (KindNotAllowed, "the kind of transfer may not stand between these accounts, or not undo that one"),
    PERIOD_REFUSED: (PeriodClosed, "the books are closed for that moment"),
    "23514": (InvalidInput, "the database refused a row that breaks a rule of the ledger"),
}
_BY_CLASS: dict[str, tuple[type[LastroError], str]] = {
    "08": (ConnectionLost, "the connection broke; nothing was stored"),
    "53": (ServerUnavailable, "the server has no room for this work (connections, memory or disk)"),
    "57": (ConnectionLost, "the server is shutting down or was restarted; nothing was stored"),
    "28": (Refusal, "the database refused the login"),
    "3D": (Refusal, "there is no such database"),
}


# What a server says before there is a session comes without an SQLSTATE; these won't change by trying again.
_REFUSED_LOGIN = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|(?:role|database) \".*\" does not exist"
)


def translated(error: Exception, *, ambiguous: bool) -> LastroError:
    """
    Return the error of this library for a driver's *error*.

    *ambiguous* says that a COMMIT (or a statement that is its own transaction) was handed to the driver: where the
    connection broke then, nobody knows whether it was stored.
    """
    state = getattr(error, "sqlstate", None)
    if isinstance(error, PoolTimeout | PoolClosed):
        return ConnectionLost(f"no database connection could be had: {error}")
    if state is None and isinstance(error, psycopg.DataError):
        return UnreadableRow(f"a stored value can't be read: {error}", column=None)
    if state is None and isinstance(error, psycopg.OperationalError) and _REFUSED_LOGIN.search(str(error)):
        return Refusal(f"the database refused the login ({_first_line(error)})")
    if state is None and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return _broken(error, ambiguous=ambiguous)
    kind, sentence = _BY_STATE.get(state or "") or _BY_CLASS.get(
        (state or "")[:2], (LastroError, "the database refused a statement")
    )
    if kind is ConnectionLost and ambiguous:
        return _broken(error, ambiguous=True)
    return kind(f"{sentence} ({_first_line(error)})", sqlstate=state)


def _broken(error: Exception, *, ambiguous: bool) -> LastroError:
    if ambiguous:
        return OutcomeUnknown(
            "the connection broke after the work was sent and before an answer came; "
            f"the same call with the same key finds out ({_first_line(error)})"
        )
    return ConnectionLost(f"the database can't be reached; nothing was stored ({_first_line(error)})")


def _first_line(error: Exception) -> str:
    # The lines after the first quote the statement and its values: what a customer wrote doesn't belong in a log.
    return str(error).strip().split("\n", 1)[0]
