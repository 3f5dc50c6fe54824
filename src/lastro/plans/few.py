"""
Posting a few transfers at once, as a checkout does: one statement locks, one writes; what isn't plain is left to `batch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from lastro.errors import Refusal
from lastro.model.account import Facts
from lastro.model.transfer import Intent, Posted
from lastro.plans.accounts import AccountKey, account_keys, find_facts
from lastro.plans.judging import Accepted, Judgement, judge_batch
from lastro.plans.plan import TOGETHER, Plan, step
from lastro.plans.rules import Rules, rules_for
from lastro.plans.standing import Standing, as_believed
from lastro.plans.transfers import Terms, needs_lock
from lastro.plans.writing import balance_changes, unlocked_params, written


def post_few(wanted: Sequence[Intent], terms: Terms) -> Plan[list[Posted | Refusal] | None]:
    """
    Post *wanted* when all of it is plain: accounts as believed, keys free, funds there. None, with nothing written and
    nothing said, when it isn't.
    """
    facts = yield from _plain_sides(wanted, terms)
    if facts is None:
        return None
    rules = yield from rules_for(wanted, terms)
    yield TOGETHER
    yield step("session.savepoint")
    posted = yield from _attempt(wanted, facts, rules, terms)
    if posted is None:
        # Also lets go of what was locked, so that the careful way takes its locks in its own order.
        yield step("session.rollback_to_savepoint")
        terms.directory.forget(facts.values())
    yield step("session.release_savepoint")
    return posted


def _plain_sides(wanted: Sequence[Intent], terms: Terms) -> Plan[dict[AccountKey, Facts] | None]:
    keys = dict.fromkeys(key for intent in wanted for key in account_keys(intent))
    facts = yield from find_facts(terms.directory, keys)
    if len(facts) < len(keys):
        return None
    for intent in wanted:
        debit, credit = (facts[key] for key in account_keys(intent))
        if "closed" in (debit.state, credit.state):
            return None
        if needs_lock(debit, intent, "debit") or needs_lock(credit, intent, "credit"):
            return None
    return facts


def _attempt(
    wanted: Sequence[Intent], facts: dict[AccountKey, Facts], rules: Rules, terms: Terms
) -> Plan[list[Posted | Refusal] | None]:
    standings = yield from _lock(facts, terms)
    if standings is None:
        return None
    judgement = judge_batch(wanted, facts=facts, unusable={}, standings=standings, stored={}, rules=rules)
    if any(isinstance(verdict, Refusal) for verdict in judgement.verdicts):
        # Perhaps a retry of what was applied: the keys, which nobody has looked at yet, come before the funds.
        return None
    accepted = judgement.accepted()
    rows = yield step("few.write", **_params(accepted, judgement, standings, terms))
    ids = rows[0]["ids"] if rows else None
    if ids is None:
        return None
    recorded_at: datetime = rows[0]["recorded_at"].astimezone(UTC)
    return judgement.outcomes(
        [written(transfer, transfer_id, recorded_at) for transfer, transfer_id in zip(accepted, ids, strict=True)]
    )


def _lock(facts: dict[AccountKey, Facts], terms: Terms) -> Plan[dict[int, Standing] | None]:
    direct = {believed.id: believed for believed in facts.values() if believed.keeping == "direct"}
    if not direct:
        return {}
    rows = yield step("few.lock", account_ids=sorted(direct), lock_timeout=f"{terms.lock_timeout_ms}ms")
    if len(rows) < len(direct) or not all(as_believed(row, direct[row["account_id"]]) for row in rows):
        return None
    return {
        row["account_id"]: Standing(direct[row["account_id"]], posted=row["amount"], held=row["held"]) for row in rows
    }


def _params(
    accepted: Sequence[Accepted], judgement: Judgement, standings: dict[int, Standing], terms: Terms
) -> dict[str, Any]:
    changes = balance_changes(accepted, standings)
    intents = [transfer.intent for transfer in accepted]
    return {
        "keys": [intent.key for intent in intents],
        "kinds": [intent.kind for intent in intents],
        "debit_ids": [transfer.debit.id for transfer in accepted],
        "credit_ids": [transfer.credit.id for transfer in accepted],
        "transfer_amounts": [intent.amount for intent in intents],
        "debit_befores": [transfer.debit_before for transfer in accepted],
        "credit_befores": [transfer.credit_before for transfer in accepted],
        "occurred_ats": [intent.occurred_at for intent in intents],
        "causes": [intent.cause for intent in intents],
        "sources": [intent.source for intent in intents],
        "actors": [intent.actor for intent in intents],
        "metadatas": [intent.metadata for intent in intents],
        "tailed_ids": list(changes.tailed),
        "tailed_amounts": list(changes.tailed.values()),
        "tailed_lasts": [changes.last[account_id] for account_id in changes.tailed],
        "based_ids": list(changes.based),
        "based_amounts": list(changes.based.values()),
        "payments": [changes.payments.get(account_id, 0) for account_id in changes.based],
        **unlocked_params(judgement),
        "lock_timeout": f"{terms.lock_timeout_ms}ms",
        "now": terms.now,
    }
