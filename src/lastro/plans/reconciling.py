"""
Reconciling: what is stored of each account against its history and its holds, without a lock, where something moved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from lastro.errors import LockTimeout, Refusal, TransferConflict
from lastro.model.incident import Incident, IncidentRule, OnDrift, Reconciled
from lastro.model.limits import (
    BALANCE_MAX,
    RECONCILIATION_ACCOUNTS_MAX,
    RECONCILIATION_REST_MS_MAX,
    RECONCILIATION_SCANNED_MAX,
)
from lastro.plans.adjusting import adjust
from lastro.plans.comparing import look_at
from lastro.plans.course import Act, Course, Pause, Rest
from lastro.plans.drift import Drift, Look, described, drifts_of
from lastro.plans.incidents import Drifted, Noted, count_open, note_drift
from lastro.plans.plan import TOGETHER, Effect, Plan, step
from lastro.plans.settling import State, settle

# Told the accounts of each batch as soon as it is compared; False ends the round there.
AfterBatch: TypeAlias = Callable[[int], bool]
# Told of each incident that was opened, once it is committed.
OnIncident: TypeAlias = Callable[[Incident], None]
# Told where the key of an adjustment is taken by a transfer of somebody else's.
OnConflict: TypeAlias = Callable[[TransferConflict], None]

# Between the look that finds drift and the one that confirms it.
PAUSE_BEFORE_CONFIRMING_MS: Final = 20
# No account has an id below this one.
BEFORE_ALL: Final = -1


class Terms(NamedTuple):
    """
    What one round goes by: whether it adds up all of history, what it does about drift, how long it rests after each
    page and batch, in times of what they took, and whom it tells.
    """

    full: bool
    on_drift: OnDrift
    rest: float
    now: datetime | None
    on_incident: OnIncident
    on_conflict: OnConflict
    after_batch: AfterBatch | None = None


class _Page(NamedTuple):
    """Which accounts of a page are to be compared, of how many, and up to which id it went."""

    moved: list[int]
    scanned: int
    last_id: int


class _Batch(NamedTuple):
    """What became of a batch of accounts."""

    drifted: int = 0
    opened: int = 0
    adjusted: int = 0


def reconcile(terms: Terms) -> Course[Reconciled]:
    """
    Compare every account that moved since it last agreed (or all, in full), page by page, and note what differs.

    Each batch is read by one statement and noted in one transaction: a round that is killed has lost nothing, and the
    next one skips what it got done.
    """
    state = yield from settle()
    done = Reconciled(0, 0, 0, 0, 0, 0, complete=False)
    after_id = BEFORE_ALL
    while after_id < BALANCE_MAX:
        page: _Page = yield Act(partial(_moved, after_id, state, full=terms.full), Effect.READ)
        done = done._replace(skipped=done.skipped + max(0, page.scanned - len(page.moved)))
        yield from _rest(terms)
        for start in range(0, len(page.moved), RECONCILIATION_ACCOUNTS_MAX):
            account_ids = page.moved[start : start + RECONCILIATION_ACCOUNTS_MAX]
            batch = yield from _reconcile_batch(account_ids, state, terms)
            done = _added(done, batch, len(account_ids))
            if terms.after_batch is not None and not terms.after_batch(len(account_ids)):
                return done._replace(open_incidents=(yield Act(count_open, Effect.READ)))
            yield from _rest(terms)
        after_id = page.last_id
    yield Act(partial(_finish, state.settled_id, now=terms.now))
    return done._replace(open_incidents=(yield Act(count_open, Effect.READ)), complete=True)


def _rest(terms: Terms) -> Course[None]:
    # Whatever slows the round down, others feel as well: it rests the longer.
    if terms.rest:
        yield Rest(terms.rest, RECONCILIATION_REST_MS_MAX)


def _added(done: Reconciled, batch: _Batch, accounts: int) -> Reconciled:
    return done._replace(
        accounts=done.accounts + accounts,
        drifted=done.drifted + batch.drifted,
        opened=done.opened + batch.opened,
        adjusted=done.adjusted + batch.adjusted,
    )


def _reconcile_batch(account_ids: Sequence[int], state: State, terms: Terms) -> Course[_Batch]:
    looked: list[Drifted] = yield Act(partial(_look, account_ids, state, full=terms.full), Effect.READ)
    suspects = {each.look.account_id: each for each in looked if each.drifts}
    if suspects:
        yield Pause(PAUSE_BEFORE_CONFIRMING_MS)
        confirmed: dict[int, Drifted] = yield Act(partial(_confirm, suspects, state), Effect.READ)
        looked = [confirmed.get(each.look.account_id, each) for each in looked]
    noted = Noted([], {})
    to_note = [each for each in looked if each.drifts or each.look.has_incidents]
    if to_note:
        noted = yield Act(partial(note_drift, to_note, now=terms.now))
    # Also of an account that differs and was explained: up to the bound its history is what it is.
    agreed = [each.look for each in looked if each.look.has_both_rows and each.look.account_id not in noted.unexplained]
    if agreed:
        yield Act(partial(_note, agreed))
    for incident in noted.opened:
        terms.on_incident(incident)
    adjusted = 0
    if terms.on_drift == "adjust":
        adjusted = yield from _adjust_all(noted, terms)
    return _Batch(len(noted.unexplained), len(noted.opened), adjusted)


def _adjust_all(noted: Noted, terms: Terms) -> Course[int]:
    adjusted = 0
    for account_id, incidents in sorted(noted.unexplained.items()):
        if "balance" not in incidents:
            continue
        try:
            adjusted += yield Act(partial(adjust, account_id, incidents["balance"], now=terms.now))
        except TransferConflict as conflict:
            # No later round can adjust it either: the incident stays, and each round says so.
            terms.on_conflict(conflict)
        except (Refusal, LockTimeout):
            # A registered kind may keep adjustments off this account, or somebody holds its row: the incident stays.
            continue
    return adjusted


def _moved(after_id: int, state: State, *, full: bool) -> Plan[_Page]:
    asked = {
        "after_id": after_id,
        "checked_id": state.checked_id,
        "newest_id": state.newest_id,
        "full_pass": full,
        "accounts_max": RECONCILIATION_SCANNED_MAX,
        "id_max": BALANCE_MAX,
    }
    yield TOGETHER
    yield step("reconciling.prefer_indexes")
    rows = yield step("reconciling.moved", **asked)
    return _Page(list(rows[0]["ids"]), rows[0]["scanned"], rows[0]["last_id"])


def _look(account_ids: Sequence[int], state: State, *, full: bool) -> Plan[list[Drifted]]:
    looks = yield from look_at(account_ids, settled_id=state.settled_id, full=full)
    return [Drifted(look, drifts_of(look)) for look in looks]


def _confirm(suspects: Mapping[int, Drifted], state: State) -> Plan[dict[int, Drifted]]:
    """
    Look again, in a new snapshot and at the whole history: what both looks see is drift.
    """
    again = yield from _look(sorted(suspects), state, full=True)
    confirmed: dict[int, Drifted] = {}
    for look, drifts in again:
        before = suspects[look.account_id].drifts
        # Of a chain a look at the whole history finds the first break there ever was, which may be explained by now.
        both: dict[IncidentRule, Drift] = {
            rule: drift for rule, drift in drifts.items() if rule in before and rule != "chain"
        }
        if "chain" in before:
            rows = yield step("reconciling.link", account_id=look.account_id, transfer_id=before["chain"].transfer_id)
            chain = described(before["chain"], rows[0]) if rows else None
            if chain is not None:
                both["chain"] = chain
        confirmed[look.account_id] = Drifted(look, both)
    return confirmed


def _note(agreed: Sequence[Look]) -> Plan[None]:
    yield step(
        "reconciling.note",
        account_ids=[look.account_id for look in agreed],
        amounts=[look.amount for look in agreed],
        helds=[look.held for look in agreed],
        payments=[look.payments for look in agreed],
        changed_at=[look.changed_at for look in agreed],
        id_floors=[look.id_floor for look in agreed],
        history_amounts=[None if look.keeping == "summed" else look.settled_history for look in agreed],
        tailed=[look.tailed for look in agreed],
    )


def _finish(checked_id: int, *, now: datetime | None) -> Plan[None]:
    yield step("reconciling.finish", checked_id=checked_id, now=now)
