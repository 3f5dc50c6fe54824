"""
What a charge is, and what becomes of a job after it: charged, short of money, or at its end. No clock and no database.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from lastro.charging.job import Job
from lastro.errors import (
    AccountClosed,
    AmountOutOfRange,
    CurrencyMismatch,
    InsufficientFunds,
    InvalidInput,
    KindNotAllowed,
    Refusal,
    TransferConflict,
    UnknownAccount,
)
from lastro.model.periods import Stretch, period_from

OnShort: TypeAlias = Literal["stop", "grace", "overdraw"]
ON_SHORT: tuple[OnShort, ...] = get_args(OnShort)
ENDED = "ended"
# What speaks of one job. Every other refusal (tables missing, a row that can't be read) is the operator's to mend.
JOBS_OWN = (
    AccountClosed, AmountOutOfRange, CurrencyMismatch, InsufficientFunds, KindNotAllowed, TransferConflict, UnknownAccount,
)  # fmt: skip


class ChargingTerms(NamedTuple):
    """
    What is done with a job whose account doesn't cover the next period: "stop" it, let it run on for a "grace" after
    the period's beginning and stop it then, or "overdraw" the account below its floor.
    """

    on_short: OnShort = "stop"
    grace: timedelta = timedelta(0)
    kind: str = "debit"
    actor: str = "charger"


class Charge(NamedTuple):
    """
    One period of one job. `wanted` are the arguments of the ledger's `debit`.
    """

    period: Stretch
    wanted: dict[str, Any]


def checked_terms(terms: ChargingTerms) -> ChargingTerms:
    """
    Return *terms* if a charger can work by them.
    """
    if terms.on_short not in ON_SHORT:
        raise InvalidInput(f"on_short is one of {', '.join(ON_SHORT)}; got {terms.on_short!r}", argument="on_short")
    if not isinstance(terms.grace, timedelta) or terms.grace < timedelta(0):
        raise InvalidInput(f"grace is a timedelta, not below 0; got {terms.grace!r}", argument="grace")
    if (terms.on_short == "grace") != bool(terms.grace):
        raise InvalidInput('on_short="grace" needs a grace, and only it takes one', argument="grace")
    return terms


def charge_of(job: Job, terms: ChargingTerms) -> Charge | None:
    """
    Return the next charge of *job*; None where the job ends before that period begins.
    """
    if job.ends_at is not None and job.charged_until >= job.ends_at:
        return None
    period = period_from(job.started_at, job.charged_until, job.recurrence, job.time_zone)
    wanted = {
        "amount": job.amount,
        "key": f"job:{job.id}:period:{_stamp(period.start)}",
        "kind": terms.kind,
        "source": f"job:{job.id}",
        "actor": terms.actor,
        "metadata": {"period": {"start": _stamp(period.start), "end": _stamp(period.end)}},
    }
    return Charge(period, wanted)


def ended(job: Job) -> Job:
    """
    Return *job* as it is when its end has come.
    """
    return job._replace(stopped_at=job.ends_at, stopped_because=ENDED)


def charged(job: Job, period: Stretch) -> Job:
    """
    Return *job* after a period was charged.
    """
    return job._replace(charged_until=period.end, look_at=period.end)


def refused(job: Job, period: Stretch, refusal: Refusal, terms: ChargingTerms) -> tuple[Job, str]:
    """
    Return *job* after its charge was refused, and what that comes to: stopped, or running on while its grace lasts.
    """
    if isinstance(refusal, TransferConflict) and refusal.fields.keys() <= {"amount"}:
        # This period was charged to this account, if at another price (or was retired, and nothing differs): once is
        # once. What differs otherwise is no charge of this job, and the job stops.
        return charged(job, period), "conflict"
    grace_ends_at = period.start + terms.grace
    if isinstance(refusal, InsufficientFunds) and job.look_at < grace_ends_at:
        return job._replace(look_at=grace_ends_at), "short"
    return job._replace(stopped_at=period.start, stopped_because=refusal.code), "stopped"


def _stamp(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
