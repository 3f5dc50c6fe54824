"""
Posting many transfers in one transaction: lock once, judge in memory, write each table once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from lastro.errors import AmountOutOfRange, InsufficientFunds, LastroError, Refusal
from lastro.model.account import WORLD, Facts
from lastro.model.limits import FEW_TRANSFERS_MAX, LOOKS_MAX
from lastro.model.transfer import Intent, Posted, Transfer
from lastro.plans.accounts import AccountKey, account_keys, find_facts, kept_changing, refuse_closed, refuse_unknown
from lastro.plans.few import post_few
from lastro.plans.judging import Judgement, judge_batch
from lastro.plans.plan import Plan, step
from lastro.plans.posting import post
from lastro.plans.rules import rules_for
from lastro.plans.standing import Standing, as_believed
from lastro.plans.stored import read_facts, read_transfer, whole
from lastro.plans.transfers import Terms, is_locked, refuse_retired
from lastro.plans.waiting import patiently, undone_when_refused
from lastro.plans.writing import write_batch

Outcome: TypeAlias = Posted | Refusal


class _LookAgain(Refusal):
    """The accounts were not as believed, or a rival took a key: undo this attempt and begin anew."""

    code = "look_again"


class _Sides(NamedTuple):
    facts: dict[AccountKey, Facts]
    refusals: dict[AccountKey, Refusal]


def post_many(
    wanted: Sequence[Intent | Refusal], terms: Terms, *, partial: bool, floor_guarded: bool = True
) -> Plan[list[Outcome]]:
    """
    Post *wanted* in one transaction and return one outcome each, in their order. What isn't *floor_guarded* is written
    below the debit accounts' floors as well.

    All or nothing by default: the first refusal is raised, with its position as `index`. With `partial`, what is
    refused is refused alone; a Refusal among *wanted* (input that failed its checks) is handed through as its outcome.
    """
    if len(wanted) == 1 and isinstance(wanted[0], Intent) and floor_guarded:
        return (yield from _post_alone(wanted[0], terms, partial=partial))
    if len(wanted) <= FEW_TRANSFERS_MAX and floor_guarded:
        intents = [intent for intent in wanted if not isinstance(intent, Refusal)]
        posted = (yield from post_few(intents, terms)) if len(intents) == len(wanted) else None
        if posted is not None:
            return posted
    plan = _until_settled(wanted, terms, partial=partial, floor_guarded=floor_guarded)
    return (yield from patiently(plan, terms.lock_timeout_ms))


def _post_alone(wanted: Intent, terms: Terms, *, partial: bool) -> Plan[list[Outcome]]:
    # A batch of one goes the way of one: mostly a single statement, where the batch takes a dozen.
    try:
        return [(yield from post(wanted, terms))]
    except Refusal as refusal:
        if not partial:
            raise placed(refusal, 0) from refusal
        return [refusal]


def _until_settled(
    wanted: Sequence[Intent | Refusal], terms: Terms, *, partial: bool, floor_guarded: bool
) -> Plan[list[Outcome]]:
    for look in range(LOOKS_MAX):
        # What is still not as believed after two looks may be a base amount beyond the reach of an unlocked posting.
        lock_all = look > 1
        attempt = _attempt(wanted, terms, partial=partial, lock_all=lock_all, floor_guarded=floor_guarded)
        try:
            return (yield from undone_when_refused(attempt))
        except _LookAgain:
            terms.directory.forget(_believed(wanted, terms))
    raise kept_changing(sorted({name for name, _ in _account_keys(wanted)}))


def _attempt(
    wanted: Sequence[Intent | Refusal], terms: Terms, *, partial: bool, lock_all: bool, floor_guarded: bool
) -> Plan[list[Outcome]]:
    rules = yield from rules_for([intent for intent in wanted if not isinstance(intent, Refusal)], terms)
    sides = yield from _find_sides(wanted, terms)
    standings = yield from _lock_and_weigh(wanted, sides, terms, lock_all=lock_all)
    stored = yield from _find_keys(wanted)
    judgement = judge_batch(
        wanted,
        facts=sides.facts,
        unusable=sides.refusals,
        standings=standings,
        stored=stored,
        rules=rules,
        floor_guarded=floor_guarded,
    )
    yield from _check_beliefs(wanted, judgement, sides, standings)
    if not partial:
        _raise_first(judgement)
    posted = yield from write_batch(judgement, standings, terms.now)
    if posted is None:
        raise _LookAgain("the batch begins anew")
    return judgement.outcomes(posted)


def _find_sides(wanted: Sequence[Intent | Refusal], terms: Terms) -> Plan[_Sides]:
    keys = _account_keys(wanted)
    found = yield from find_facts(terms.directory, keys)
    refusals: dict[AccountKey, Refusal] = {}
    for key in keys:
        try:
            if key not in found:
                yield from refuse_unknown(*key)
            refuse_closed(found[key])
        except Refusal as refusal:
            refusals[key] = refusal
    return _Sides(found, refusals)


def _lock_and_weigh(
    wanted: Sequence[Intent | Refusal], sides: _Sides, terms: Terms, *, lock_all: bool
) -> Plan[dict[int, Standing]]:
    """
    Lock every account of the batch that has to be judged, in one order, and return how each stands under its lock.
    """
    to_lock = {facts.id: facts for facts in sides.facts.values()} if lock_all else _to_lock(wanted, sides)
    if not to_lock:
        return {}
    locked = yield step("locked.lock_sides", account_ids=sorted(to_lock), now=terms.now)
    weighed = yield step("locked.weigh_sides", account_ids=sorted(to_lock))
    posted = {row["account_id"]: row for row in weighed}
    standings: dict[int, Standing] = {}
    for row in locked:
        believed = to_lock[row["account_id"]]
        if not as_believed(row, believed):
            raise _LookAgain("an account is kept otherwise than believed")
        balance = posted[believed.id]
        standings[believed.id] = Standing(believed, posted=whole(balance, "posted"), held=whole(balance, "held"))
    if len(standings) < len(to_lock):
        raise _LookAgain("an account's base row is not there")
    return standings


def _to_lock(wanted: Sequence[Intent | Refusal], sides: _Sides) -> dict[int, Facts]:
    to_lock: dict[int, Facts] = {}
    for intent in wanted:
        if isinstance(intent, Refusal):
            continue
        debit, credit = map(sides.facts.get, account_keys(intent))
        if debit is not None and is_locked(debit, intent, "debit"):
            to_lock[debit.id] = debit
        if credit is not None and is_locked(credit, intent, "credit"):
            to_lock[credit.id] = credit
    return to_lock


def _find_keys(wanted: Sequence[Intent | Refusal]) -> Plan[dict[str, Transfer | Refusal]]:
    keys = sorted({intent.key for intent in wanted if not isinstance(intent, Refusal)})
    if not keys:
        return {}
    rows = yield step("batch.find_keys", keys=keys)
    stored: dict[str, Transfer | Refusal] = {}
    for row in rows:
        try:
            refuse_retired(row["taken_key"], row)
            stored[row["taken_key"]] = read_transfer(row)
        except Refusal as refusal:
            stored[row["taken_key"]] = refusal
    return stored


def _check_beliefs(
    wanted: Sequence[Intent | Refusal], judgement: Judgement, sides: _Sides, standings: Mapping[int, Standing]
) -> Plan[None]:
    # Funds are blamed only where the sides that weren't locked are open still: somebody may have closed one since.
    believed = {
        key: sides.facts[key]
        for intent, verdict in zip(wanted, judgement.verdicts, strict=True)
        if isinstance(verdict, InsufficientFunds | AmountOutOfRange) and isinstance(intent, Intent)
        for key in account_keys(intent)
        if key[0] != WORLD and sides.facts[key].id not in standings
    }
    if not believed:
        return
    rows = yield step(
        "accounts.find", names=[name for name, _ in believed], currencies=[currency for _, currency in believed]
    )
    if any(read_facts(row).state == "closed" for row in rows):
        raise _LookAgain("an account was closed since it was believed open")


def _raise_first(judgement: Judgement) -> None:
    for index, verdict in enumerate(judgement.verdicts):
        if isinstance(verdict, Refusal):
            raise placed(verdict, index)


def placed(refusal: Refusal, index: int) -> LastroError:
    """
    Return *refusal* with the position of the transfer that it speaks of.
    """
    return type(refusal)(f"transfer {index} of the batch: {refusal}", **refusal.details, index=index)


def _account_keys(wanted: Sequence[Intent | Refusal]) -> list[AccountKey]:
    keys = dict.fromkeys(key for intent in wanted if not isinstance(intent, Refusal) for key in account_keys(intent))
    return list(keys)


def _believed(wanted: Sequence[Intent | Refusal], terms: Terms) -> list[Facts]:
    return [facts for key in _account_keys(wanted) if (facts := terms.directory.get(*key))]
