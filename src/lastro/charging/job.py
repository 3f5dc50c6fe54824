"""
A job to be charged, as the application's own table keeps it, and how the charger reaches that table.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from lastro.errors import InvalidInput
from lastro.model.account import account_name, currency_code
from lastro.model.moment import optional_utc, utc
from lastro.model.periods import Recurrence, recurrence_word, time_zone_name
from lastro.model.text import text
from lastro.model.transfer import transfer_amount

JOB_CHARACTERS_MAX = 200


class Job(NamedTuple):
    """
    A job that runs, and what it costs: `amount` minor units for each `recurrence` that begins, from `started_at` on.

    `charged_until` is where the next period to charge begins (at first `started_at`), `look_at` when to look at the job
    again; `ends_at` is when it is to end, if it is. The charger sets `charged_until`, `look_at`, `stopped_at` and
    `stopped_because` (an error's code, or "ended"), and the application stores these four.
    """

    id: str
    account: str
    currency: str
    amount: int
    recurrence: Recurrence
    time_zone: str
    started_at: datetime
    charged_until: datetime
    look_at: datetime
    ends_at: datetime | None = None
    stopped_at: datetime | None = None
    stopped_because: str | None = None


class Jobs(Protocol):
    """
    The application's table of jobs. `transaction()` gives a connection that `Ledger.within` takes.
    """

    def transaction(self) -> AbstractContextManager[Any]:
        """Begin a transaction; commit at its end, roll back where an error comes out of it."""
        ...

    def claim(self, connection: Any, skip: Collection[str]) -> Job | None:
        """Lock one job that isn't stopped, whose `look_at` has come and whose id isn't in `skip`; None: none is left."""
        ...

    def store(self, connection: Any, job: Job) -> None:
        """Store the four columns of the job that the charger sets."""
        ...


class AsyncJobs(Protocol):
    """
    The application's table of jobs. `transaction()` gives a connection that `AsyncLedger.within` takes.
    """

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """Begin a transaction; commit at its end, roll back where an error comes out of it."""
        ...

    async def claim(self, connection: Any, skip: Collection[str]) -> Job | None:
        """Lock one job that isn't stopped, whose `look_at` has come and whose id isn't in `skip`; None: none is left."""
        ...

    async def store(self, connection: Any, job: Job) -> None:
        """Store the four columns of the job that the charger sets."""
        ...


def checked_job(job: object) -> Job:
    """
    Return *job* if it can be charged; InvalidInput says what is wrong with it.
    """
    if not isinstance(job, Job):
        raise InvalidInput(f"claim() returns a lastro.charging.Job or None; got {type(job).__name__}", argument="job")
    checked = job._replace(
        id=text(job.id, argument="id", characters_max=JOB_CHARACTERS_MAX),
        account=account_name(job.account),
        currency=currency_code(job.currency),
        amount=transfer_amount(job.amount),
        recurrence=recurrence_word(job.recurrence),
        time_zone=time_zone_name(job.time_zone),
        started_at=utc(job.started_at, argument="started_at"),
        charged_until=utc(job.charged_until, argument="charged_until"),
        look_at=utc(job.look_at, argument="look_at"),
        ends_at=optional_utc(job.ends_at, argument="ends_at"),
    )
    if checked.charged_until < checked.started_at:
        raise InvalidInput(
            f"job {job.id!r} is charged until {job.charged_until.isoformat()}, before it started",
            argument="charged_until",
        )
    return checked
