"""
Up to which transfer a ledger's history is settled: every lower id is there, or never will be.

Ids are given out before their transactions commit, so a history that is read up to the newest id may still get older
ones. The newest id becomes the settled one when all transactions that were open as it was read have ended; a long one
holds nothing up but the bound, and the next round looks again.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Final, NamedTuple

from lastro.errors import LockTimeout, Refusal
from lastro.model.limits import RECONCILIATION_LOOKS_MAX
from lastro.plans.course import Act, Course, Pause
from lastro.plans.patience import still_under_way
from lastro.plans.plan import Effect, Plan, Rows, step

PAUSE_MS: Final = 25


class State(NamedTuple):
    """
    How far reconciliation has come. `waits_for` are the transactions that must end before `candidate_id` is settled.
    `newest_id` was the newest transfer as the round began: what lies above it is the next round's.
    """

    checked_id: int
    settled_id: int
    newest_id: int
    candidate_id: int | None
    waits_for: frozenset[str]


def settle() -> Course[State]:
    """
    Move the settled bound on as far as it goes within a moment, and return how far it has come.
    """
    state: State = yield Act(_state, Effect.READ)
    try:
        if state.candidate_id is not None:
            # What an earlier round waited for is over, as a rule.
            state = yield from _awaited(state, looks=1)
        if state.candidate_id is None:
            state = yield from _candidate(state)
            state = yield from _awaited(state, looks=RECONCILIATION_LOOKS_MAX)
    except (LockTimeout, Refusal):
        # On MariaDB somebody else reads the list of transactions all the time, or this login may not. The bound stays
        # where it is: what lies above it is read again by every round, and nothing is missed.
        pass
    newest_id: int = yield Act(_reached, Effect.READ)
    return state._replace(newest_id=newest_id)


def _candidate(state: State) -> Course[State]:
    # In this order: who was given an id up to this one has ended or is among those that are open afterwards.
    candidate_id: int = yield Act(_reached, Effect.READ)
    found: Rows = yield Act(_under_way, Effect.READ)
    waits_for = frozenset(row["transaction"] for row in found)
    yield Act(partial(_note_candidate, candidate_id, waits_for))
    return state._replace(candidate_id=candidate_id, waits_for=waits_for)


def _awaited(state: State, *, looks: int) -> Course[State]:
    assert state.candidate_id is not None, "something is waited for"
    waits_for = state.waits_for
    for _ in range(looks):
        if not waits_for:
            break
        yield Pause(PAUSE_MS)
        found: Rows = yield Act(_under_way, Effect.READ)
        waits_for = frozenset(row["transaction"] for row in still_under_way(waits_for, found))
    if waits_for:
        return state
    yield Act(partial(_settle, state.candidate_id))
    settled_id = max(state.settled_id, state.candidate_id)
    return state._replace(settled_id=settled_id, candidate_id=None, waits_for=frozenset())


def _state() -> Plan[State]:
    row = (yield step("reconciling.state"))[0]
    waits_for = frozenset(json.loads(row["waits_for"] or "[]"))
    return State(row["checked_id"], row["settled_id"], 0, row["candidate_id"], waits_for)


def _reached() -> Plan[int]:
    last_id: int = (yield step("reconciling.reached"))[0]["last_id"]
    return last_id


def _under_way() -> Plan[Rows]:
    return (yield step("keeping.under_way"))


def _note_candidate(candidate_id: int, waits_for: frozenset[str]) -> Plan[None]:
    yield step("reconciling.note_candidate", candidate_id=candidate_id, waits_for=json.dumps(sorted(waits_for)))


def _settle(candidate_id: int) -> Plan[None]:
    yield step("reconciling.settle", candidate_id=candidate_id)
