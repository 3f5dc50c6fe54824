"""
All rules, in the order in which equally grave findings are told: what others follow from comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from lastro.doctor import rules_around, rules_upkeep, rules_waiting
from lastro.doctor.finding import Finding
from lastro.doctor.readings import Sample

Rule: TypeAlias = Callable[[Sequence[Sample]], Iterable[Finding]]

# By the code of the finding each makes.
BY_CODE: Final[dict[str, Rule]] = {
    "drift": rules_upkeep.drift,
    "invalid_index": rules_upkeep.invalid_index,
    "partition_missing": rules_upkeep.partition_missing,
    "connections": rules_waiting.connections,
    "oldest_transaction": rules_waiting.oldest_transaction,
    "settlement_batch": rules_waiting.settlement_batch,
    "hot_account_direct": rules_waiting.hot_account_direct,
    "shared_rows": rules_waiting.shared_rows,
    "prepared_statements_lost": rules_around.prepared_statements_lost,
    "pool_starved": rules_waiting.pool_starved,
    "slot_fills_disk": rules_around.slot_fills_disk,
    "replica_lag": rules_around.replica_lag,
    "checkpoint_storm": rules_around.checkpoint_storm,
    "autovacuum_off": rules_upkeep.autovacuum_off,
    "autovacuum_behind": rules_upkeep.autovacuum_behind,
    "backlog_stands": rules_upkeep.backlog_stands,
    "hot_without_need": rules_upkeep.hot_without_need,
}
RULES: Final[tuple[Rule, ...]] = tuple(BY_CODE.values())
