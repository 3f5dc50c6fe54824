"""
Judging a batch in memory: what its keys, accounts and funds allow, with running balances, before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from lastro.errors import Refusal, TransferConflict
from lastro.model.account import Facts
from lastro.model.transfer import Intent, Posted, Transfer
from lastro.plans.accounts import AccountKey, account_keys, world_last
from lastro.plans.rules import Rules
from lastro.plans.standing import Standing
from lastro.plans.transfers import refuse_overfull, refuse_uncovered, replay


class Accepted(NamedTuple):
    """
    A transfer that will be written, with the balances around it where a side is kept direct.
    """

    intent: Intent
    debit: Facts
    credit: Facts
    debit_before: int | None
    credit_before: int | None


class Same(NamedTuple):
    """
    The same intent as one earlier in the batch: it gets that one's transfer, replayed.
    """

    position: int


Verdict: TypeAlias = Accepted | Same | Posted | Refusal


@dataclass(slots=True)
class Judgement:
    """
    One verdict for each transfer of the batch, and the accounts that the accepted ones touch without a lock.
    """

    verdicts: list[Verdict] = field(default_factory=list)
    unlocked: dict[int, Facts] = field(default_factory=dict)
    unlocked_debited: set[int] = field(default_factory=set)

    def accepted(self) -> list[Accepted]:
        """Return what is to be written, in the order of the batch."""
        return [verdict for verdict in self.verdicts if isinstance(verdict, Accepted)]

    def outcomes(self, created: Sequence[Transfer]) -> list[Posted | Refusal]:
        """Return the outcome of each transfer, now that the accepted ones were *created*."""
        outcomes: list[Posted | Refusal] = []
        written = iter(created)
        for verdict in self.verdicts:
            match verdict:
                case Accepted():
                    outcomes.append(Posted(next(written), replayed=False))
                case Same(position):
                    first = outcomes[position]
                    assert isinstance(first, Posted), "only a transfer that was posted can be the same as another"
                    outcomes.append(Posted(first.transfer, replayed=True))
                case Posted() | Refusal():
                    outcomes.append(verdict)
        return outcomes


def judge_batch(
    wanted: Sequence[Intent | Refusal],
    *,
    facts: Mapping[AccountKey, Facts],
    unusable: Mapping[AccountKey, Refusal],
    standings: Mapping[int, Standing],
    stored: Mapping[str, Transfer | Refusal],
    rules: Rules,
    floor_guarded: bool = True,
) -> Judgement:
    """
    Judge each transfer of the batch as if those before it were posted already. Keys come before rules, accounts and funds.
    What isn't *floor_guarded* passes the floors.
    """
    judgement = Judgement()
    taken: dict[str, int] = {}
    for index, intent in enumerate(wanted):
        verdict: Verdict
        try:
            verdict = _judge(
                intent,
                wanted,
                taken,
                judgement,
                facts=facts,
                unusable=unusable,
                standings=standings,
                stored=stored,
                rules=rules,
                floor_guarded=floor_guarded,
            )
        except Refusal as refusal:
            verdict = refusal
        if isinstance(verdict, Accepted):
            taken[verdict.intent.key] = index
        judgement.verdicts.append(verdict)
    return judgement


def _judge(
    intent: Intent | Refusal,
    wanted: Sequence[Intent | Refusal],
    taken: Mapping[str, int],
    judgement: Judgement,
    *,
    facts: Mapping[AccountKey, Facts],
    unusable: Mapping[AccountKey, Refusal],
    standings: Mapping[int, Standing],
    stored: Mapping[str, Transfer | Refusal],
    rules: Rules,
    floor_guarded: bool,
) -> Verdict:
    if isinstance(intent, Refusal):
        return intent
    there = stored.get(intent.key)
    if there is not None:
        return there if isinstance(there, Refusal) else replay(there, intent)
    first = taken.get(intent.key)
    if first is not None:
        return _same_as(first, wanted[first], intent)
    rules.refuse(intent)
    debit_key, credit_key = account_keys(intent)
    for key in world_last(debit_key, credit_key):
        if key in unusable:
            raise unusable[key]
    return _accept(intent, facts[debit_key], facts[credit_key], standings, judgement, floor_guarded=floor_guarded)


def _same_as(index: int, first: Intent | Refusal, intent: Intent) -> Same:
    assert isinstance(first, Intent), "a key is taken by an intent"
    fields = {
        name: (there, given)
        for name, there, given in zip(Intent._fields, first, intent, strict=True)
        if there != given and name not in ("actor", "metadata")
    }
    if fields:
        raise TransferConflict(
            f"key {intent.key!r} stands twice in this batch for different transfers "
            f"({', '.join(fields)}); one key names one intended transfer",
            key=intent.key,
            fields=fields,
        )
    return Same(index)


def _accept(
    intent: Intent,
    debit: Facts,
    credit: Facts,
    standings: Mapping[int, Standing],
    judgement: Judgement,
    *,
    floor_guarded: bool,
) -> Accepted:
    debited, credited = standings.get(debit.id), standings.get(credit.id)
    if debited is not None:
        guarded = debit if floor_guarded else debit._replace(floor=None)
        refuse_uncovered(intent, guarded, posted=debited.posted, held=debited.held)
    if credited is not None:
        refuse_overfull(intent, credit, posted=credited.posted)
    # Accepted. Only now do the balances move, so that a refusal leaves its neighbours' judgement alone.
    debit_before = credit_before = None
    if debited is None:
        judgement.unlocked[debit.id] = debit
        judgement.unlocked_debited.add(debit.id)
    else:
        debit_before = debited.posted if debited.chained else None
        debited.posted -= intent.amount
    if credited is None:
        judgement.unlocked[credit.id] = credit
    else:
        credit_before = credited.posted if credited.chained else None
        credited.posted += intent.amount
    return Accepted(intent, debit, credit, debit_before, credit_before)
