"""
A round of settlement: what is due, market by market and batch by batch, each batch a transaction of its own.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from lastro.betting.reading import AfterBatch
from lastro.betting.settling import Batch, BatchRefused, settle_batch
from lastro.errors import (
    ConnectionLost,
    KindNotAllowed,
    LastroError,
    OutcomeUnknown,
    PeriodClosed,
    SchemaOutdated,
    ServerUnavailable,
)
from lastro.model.limits import (
    BETS_LISTED_MAX,
    BETS_SETTLED_MAX,
    MARKETS_DUE_MAX,
    SETTLEMENT_MARKET_BATCHES_MAX,
)
from lastro.plans.course import Act, Course
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently
from lastro.telemetry import measure

# A batch that one bet makes impossible is tried again in so many parts, until that bet stands alone.
SPLIT = 8
# What concerns every market alike ends the round.
_EVERYWHERE = (ConnectionLost, OutcomeUnknown, SchemaOutdated, ServerUnavailable)


class Settlement(NamedTuple):
    """
    What one round did. `full` says that it ended at a limit or was told to, so more may be waiting.

    `shortfalls` counts accounts that a correction left below their floor, `stuck` bets that were put aside, `blocked`
    markets passed over for a fault, `overdue` bets that were noted as such.
    """

    bets: int = 0
    settled: int = 0
    voided: int = 0
    corrected: int = 0
    shortfalls: int = 0
    batches: int = 0
    stuck: int = 0
    blocked: int = 0
    overdue: int = 0
    full: bool = False


def settle(
    terms: Terms, *, bets_max: int = BETS_SETTLED_MAX, after_batch: AfterBatch | None = None
) -> Course[Settlement]:
    """
    Settle what is due. Several at once share the work: a market that somebody has in hand is passed over.
    """
    yield Act(partial(_queue_late, terms))
    overdue: int = yield Act(partial(_note_overdue, terms))
    done = Settlement(overdue=overdue)
    seen: list[int] = []
    while True:
        due: list[int] = yield Act(partial(_due, list(seen)), Effect.READ)
        for market_id in due:
            done, go_on = yield from _drain(market_id, done, terms, bets_max, after_batch)
            if not go_on:
                return done._replace(full=True)
        if len(due) < MARKETS_DUE_MAX:
            return done
        seen += due


def try_again(key: str | None, terms: Terms) -> Plan[int]:
    """
    Give stuck bets back to the settler, of one key or all of them, and return how many.
    """
    rows = yield step("betting_settling.try_again", key=key, rows_max=BETS_LISTED_MAX)
    yield from _queue_late(terms)
    return len({row["bet_id"] for row in rows})


def _drain(
    market_id: int, done: Settlement, terms: Terms, bets_max: int, after_batch: AfterBatch | None
) -> Course[tuple[Settlement, bool]]:
    size = bets_max
    for _ in range(SETTLEMENT_MARKET_BATCHES_MAX):
        try:
            batch: Batch | None = yield Act(partial(settle_batch, market_id, terms, bets_max=size))
        except BatchRefused as refused:
            if size == 1:
                yield Act(partial(_set_aside, refused, terms))
                done = done._replace(stuck=done.stuck + 1)
            size = max(1, size // SPLIT)
            continue
        except _EVERYWHERE:
            raise
        except LastroError as error:
            if isinstance(error, KindNotAllowed | PeriodClosed):
                # By the database: more was registered than this process knows. It looks again in the next round.
                terms.kinds.forget()
            # Of this market alone: the others go on, and it is due again in the next round.
            measure("lastro_settlement_blocked", 1, code=error.code)
            return done._replace(blocked=done.blocked + 1), True
        if batch is None:
            return done, True
        size = min(size * 2, bets_max)
        done = _added(done, batch)
        if after_batch is not None and not after_batch(batch.bets):
            return done, False
    return done._replace(full=True), True


def _added(done: Settlement, batch: Batch) -> Settlement:
    return done._replace(
        bets=done.bets + batch.bets,
        settled=done.settled + batch.settled,
        voided=done.voided + batch.voided,
        corrected=done.corrected + batch.corrected,
        shortfalls=done.shortfalls + batch.shortfalls,
        batches=done.batches + 1,
    )


def _due(seen: list[int]) -> Plan[list[int]]:
    rows = yield step("betting_settling.due", seen_ids=seen, rows_max=MARKETS_DUE_MAX)
    return [row["market_id"] for row in rows]


def _queue_late(terms: Terms) -> Plan[int]:
    rows = yield step("betting_settling.queue_late", now=terms.now)
    return len(rows)


def _note_overdue(terms: Terms) -> Plan[int]:
    return (yield from patiently(_note_overdue_locked(terms), terms.lock_timeout_ms))


def _note_overdue_locked(terms: Terms) -> Plan[int]:
    found = yield step("betting_settling.overdue_unnoted", rows_max=BETS_SETTLED_MAX, now=terms.now)
    if not found:
        return 0
    bet_ids = sorted(row["bet_id"] for row in found)
    yield step("betting_settling.lock_bets", bet_ids=bet_ids)
    return len((yield step("betting_settling.note_overdue", bet_ids=bet_ids, now=terms.now)))


def _set_aside(refused: BatchRefused, terms: Terms) -> Plan[None]:
    return (yield from patiently(_set_aside_locked(refused, terms), terms.lock_timeout_ms))


def _set_aside_locked(refused: BatchRefused, terms: Terms) -> Plan[None]:
    (bet_id,) = refused.bet_ids
    yield step("betting_settling.lock_bets", bet_ids=[bet_id])
    yield step(
        "betting_settling.set_aside",
        market_id=refused.market_id,
        bet_id=bet_id,
        code=refused.refusal.code,
        message=str(refused.refusal),
        now=terms.now,
    )
