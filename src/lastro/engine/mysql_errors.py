"""
The errors of MySQL's drivers as errors of this library, by the server's number.
"""

from __future__ import annotations

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
)

DRIVERS = ("pymysql", "asyncmy", "aiomysql", "MySQLdb")
UNKNOWN_DATABASE = 1049
NULL_REFUSED = 1048
# What the ledger's own triggers raise.
KIND_REFUSED = 31401
PERIOD_REFUSED = 31402
# Nobody answered, or the connection broke: 2013 and its kin say nothing about a COMMIT that was under way.
_BROKEN = frozenset(
    {0, 1053, 1077, 1079, 1080, 1158, 1159, 1160, 1161, 1184, 1927, 2002, 2003, 2005, 2006, 2013, 2055, 4031}
)

_NO_ROOM = (ServerUnavailable, "the server has no room for this work (connections, memory or disk)")
_NO_RIGHT = (Refusal, "the database role lacks a right that this call needs")
_NO_WRITES = (ServerUnavailable, "the server takes no writes (a replica?): connect to the primary")
_ENDED = (ServerUnavailable, "the statement was cancelled or ran into a time limit; nothing was stored")
_NO_TABLES = (SchemaOutdated, "the ledger's tables are not there: run `lastro migrate` (or ledger.migrate())")
_OTHER_TABLES = (SchemaOutdated, "the ledger's tables are of another version than this code: run `lastro migrate`")
_NO_ROW = (InvalidInput, "the database refused a row that breaks a rule of the ledger")
_NO_TEXT = (InvalidInput, "the text can't be stored in this database's encoding")
_TOO_LARGE = (AmountOutOfRange, "a balance would leave the 64-bit range")
_BEHIND = (SerializationLost, "a concurrent transaction got in between: retry the whole transaction")

_BY_NUMBER: dict[int, tuple[type[LastroError], str]] = {
    1205: (LockTimeout, "a lock was not granted in time; retry with the same key"),
    3572: (LockTimeout, "a lock was not granted in time; retry with the same key"),
    1213: (SerializationLost, "a deadlock was broken at our cost: retry the whole transaction"),
    # A deadlock over the counter of ids comes as a failure to read it; InnoDB has rolled the transaction back as well.
    1467: (SerializationLost, "a deadlock was broken at our cost: retry the whole transaction"),
    1020: _BEHIND,
    1614: _BEHIND,
    1305: (NotInTransaction, "the transaction ended before this call was done: begin one, then post in it"),
    1044: _NO_RIGHT,
    1142: _NO_RIGHT,
    1143: _NO_RIGHT,
    1227: _NO_RIGHT,
    1370: _NO_RIGHT,
    1045: (Refusal, "the database refused the login"),
    1698: (Refusal, "the database refused the login"),
    1130: (Refusal, "the database refused the login"),
    1049: _NO_TABLES,
    1146: _NO_TABLES,
    1054: _OTHER_TABLES,
    1136: _OTHER_TABLES,
    1364: _OTHER_TABLES,
    1264: _TOO_LARGE,
    1690: _TOO_LARGE,
    1366: _NO_TEXT,
    1300: _NO_TEXT,
    1406: (InvalidInput, "a text is longer than the database keeps it"),
    1292: (InvalidInput, "a moment or number can't be stored in this database"),
    4025: _NO_ROW,
    3819: _NO_ROW,
    NULL_REFUSED: _NO_ROW,
    1644: (Refusal, "history is append-only"),
    KIND_REFUSED: (KindNotAllowed, "the kind of transfer may not stand between these accounts, or not undo that one"),
    PERIOD_REFUSED: (PeriodClosed, "the books are closed for that moment"),
    1290: _NO_WRITES,
    1792: _NO_WRITES,
    1836: _NO_WRITES,
    1317: _ENDED,
    1969: _ENDED,
    3024: _ENDED,
    1021: _NO_ROOM,
    1037: _NO_ROOM,
    1040: _NO_ROOM,
    1041: _NO_ROOM,
    1114: _NO_ROOM,
    1203: _NO_ROOM,
    1206: _NO_ROOM,
    1226: _NO_ROOM,
}


def is_drivers(error: BaseException) -> bool:
    """
    Say whether *error* is one of a driver's, or the operating system's on the way to the server.
    """
    return isinstance(error, OSError) or any(
        kind.__module__.partition(".")[0] in DRIVERS for kind in type(error).__mro__
    )


def translated(error: BaseException, *, ambiguous: bool, connecting: bool = False) -> LastroError:
    """
    Return the error of this library for a driver's *error*.

    *ambiguous* says that a COMMIT was handed to the driver: where the connection broke then, nobody knows whether it
    was stored.
    """
    number = number_of(error)
    if is_broken(error):
        return _broken(error, ambiguous=ambiguous)
    if connecting and number == UNKNOWN_DATABASE:
        return Refusal(f"there is no such database ({_said(error)})", errno=number)
    kind, sentence = _BY_NUMBER.get(number, (LastroError, "the database refused a statement"))
    return kind(f"{sentence} ({_said(error)})", errno=number)


def is_broken(error: BaseException) -> bool:
    """
    Say whether the connection broke, so that nobody knows what became of what was sent last.
    """
    return isinstance(error, OSError) or number_of(error) in _BROKEN


def number_of(error: BaseException) -> int:
    """
    Return the server's number of a driver's error; 0 where it has none, which is how drivers say "not connected".
    """
    first = error.args[0] if error.args else 0
    return first if isinstance(first, int) else 0


def _broken(error: BaseException, *, ambiguous: bool) -> LastroError:
    if ambiguous:
        return OutcomeUnknown(
            "the connection broke after the work was sent and before an answer came; "
            f"the same call with the same key finds out ({_said(error)})"
        )
    return ConnectionLost(f"the database can't be reached; nothing was stored ({_said(error)})")


def _said(error: BaseException) -> str:
    text = str(error.args[1]) if len(error.args) > 1 else str(error)
    return text.strip().split("\n", 1)[0]
