"""
Readings of sessions: how busy they are, what they wait for and behind whom, the oldest transactions.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from lastro.doctor.probe import ROWS_MAX, SLOWLY_S, Look, Probe, named, who
from lastro.doctor.readings import Reading
from lastro.plans.plan import Row, Rows

QUERY_CHARACTERS_MAX: Final = 200
# pg_blocking_pids is asked for so many waiters at most.
WAITERS_MAX: Final = 50
TRANSACTIONS_TOLD_MAX: Final = 5
BLOCKERS_TOLD_MAX: Final = 3
# A chain of waits is followed so far: each waiter of a row waits for the one before it.
CHAIN_MAX: Final = 100
IDLE_IN_TRANSACTION: Final = "idle in transaction"
OF_A_TRANSACTION: Final = "rows that a transaction holds"
BASE_ROWS: Final = ".base"


def connections(rows: Rows, _: Look) -> Iterable[Reading]:
    """How many connections there are, of how many."""
    row = rows[0]
    yield Reading("connections", row["connections"], "connections", detail={"max": row["connections_max"]})


def sessions(rows: Rows, look: Look) -> Iterable[Reading]:
    """How many work, wait and idle in a transaction; what they wait for; and the oldest transactions."""
    here = [row for row in rows if row["here"] and row["kind"] == "client backend"]
    trouble = None if look.moment["sees_sessions"] else "other roles' sessions are hidden: GRANT pg_monitor"
    yield Reading("sessions_busy", len(here), "sessions", trouble=trouble)
    yield Reading("sessions_waiting", sum(row["wait_event_type"] == "Lock" for row in here), "sessions")
    idle = [row for row in here if row["state"].startswith(IDLE_IN_TRANSACTION)]
    yield Reading("sessions_idle_in_transaction", len(idle), "sessions")
    events = Counter(f"{row['wait_event_type']}:{row['wait_event']}" for row in here if row["wait_event_type"])
    for event, count in sorted(events.items()):
        yield Reading("wait_event", count, "sessions", event)
    old = sorted(
        (row for row in rows if row["transaction_age_s"] is not None), key=lambda row: -row["transaction_age_s"]
    )
    for row in old[:TRANSACTIONS_TOLD_MAX]:
        yield Reading("transaction_age", row["transaction_age_s"], "s", _name(row), _told(row))


def lock_waits(rows: Rows, look: Look) -> Iterable[Reading]:
    """How many wait for each row or table, and how many wait behind each session that waits for nobody itself."""
    by_pid = {row["pid"]: row for row in look.rows.get("sessions", ())}
    waits = _waits(rows)
    of_subject: dict[str, list[_Wait]] = defaultdict(list)
    of_root: dict[int, list[_Wait]] = defaultdict(list)
    for wait in waits:
        of_subject[wait.subject].append(wait)
        for root in wait.roots:
            of_root[root].append(wait)
    for subject, waiting in sorted(of_subject.items()):
        first = waiting[0].row
        roots = sorted({root for wait in waiting for root in wait.roots})[:BLOCKERS_TOLD_MAX]
        told = {name: first[name] for name in ("account", "currency", "keeping", "relation")}
        blockers = [_session(by_pid, root) for root in roots]
        detail = told | {"longest_s": _longest_s(waiting), "blockers": blockers}
        yield Reading("lock_waits", len(waiting), "sessions", subject, detail)
    for root, waiting in sorted(of_root.items()):
        session = _session(by_pid, root)
        subjects = sorted({wait.subject for wait in waiting})
        detail = session | {"pid": root, "subjects": subjects, "longest_s": _longest_s(waiting)}
        yield Reading("blocking", len(waiting), "sessions", session["session"], detail)


def prepared(rows: Rows, _: Look) -> Iterable[Reading]:
    """The age of transactions that were prepared for a second phase."""
    for row in rows:
        yield Reading(
            "transaction_age",
            row["transaction_age_s"],
            "s",
            f"prepared {row['name']}",
            {"state": "prepared", "role": row["role"]},
        )


def somebody_waits(look: Look) -> bool:
    """Say whether a session was seen waiting for a lock."""
    return any(row["wait_event_type"] == "Lock" and row["here"] for row in look.rows.get("sessions", ()))


def _in_a_line(query: str | None) -> str:
    return " ".join((query or "").split())


def _name(row: Row) -> str:
    return who(row["application"], row["role"], row["pid"])


def _told(row: Row) -> dict[str, Any]:
    return {
        "pid": row["pid"],
        "application": row["application"],
        "role": row["role"],
        "kind": row["kind"],
        "state": row["state"],
        "state_age_s": row["state_age_s"],
        "holds_back_transactions": row["holds_back_transactions"],
        "query": _in_a_line(row["query"]),
    }


def _session(by_pid: Mapping[int, Row], pid: int) -> dict[str, Any]:
    row = by_pid.get(pid)
    if row is None:
        # Gone by now, or a prepared transaction, which has no session (pid 0).
        return {
            "session": "a prepared transaction" if pid == 0 else f"pid {pid}",
            "state": "",
            "state_age_s": None,
            "age_s": None,
        }
    return {
        "session": _name(row),
        "application": row["application"],
        "state": row["state"],
        "state_age_s": row["state_age_s"],
        "age_s": row["transaction_age_s"],
        "query": _in_a_line(row["query"]),
    }


def is_unnamed(subject: str) -> bool:
    """Say whether a wait is for a row of which only the holder is known, or the table: a waiter that went on to a row's
    newest version waits for the transaction that wrote it, and holds no lock of the row's place.
    """
    return subject == OF_A_TRANSACTION or subject.endswith(BASE_ROWS)


class _Wait(NamedTuple):
    row: Row
    subject: str
    roots: frozenset[int]


def _waits(rows: Rows) -> list[_Wait]:
    """Each wait with what it is for. Where that isn't known, it is what others wait for behind the same session, if that
    is one row.
    """
    behind = {row["pid"]: _pids(row["blockers"]) for row in rows}
    waits = [_Wait(row, _subject(row), frozenset(_roots(row["pid"], behind))) for row in rows]
    known: dict[int, dict[str, Row]] = defaultdict(dict)
    for wait in waits:
        for root in wait.roots:
            if not is_unnamed(wait.subject):
                known[root][wait.subject] = wait.row
    return [_named_by_neighbours(wait, known) if is_unnamed(wait.subject) else wait for wait in waits]


def _pids(blockers: list[int] | str | None) -> list[int]:
    """A store without lists says them as JSON."""
    return json.loads(blockers) if isinstance(blockers, str) else list(blockers or ())


def _named_by_neighbours(wait: _Wait, known: Mapping[int, Mapping[str, Row]]) -> _Wait:
    named = {subject: row for root in wait.roots for subject, row in known.get(root, {}).items()}
    if len(named) != 1:
        return wait
    [(subject, row)] = named.items()
    return _Wait({**row, "pid": wait.row["pid"], "waited_s": wait.row["waited_s"]}, subject, wait.roots)


def _longest_s(waits: Iterable[_Wait]) -> float:
    return max(wait.row["waited_s"] or 0.0 for wait in waits)


def _subject(row: Row) -> str:
    if row["account"] is not None:
        return f"account {named(row['account'], row['currency'])}"
    if row["relation"]:
        return f"table {row['relation']}"
    return OF_A_TRANSACTION if row["kind"] == "transactionid" else f"a lock of kind {row['kind']}"


def _roots(pid: int, behind: Mapping[int, list[int]]) -> set[int]:
    """Who stands at the head of the queues that *pid* waits in."""
    roots, seen, ahead = set[int](), {pid}, list(behind.get(pid, ()))
    while ahead and len(seen) < CHAIN_MAX:
        blocker = ahead.pop()
        if blocker in seen:
            continue
        seen.add(blocker)
        if behind.get(blocker):
            ahead += behind[blocker]
        else:
            roots.add(blocker)
    return roots


PROBES: Final = (
    Probe("connections", "doctor_sessions.connections", connections),
    Probe(
        "sessions",
        "doctor_sessions.sessions",
        sessions,
        {"rows_max": ROWS_MAX, "query_characters_max": QUERY_CHARACTERS_MAX},
    ),
    Probe(
        "lock_waits",
        "doctor_sessions.lock_waits",
        lock_waits,
        {"rows_max": WAITERS_MAX},
        wanted=lambda look: look.moment["reads_ledger"] and somebody_waits(look),
    ),
    Probe(
        "lock_waits_unnamed",
        "doctor_sessions.lock_waits_unnamed",
        lock_waits,
        {"rows_max": WAITERS_MAX},
        wanted=lambda look: not look.moment["reads_ledger"] and somebody_waits(look),
    ),
    Probe("prepared", "doctor_sessions.prepared", prepared, {"rows_max": ROWS_MAX}, every_s=SLOWLY_S),
)
