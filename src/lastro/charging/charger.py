"""
The charger: debits each job that is due once a period, in the transaction that holds the job's row.

The key names the job and the period, so that a charger killed anywhere, or run twice, charges once; a second charge
undoes only itself, and the transaction goes on with the lock that it holds on the job.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from lastro.charging.job import AsyncJobs, Job, Jobs, checked_job
from lastro.charging.setback import SetBack
from lastro.charging.terms import JOBS_OWN, ChargingTerms, charge_of, charged, checked_terms, ended, refused
from lastro.errors import Fault, InsufficientFunds, InvalidInput
from lastro.ledger import AsyncHeldLedger, AsyncLedger, HeldLedger, Ledger
from lastro.model.transfer import Posted
from lastro.telemetry import measure
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 1_000
JITTER: Final = 0.1
# Charges of one tick, each a transaction of its own.
CHARGES_A_TICK_MAX: Final = 1_000

DEFAULT_TERMS: Final = ChargingTerms()

_log = logging.getLogger("lastro.charging")


class Charger:
    """
    One tick charges the jobs that are due, each period in a transaction of the application's, and several chargers may
    share the work. A worker for `Loop` and `Crew`, or call `run_once` yourself.

    A fault (a lock that wasn't granted) leaves its job for the next tick, as does a job that can't be one (an amount of
    0), with an ERROR in the log. The same charger tries it again when no other job is due. At most 100 fail in a tick:
    while no more than 2,000 do, the good ones are charged. Refusals that are no job's own, like SchemaOutdated, raise.
    Measures `lastro_charges` by outcome: charged, replayed, conflict (charged before at another price), short, stopped,
    ended, failed.
    """

    name = "charger"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(
        self,
        ledger: Ledger,
        jobs: Jobs,
        *,
        terms: ChargingTerms = DEFAULT_TERMS,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._ledger, self._jobs, self._stopping = ledger, jobs, stopping
        self._terms = checked_terms(terms)
        self._set_back = SetBack()

    def run_once(self) -> Facts:
        """Charge what is due, up to 1,000 charges."""
        counts: Counter[str] = Counter()
        self._set_back.begin()
        for _ in range(CHARGES_A_TICK_MAX):
            if self._stopping() or self._set_back.is_full:
                break
            outcome = self._next()
            if outcome is None and self._set_back.let_back():
                outcome = self._next()
            if outcome is None:
                break
            counts[outcome] += 1
            measure("lastro_charges", 1, outcome=outcome)
        return Facts(dict(counts), more=sum(counts.values()) == CHARGES_A_TICK_MAX)

    def close(self) -> None:
        """Let go of the ledger's connections."""
        self._ledger.close()

    def _next(self) -> str | None:
        claimed: Job | None = None
        try:
            with self._jobs.transaction() as connection:
                claimed = self._jobs.claim(connection, self._set_back.skipped)
                if claimed is None:
                    return None
                job, outcome = self._charge(self._ledger.within(connection), checked_job(claimed))
                self._jobs.store(connection, job)
                return outcome
        except (Fault, InvalidInput) as error:
            if not isinstance(claimed, Job):
                raise
            self._set_back.failed(claimed.id)
            _tell_failed(claimed, error)
            return "failed"

    def _charge(self, held: HeldLedger, job: Job) -> tuple[Job, str]:
        charge = charge_of(job, self._terms)
        if charge is None:
            return ended(job), "ended"
        try:
            posted = self._debit(held, job, charge.wanted)
        except JOBS_OWN as refusal:
            _log.info("job %s was not charged (%s): %s", job.id, refusal.code, refusal)
            return refused(job, charge.period, refusal, self._terms)
        return charged(job, charge.period), "replayed" if posted.replayed else "charged"

    def _debit(self, held: HeldLedger, job: Job, wanted: dict[str, Any]) -> Posted:
        try:
            return held.debit(job.account, job.currency, **wanted)
        except InsufficientFunds:
            if self._terms.on_short != "overdraw":
                raise
            return held.debit(job.account, job.currency, **wanted, overdraw=True)


class AsyncCharger:
    """
    One tick charges the jobs that are due, each period in a transaction of the application's, and several chargers may
    share the work. Await `run_once` as often as jobs may fall due.

    A fault (a lock that wasn't granted) leaves its job for the next tick, as does a job that can't be one (an amount of
    0), with an ERROR in the log. The same charger tries it again when no other job is due. At most 100 fail in a tick:
    while no more than 2,000 do, the good ones are charged. Refusals that are no job's own, like SchemaOutdated, raise.
    Measures `lastro_charges` by outcome: charged, replayed, conflict (charged before at another price), short, stopped,
    ended, failed.
    """

    name = "charger"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(
        self,
        ledger: AsyncLedger,
        jobs: AsyncJobs,
        *,
        terms: ChargingTerms = DEFAULT_TERMS,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._ledger, self._jobs, self._stopping = ledger, jobs, stopping
        self._terms = checked_terms(terms)
        self._set_back = SetBack()

    async def run_once(self) -> Facts:
        """Charge what is due, up to 1,000 charges."""
        counts: Counter[str] = Counter()
        self._set_back.begin()
        for _ in range(CHARGES_A_TICK_MAX):
            if self._stopping() or self._set_back.is_full:
                break
            outcome = await self._next()
            if outcome is None and self._set_back.let_back():
                outcome = await self._next()
            if outcome is None:
                break
            counts[outcome] += 1
            measure("lastro_charges", 1, outcome=outcome)
        return Facts(dict(counts), more=sum(counts.values()) == CHARGES_A_TICK_MAX)

    async def close(self) -> None:
        """Let go of the ledger's connections."""
        await self._ledger.close()

    async def _next(self) -> str | None:
        claimed: Job | None = None
        try:
            async with self._jobs.transaction() as connection:
                claimed = await self._jobs.claim(connection, self._set_back.skipped)
                if claimed is None:
                    return None
                job, outcome = await self._charge(self._ledger.within(connection), checked_job(claimed))
                await self._jobs.store(connection, job)
                return outcome
        except (Fault, InvalidInput) as error:
            if not isinstance(claimed, Job):
                raise
            self._set_back.failed(claimed.id)
            _tell_failed(claimed, error)
            return "failed"

    async def _charge(self, held: AsyncHeldLedger, job: Job) -> tuple[Job, str]:
        charge = charge_of(job, self._terms)
        if charge is None:
            return ended(job), "ended"
        try:
            posted = await self._debit(held, job, charge.wanted)
        except JOBS_OWN as refusal:
            _log.info("job %s was not charged (%s): %s", job.id, refusal.code, refusal)
            return refused(job, charge.period, refusal, self._terms)
        return charged(job, charge.period), "replayed" if posted.replayed else "charged"

    async def _debit(self, held: AsyncHeldLedger, job: Job, wanted: dict[str, Any]) -> Posted:
        try:
            return await held.debit(job.account, job.currency, **wanted)
        except InsufficientFunds:
            if self._terms.on_short != "overdraw":
                raise
            return await held.debit(job.account, job.currency, **wanted, overdraw=True)


def _tell_failed(job: Job, error: Fault | InvalidInput) -> None:
    # A fault passes; what is wrong with the job stays until somebody mends its row.
    level = logging.WARNING if isinstance(error, Fault) else logging.ERROR
    _log.log(level, "job %s was not charged this time (%s): %s", job.id, error.code, error)
