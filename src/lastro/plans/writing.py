"""
Writing a judged batch: keys claimed, history copied, one tail row an account, one update of the base rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from lastro.model.limits import UNLOCKED_BASE_MAX
from lastro.model.text import read_metadata
from lastro.model.transfer import Transfer
from lastro.plans.judging import Accepted, Judgement
from lastro.plans.plan import Plan, Step, step
from lastro.plans.standing import Standing


def write_batch(
    judgement: Judgement, standings: Mapping[int, Standing], now: datetime | None
) -> Plan[list[Transfer] | None]:
    """
    Write what was accepted and return the transfers; None when a rival took a key or an unlocked account changed.
    """
    accepted = judgement.accepted()
    if not accepted:
        return []
    drawn = (yield step("batch.draw_ids", transfers=len(accepted), account_ids=sorted(standings), now=now))[0]
    ids: list[int] = drawn["ids"]
    recorded_at: datetime = drawn["recorded_at"].astimezone(UTC)
    claimed = yield from _claim_keys(judgement, accepted, ids)
    if claimed < len(accepted):
        return None
    yield Step("batch.copy_transfers", {}, copied=_history_rows(accepted, ids, recorded_at))
    yield from _change_balances(accepted, ids, standings, recorded_at)
    return [written(transfer, transfer_id, recorded_at) for transfer, transfer_id in zip(accepted, ids, strict=True)]


def unlocked_params(judgement: Judgement) -> dict[str, Any]:
    """
    Return what a batch believes of the accounts it doesn't lock, for its statement to check as it writes.
    """
    unlocked = judgement.unlocked
    return {
        "free_ids": list(unlocked),
        "free_keepings": [facts.keeping for facts in unlocked.values()],
        "free_debited": [account_id in judgement.unlocked_debited for account_id in unlocked],
        "unlocked_base_max": UNLOCKED_BASE_MAX,
    }


def _claim_keys(judgement: Judgement, accepted: Sequence[Accepted], ids: Sequence[int]) -> Plan[int]:
    in_key_order = sorted(
        (transfer.intent.key, transfer_id, transfer.debit.id)
        for transfer, transfer_id in zip(accepted, ids, strict=True)
    )
    rows = yield step(
        "batch.claim_keys",
        keys=[key for key, _, _ in in_key_order],
        transfer_ids=[transfer_id for _, transfer_id, _ in in_key_order],
        debit_ids=[debit_id for _, _, debit_id in in_key_order],
        **unlocked_params(judgement),
    )
    claimed: int = rows[0]["claimed"] if rows else 0
    return claimed


def _history_rows(accepted: Sequence[Accepted], ids: Sequence[int], recorded_at: datetime) -> Iterator[tuple[Any, ...]]:
    recorded = recorded_at.isoformat()
    for transfer, transfer_id in zip(accepted, ids, strict=True):
        intent, debit, credit, debit_before, credit_before = transfer
        yield (
            transfer_id,
            debit.id,
            credit.id,
            intent.amount,
            debit_before,
            None if debit_before is None else debit_before - intent.amount,
            credit_before,
            None if credit_before is None else credit_before + intent.amount,
            recorded if intent.occurred_at is None else intent.occurred_at,
            recorded,
            intent.key,
            intent.kind,
            intent.cause,
            intent.reverses,
            intent.source,
            intent.actor,
            intent.metadata,
        )


class Changes(NamedTuple):
    """
    What a batch does to balances: the sums that go to the tail, and those of the base rows that it holds.

    `last` is the position of an account's last transfer in the batch: its id names the account's tail row. A base row
    that only counts the payments made from it changes by 0.
    """

    tailed: dict[int, int]
    last: dict[int, int]
    based: dict[int, int]
    payments: dict[int, int]


def balance_changes(accepted: Sequence[Accepted], standings: Mapping[int, Standing]) -> Changes:
    """
    Add up what the accepted transfers do to each account; `payments` counts the debits of every account.
    """
    changes: dict[int, int] = {}
    payments: dict[int, int] = {}
    keepings: dict[int, str] = {}
    last: dict[int, int] = {}
    for position, (intent, debit, credit, _, _) in enumerate(accepted):
        last[debit.id] = last[credit.id] = position
        changes[debit.id] = changes.get(debit.id, 0) - intent.amount
        changes[credit.id] = changes.get(credit.id, 0) + intent.amount
        payments[debit.id] = payments.get(debit.id, 0) + 1
        keepings[debit.id], keepings[credit.id] = debit.keeping, credit.keeping
    rebased = {account_id for account_id, standing in standings.items() if standing.rebased}
    return Changes(
        tailed={
            account_id: change
            for account_id, change in changes.items()
            if keepings[account_id] == "hot" and change != 0 and account_id not in rebased
        },
        last=last,
        based={
            account_id: change if account_id in rebased else 0
            for account_id, change in changes.items()
            if account_id in standings
        },
        payments=payments,
    )


def _change_balances(
    accepted: Sequence[Accepted],
    ids: Sequence[int],
    standings: Mapping[int, Standing],
    recorded_at: datetime,
) -> Plan[None]:
    changes = balance_changes(accepted, standings)
    if changes.tailed:
        yield step(
            "batch.add_tails",
            account_ids=list(changes.tailed),
            transfer_ids=[ids[changes.last[account_id]] for account_id in changes.tailed],
            amounts=list(changes.tailed.values()),
        )
    if changes.based:
        yield step(
            "batch.change_bases",
            account_ids=list(changes.based),
            amounts=list(changes.based.values()),
            payments=[changes.payments.get(account_id, 0) for account_id in changes.based],
            recorded_at=recorded_at,
        )


def written(transfer: Accepted, transfer_id: int, recorded_at: datetime) -> Transfer:
    """
    Return an accepted transfer as it was stored.
    """
    intent, _, _, debit_before, credit_before = transfer
    amount = intent.amount
    return Transfer(
        transfer_id,
        intent.key,
        intent.kind,
        intent.debit,
        intent.credit,
        amount,
        intent.currency,
        recorded_at if intent.occurred_at is None else intent.occurred_at,
        recorded_at,
        intent.cause,
        intent.reverses,
        intent.source,
        intent.actor,
        None if intent.metadata is None else read_metadata(intent.metadata),
        debit_before,
        None if debit_before is None else debit_before - amount,
        credit_before,
        None if credit_before is None else credit_before + amount,
    )
