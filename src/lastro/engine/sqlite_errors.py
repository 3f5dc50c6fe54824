"""
Errors of the sqlite3 module as errors of this library, by SQLite's result codes.
"""

from __future__ import annotations

import sqlite3

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

PRIMARY_CODE = 0xFF
# The sqlite3 module of Python 3.11 has no name for this one: a value of another type than its STRICT column's.
SQLITE_CONSTRAINT_DATATYPE = sqlite3.SQLITE_CONSTRAINT | 12 << 8
BROKEN = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)

_BY_CODE: dict[int, tuple[type[LastroError], str]] = {
    sqlite3.SQLITE_BUSY_SNAPSHOT: (
        SerializationLost,
        "somebody wrote after this transaction's first read: retry the whole transaction",
    ),
    sqlite3.SQLITE_BUSY: (LockTimeout, "the write lock was not granted in time; retry with the same key"),
    sqlite3.SQLITE_LOCKED: (LockTimeout, "a table is in use by a reader; retry with the same key"),
    sqlite3.SQLITE_FULL: (ServerUnavailable, "there is no room for this work on the disk; nothing was stored"),
    sqlite3.SQLITE_NOMEM: (ServerUnavailable, "there is no memory for this work; nothing was stored"),
    sqlite3.SQLITE_INTERRUPT: (ServerUnavailable, "the statement was interrupted; nothing was stored"),
    sqlite3.SQLITE_READONLY: (ServerUnavailable, "the database takes no writes: the file or its folder is read-only"),
    sqlite3.SQLITE_NOTADB: (Refusal, "the file is not a SQLite database"),
    sqlite3.SQLITE_CORRUPT: (Refusal, "the database file is damaged; restore it before anything else is posted"),
    sqlite3.SQLITE_AUTH: (Refusal, "the application's authorizer forbids what this call needs"),
    sqlite3.SQLITE_PERM: (Refusal, "the file's permissions forbid what this call needs"),
    sqlite3.SQLITE_TOOBIG: (InvalidInput, "the text is too long for this database"),
    sqlite3.SQLITE_CONSTRAINT_TRIGGER: (Refusal, "history is append-only"),
    sqlite3.SQLITE_CONSTRAINT_CHECK: (InvalidInput, "the database refused a row that breaks a rule of the ledger"),
    SQLITE_CONSTRAINT_DATATYPE: (AmountOutOfRange, "a balance would leave the 64-bit range"),
}
# What the ledger's own triggers raise has one code, and only its words tell what.
_BY_TRIGGER: dict[str, tuple[type[LastroError], str]] = {
    "period closed": (PeriodClosed, "the books are closed for that moment"),
    "kind refused": (KindNotAllowed, "the kind of transfer may not stand between these accounts, or not undo that one"),
}
# SQLITE_ERROR says everything else, and only its words tell what.
_BY_WORDS: dict[str, tuple[type[LastroError], str]] = {
    "integer overflow": (AmountOutOfRange, "a sum would leave the 64-bit range"),
    "no such table": (
        SchemaOutdated,
        "the ledger's tables are not there: run `lastro migrate` (or ledger.migrate())",
    ),
    "no such column": (
        SchemaOutdated,
        "the ledger's tables are of another version than this code: run `lastro migrate`",
    ),
    "no such savepoint": (NotInTransaction, "the transaction was rolled back by SQLite; nothing was stored"),
    "Could not decode to UTF-8": (UnreadableRow, "a stored text is no UTF-8"),
    "closed database": (ConnectionLost, "the connection is closed; nothing was stored"),
    "created in a thread": (InvalidInput, "the connection belongs to another thread: post from that one"),
}


def translated(error: Exception, *, ambiguous: bool) -> LastroError:
    """
    Return the error of this library for an *error* of the sqlite3 module.

    *ambiguous* says that a COMMIT was handed to SQLite: where the file can't be reached then, only the next look at it
    tells whether it was stored.
    """
    if isinstance(error, OverflowError):
        return AmountOutOfRange(f"a number leaves the 64-bit range ({error})")
    code = getattr(error, "sqlite_errorcode", None) or 0
    if code & PRIMARY_CODE in BROKEN:
        if ambiguous:
            return OutcomeUnknown(
                "the file failed while the work was being committed; "
                f"the same call with the same key finds out ({error})"
            )
        return ConnectionLost(f"the database can't be reached; nothing was stored ({error})")
    by_trigger = next((found for words, found in _BY_TRIGGER.items() if str(error).startswith(words)), None)
    by_code = by_trigger or _BY_CODE.get(code) or _BY_CODE.get(code & PRIMARY_CODE)
    by_words = next((found for words, found in _BY_WORDS.items() if words in str(error)), None)
    kind, sentence = by_code or by_words or (LastroError, "the database refused a statement")
    if kind is UnreadableRow:
        return UnreadableRow(f"{sentence} ({error})", column=None)
    return kind(f"{sentence} ({error})", sqlite=getattr(error, "sqlite_errorname", None))


def is_busy(error: sqlite3.Error) -> bool:
    """
    Say whether waiting may help: somebody else writes, and this transaction hasn't read what that changes.
    """
    code = getattr(error, "sqlite_errorcode", None) or 0
    return code & PRIMARY_CODE == sqlite3.SQLITE_BUSY and code != sqlite3.SQLITE_BUSY_SNAPSHOT
