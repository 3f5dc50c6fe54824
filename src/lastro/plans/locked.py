"""
Posting the locked way: lock the accounts that must be judged, then read them in a new snapshot, then write.
"""

from __future__ import annotations

from typing import NamedTuple

from lastro.errors import AmountOutOfRange, InsufficientFunds
from lastro.model.account import WORLD, Facts
from lastro.model.limits import LOOKS_MAX, UNLOCKED_AMOUNT_MAX, UNLOCKED_BASE_MAX
from lastro.model.transfer import Intent, Posted, Side
from lastro.plans.accounts import kept_changing, sides_of
from lastro.plans.plan import Plan, Rows, step
from lastro.plans.standing import Standing
from lastro.plans.stored import whole
from lastro.plans.transfers import (
    Terms,
    created,
    find_transfer,
    is_locked,
    params_of,
    refuse_overfull,
    refuse_uncovered,
    replay,
)
from lastro.plans.waiting import patiently


def post_locked(wanted: Intent, terms: Terms, *, floor_guarded: bool = True) -> Plan[Posted]:
    """
    Post *wanted* once with every account locked that has to be judged first; works for every keeping.
    What isn't *floor_guarded* is written below the debit account's floor as well.
    """
    return (yield from patiently(_post_locked(wanted, terms, floor_guarded=floor_guarded), terms.lock_timeout_ms))


def _post_locked(wanted: Intent, terms: Terms, *, floor_guarded: bool) -> Plan[Posted]:
    lock_both = False
    for _ in range(LOOKS_MAX):
        sides = yield from sides_of(terms.directory, wanted)
        locked = yield from lock_sides(wanted, sides, terms, lock_both=lock_both)
        # After the lock and before the funds: a retried debit that was applied is replayed, not "insufficient".
        stored = yield from find_transfer(wanted.key)
        if stored is not None:
            return replay(stored, wanted)
        if locked is not None:
            debit, credit = locked
            try:
                judge(wanted, debit, credit, floor_guarded=floor_guarded)
            except (InsufficientFunds, AmountOutOfRange):
                yield from _refuse_closed_since(wanted, locked, terms)
                raise
            rows = yield from write_locked(wanted, debit, credit, terms)
            if rows:
                return Posted(created(wanted, rows[0]), replayed=False)
            stored = yield from find_transfer(wanted.key)
            if stored is not None:
                return replay(stored, wanted)
        # A side that we took for one that needs no lock has changed.
        terms.directory.forget(sides)
        lock_both = True
    raise kept_changing((wanted.debit, wanted.credit))


def _refuse_closed_since(wanted: Intent, sides: tuple[Standing | Facts, Standing | Facts], terms: Terms) -> Plan[None]:
    # A side that isn't locked is as this process believes, and somebody else may have closed it. The write would find
    # out, but funds that don't cover it come first; so it is looked up again before they are blamed.
    believed = [side for side in sides if isinstance(side, Facts) and side.name != WORLD]
    if believed:
        terms.directory.forget(believed)
        yield from sides_of(terms.directory, wanted)


def lock_sides(
    wanted: Intent, sides: tuple[Facts, Facts], terms: Terms, *, lock_both: bool, lock_debit: bool = False
) -> Plan[tuple[Standing | Facts, Standing | Facts] | None]:
    """
    Lock and weigh the sides that have to be judged. A side that needs no lock stays as believed.

    `lock_debit` is for what changes the debit's base row besides the transfer.
    None when the locked terms show that another side should have been locked as well, or an account is closed.
    """
    names: tuple[Side, Side] = ("debit", "credit")
    to_lock = [
        facts.id
        for facts, side in zip(sides, names, strict=True)
        if lock_both or (lock_debit and side == "debit") or is_locked(facts, wanted, side)
    ]
    rows = yield step("locked.lock_sides", account_ids=sorted(to_lock), now=terms.now)
    to_weigh = [
        facts.id
        for facts, side in zip(sides, names, strict=True)
        if facts.id in to_lock and not _needs_no_weighing(facts, wanted, side)
    ]
    weighed = yield step("locked.weigh_sides", account_ids=to_weigh)
    held = {row["account_id"]: row for row in rows}
    posted = {row["account_id"]: row for row in weighed}
    judged: list[Standing | Facts] = []
    for facts in sides:
        if facts.id not in held:
            judged.append(facts)
            continue
        row = held[facts.id]
        current = facts._replace(keeping=row["keeping"], state=row["state"], floor=row["floor"])
        if current.state == "closed":
            # Believed open: the name may be another account's by now, so it is looked up again before it is refused.
            return None
        terms.directory.learn((current,))
        balance = posted.get(facts.id)
        if balance is None:
            judged.append(Standing(current, 0, 0, weighed=False))
        else:
            judged.append(Standing(current, whole(balance, "posted"), whole(balance, "held")))
    debit, credit = judged
    if len(held) < len(to_lock) or _was_weighed_wrongly(sides, judged):
        return None
    return debit, credit


def _needs_no_weighing(facts: Facts, wanted: Intent, side: Side) -> bool:
    # To know the balance of an account kept summed its whole history is read, under its lock. The world's would be.
    guarded = side == "debit" and facts.floor is not None
    return facts.keeping == "summed" and not guarded and wanted.amount <= UNLOCKED_AMOUNT_MAX


def _was_weighed_wrongly(sides: tuple[Facts, Facts], judged: list[Standing | Facts]) -> bool:
    # Believed summed and found otherwise under the lock: its balance is needed after all.
    return any(
        isinstance(standing, Standing) and not standing.weighed and standing.facts.keeping != believed.keeping
        for standing, believed in zip(judged, sides, strict=True)
    )


def judge(wanted: Intent, debit: Standing | Facts, credit: Standing | Facts, *, floor_guarded: bool) -> None:
    """
    Raise when the locked sides don't allow the transfer. A reversal or an overdraft passes the floor.
    """
    if isinstance(debit, Standing) and debit.weighed:
        facts = debit.facts if floor_guarded else debit.facts._replace(floor=None)
        refuse_uncovered(wanted, facts, posted=debit.posted, held=debit.held)
    if isinstance(credit, Standing) and credit.weighed:
        refuse_overfull(wanted, credit.facts, posted=credit.posted)


def write_locked(wanted: Intent, debit: Standing | Facts, credit: Standing | Facts, terms: Terms) -> Plan[Rows]:
    """
    Write the transfer with its locked sides; no row when its key is taken or an unlocked side has changed.
    """
    debited, credited = _effect_on(debit, -wanted.amount), _effect_on(credit, wanted.amount)
    params = params_of(wanted, debited.facts, credited.facts, terms.now)
    params.update(
        debit_state=debited.facts.state,
        credit_state=credited.facts.state,
        debit_before=debited.before,
        debit_after=debited.after,
        credit_before=credited.before,
        credit_after=credited.after,
        debit_change=debited.change,
        credit_change=credited.change,
        debit_tailed=debited.tailed,
        credit_tailed=credited.tailed,
        locked_ids=[side.facts.id for side in (debit, credit) if isinstance(side, Standing)],
        unlocked_base_max=UNLOCKED_BASE_MAX,
    )
    return (yield step("locked.write", **params))


class _Effect(NamedTuple):
    """What a transfer does to one side: the balances on its row, the base row's change, a row in the tail or none."""

    facts: Facts
    before: int | None
    after: int | None
    change: int
    tailed: bool


def _effect_on(side: Standing | Facts, amount: int) -> _Effect:
    if isinstance(side, Facts):
        return _Effect(side, None, None, 0, tailed=side.keeping == "hot")
    if side.chained:
        return _Effect(side.facts, side.posted, side.posted + amount, amount, tailed=False)
    tailed = side.facts.keeping == "hot" and not side.rebased
    return _Effect(side.facts, None, None, amount if side.rebased else 0, tailed=tailed)
