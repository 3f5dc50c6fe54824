"""Charging: each running job once a period, in the transaction that holds its row, until its money is gone."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

import lastro
from lastro import PREPAID, InvalidInput, Ledger
from lastro.charging import AsyncCharger, Charger, ChargingTerms, Job
from lastro.testing import assert_balanced
from tests.charging.tables import TABLE, AsyncTableJobs, TableJobs
from tests.conformance.adapters import Style, opened
from tests.conformance.conftest import Raw

# The charger has no SQL of its own: each store is asked the two things in which stores differ, and one all the rest.
pytestmark = [pytest.mark.req("2.9"), pytest.mark.stores("sqlite")]
on_each_store = pytest.mark.stores(without=("firebird",))

START = datetime(2026, 3, 27, 23, tzinfo=UTC)  # midnight of the 28th in Paris, the day before its clocks change
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CLIENT = "customer:42"


def job(number: int = 1, **changed: Any) -> Job:
    """A job of 10 USD cents an hour in UTC, changed."""
    started = changed.pop("started_at", START)
    terms = {"account": CLIENT, "currency": "USD", "amount": 10, "recurrence": "hour", "time_zone": "UTC"}
    return Job(
        id=f"j{number}", started_at=started, **({"charged_until": started, "look_at": started} | terms | changed)
    )  # type: ignore[arg-type]


class Shop:
    """An application with its ledger, its jobs and a charger of either style."""

    def __init__(self, ledger: Ledger, url: str, style: Style, raw: Raw) -> None:
        self.ledger, self._url, self._style = ledger, url, style
        raw(TABLE)
        self.table = TableJobs(url, ledger._operations.ledger, START)
        self._opened: list[Any] = []
        ledger.open_account(CLIENT, "USD")
        ledger.register_kinds(PREPAID)

    def fund(self, amount: int, key: str = "payment:1") -> None:
        """A payment of the client's."""
        self.ledger.credit(CLIENT, "USD", amount=amount, key=key)

    def tick(self, after: timedelta = timedelta(0), terms: ChargingTerms | None = None) -> dict[str, int]:
        """What a charger does at that time after the start."""
        with self.charger(terms) as tick:
            return tick(after)

    @contextmanager
    def charger(self, terms: ChargingTerms | None = None) -> Iterator[Callable[..., dict[str, int]]]:
        """A charger, to be called for each tick with the time after the start."""
        options: dict[str, Any] = {} if terms is None else {"terms": terms}
        book = opened(self._url, self.ledger._operations.ledger, self._style)._ledger
        awaited = AsyncTableJobs(self._url, self.ledger._operations.ledger, START)
        charger: Any = (
            Charger(book, self.table, **options)
            if self._style.name == "blocking"
            else AsyncCharger(book, awaited, **options)
        )

        def tick(after: timedelta = timedelta(0)) -> dict[str, int]:
            self.table.now = awaited.now = START + after
            return dict(self._style.settle(charger.run_once()).figures)

        yield tick
        self._style.settle(charger.close())

    def balance(self) -> int:
        """What the client has."""
        return self.ledger.balance(CLIENT, "USD").posted

    def charges(self) -> list[str]:
        """The keys of what was charged."""
        entries = self.ledger.entries(CLIENT, "USD", limit=1_000)
        return [entry.key for entry in entries if entry.kind == "debit"]


@pytest.fixture
def shop(ledger: Ledger, store_url: str, style: Style, raw: Raw) -> Iterator[Shop]:
    """The application on the store and in the style under test; its books are in order afterwards."""
    yield Shop(ledger, store_url, style, raw)
    assert_balanced(ledger)


@pytest.mark.req("2.5")
@pytest.mark.req("2.8")
@on_each_store
def test_each_period_is_charged_once(shop: Shop) -> None:
    """As it begins, under the job's and the period's name; missed ones are made up for; a second tick adds nothing."""
    shop.fund(1_000)
    shop.table.add(job())
    assert shop.tick() == {"charged": 1}
    assert shop.tick(HOUR - timedelta(microseconds=1)) == {}
    assert shop.tick(HOUR) == {"charged": 1}
    assert shop.tick(HOUR * 4) == {"charged": 3}
    assert shop.tick(HOUR * 4) == {}
    assert shop.charges()[:2] == ["job:j1:period:2026-03-27T23:00:00Z", "job:j1:period:2026-03-28T00:00:00Z"]
    assert shop.balance() == 950
    entry = shop.ledger.entries(CLIENT, "USD")[1]
    assert (entry.kind, entry.source, entry.actor) == ("debit", "job:j1", "charger")
    transfer = shop.ledger.transfer(entry.key)
    assert transfer is not None
    assert transfer.metadata == {"period": {"start": "2026-03-27T23:00:00Z", "end": "2026-03-28T00:00:00Z"}}


@pytest.mark.req("2.6")
@on_each_store
def test_a_second_charge_undoes_only_itself(shop: Shop) -> None:
    """A job whose row lost what was charged gets the first entries again, and its row and its lock stay good."""
    shop.fund(1_000)
    shop.table.add(job())
    assert shop.tick(HOUR) == {"charged": 2}
    with shop.table.transaction() as connection:
        shop.table.run(connection, shop.table.update(job()))
    assert shop.tick(HOUR * 2) == {"replayed": 2, "charged": 1}
    assert shop.balance() == 970
    assert shop.table.all()["j1"].charged_until == START + HOUR * 3


def test_a_price_that_changed_charges_no_period_again(shop: Shop) -> None:
    """A period that was charged at another price is charged; the next one has the new price."""
    shop.fund(1_000)
    shop.table.add(job())
    assert shop.tick() == {"charged": 1}
    with shop.table.transaction() as connection:
        shop.table.run(connection, (f"UPDATE {shop.table.table} SET amount = 25", []))
        shop.table.run(connection, shop.table.update(job()))
    assert shop.tick(HOUR) == {"conflict": 1, "charged": 1}
    assert shop.balance() == 1_000 - 10 - 25


def test_a_job_of_anothers_name_goes_not_free(shop: Shop) -> None:
    """A key that names another account's charge, or no charge at all, is no charge of this job: it stops, and says why."""
    shop.fund(1_000)
    shop.ledger.open_account("customer:43", "USD")
    shop.ledger.credit("customer:43", "USD", amount=1_000, key="payment:43")
    shop.table.add(job())
    assert shop.tick() == {"charged": 1}
    with shop.table.transaction() as connection:
        shop.table.run(connection, (f"UPDATE {shop.table.table} SET account = 'customer:43'", []))
        shop.table.run(connection, shop.table.update(job()))
    shop.ledger.debit(CLIENT, "USD", amount=10, key="job:j2:period:2026-03-27T23:00:00Z", cause="invoice:9")
    shop.table.add(job(2))
    assert shop.tick(HOUR) == {"stopped": 2}
    for stopped in shop.table.all().values():
        assert (stopped.stopped_at, stopped.stopped_because) == (START, "transfer_conflict")
        assert stopped.charged_until == START


@pytest.mark.parametrize("refusal", [lastro.SchemaOutdated, lastro.UnreadableRow, lastro.NotInTransaction])
def test_an_operators_error_stops_no_job(
    shop: Shop, refusal: type[lastro.Refusal], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What says nothing about a job comes out of the tick, and the jobs run on."""

    def refuse(*_: Any, **__: Any) -> None:
        raise refusal("not now")

    shop.fund(1_000)
    shop.table.add(job(), job(2))
    with monkeypatch.context() as patch:
        patch.setattr(lastro.ledger.HeldLedger, "debit", refuse)
        patch.setattr(lastro.ledger.AsyncHeldLedger, "debit", refuse)
        with pytest.raises(refusal):
            shop.tick()
    assert [one.stopped_at for one in shop.table.all().values()] == [None, None]
    assert shop.tick() == {"charged": 2}


@pytest.mark.parametrize(
    "wrong",
    [
        {"amount": 0},
        {"time_zone": "Mars/Base"},
        {"charged_until": START - HOUR},
        {"id": "x" * 201},
        {"account": "world"},
    ],
)
def test_a_job_that_is_none_holds_no_other_up(
    shop: Shop, wrong: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """It is passed over, with one ERROR a tick, and isn't charged or stopped; the jobs behind it are charged."""
    shop.fund(1_000)
    bad = job(look_at=START - HOUR)._replace(**wrong)
    shop.table.add(bad, job(2))
    for after in (timedelta(0), HOUR):
        caplog.clear()
        with caplog.at_level(logging.ERROR, "lastro.charging"):
            assert shop.tick(after) == {"failed": 1, "charged": 1}
        assert [record.getMessage().split()[1] for record in caplog.records] == [bad.id]
    assert shop.table.all()[bad.id] == bad


def test_many_bad_jobs_keep_no_good_one_waiting(shop: Shop) -> None:
    """150 jobs that can't be one, in front of two good ones: those are charged in the second tick, and in each to come."""
    shop.fund(1_000)
    with shop.table.transaction() as connection:
        for number in range(150):
            shop.table.run(connection, shop.table.insert(job(1_000 + number, look_at=START - HOUR, amount=0)))
    shop.table.add(job(1), job(2))
    with shop.charger() as tick:
        assert tick() == {"failed": 100}
        assert tick() == {"charged": 2, "failed": 100}
        assert tick(HOUR) == {"charged": 2, "failed": 100}
    assert shop.balance() == 960


@pytest.mark.case("C076")
def test_days_by_the_jobs_own_clock(shop: Shop) -> None:
    """A job by the day in Paris is charged at its midnights, through the day of 23 hours."""
    shop.fund(1_000)
    shop.table.add(job(recurrence="day", time_zone="Europe/Paris"))
    assert shop.tick() == {"charged": 1}
    assert shop.tick(DAY) == {"charged": 1}
    assert shop.tick(DAY + HOUR * 23 - timedelta(microseconds=1)) == {}
    assert shop.tick(DAY + HOUR * 23) == {"charged": 1}
    assert shop.charges()[-1] == "job:j1:period:2026-03-29T22:00:00Z"


def test_a_job_stops_when_its_money_is_gone(shop: Shop) -> None:
    """The period that isn't covered isn't charged in part: the job stops where it begins, and others go on."""
    shop.fund(25)
    shop.ledger.open_account("customer:43", "USD")
    shop.ledger.credit("customer:43", "USD", amount=1_000, key="payment:43")
    shop.table.add(job(), job(2, account="customer:43"))
    assert shop.tick(HOUR * 5) == {"charged": 8, "stopped": 1}
    stopped = shop.table.all()["j1"]
    assert (stopped.stopped_at, stopped.stopped_because) == (START + HOUR * 2, "insufficient_funds")
    assert shop.balance() == 5
    assert shop.tick(HOUR * 6) == {"charged": 1}
    assert shop.balance() == 5


def test_a_grace_lets_a_job_run_on(shop: Shop) -> None:
    """Within the grace a top-up pays what was missed; without one the job stops at its end, as of the unpaid period."""
    terms = ChargingTerms(on_short="grace", grace=HOUR * 3)
    shop.fund(10)
    shop.table.add(job())
    assert shop.tick(HOUR, terms) == {"charged": 1, "short": 1}
    assert shop.tick(HOUR * 3, terms) == {}
    shop.fund(25, "payment:2")
    assert shop.tick(HOUR * 4, terms) == {"charged": 2, "short": 1}
    assert shop.tick(HOUR * 6, terms) == {"stopped": 1}
    stopped = shop.table.all()["j1"]
    assert (stopped.stopped_at, stopped.stopped_because) == (START + HOUR * 3, "insufficient_funds")
    assert shop.balance() == 5


@on_each_store
def test_an_account_may_be_overdrawn(shop: Shop) -> None:
    """With that policy the job runs on below the floor; other debits are refused there."""
    shop.fund(15)
    shop.table.add(job())
    assert shop.tick(HOUR * 2, ChargingTerms(on_short="overdraw")) == {"charged": 3}
    assert shop.balance() == -15
    with pytest.raises(lastro.InsufficientFunds):
        shop.ledger.debit(CLIENT, "USD", amount=1, key="k")


def test_a_job_ends_before_the_period_that_it_doesnt_see(shop: Shop) -> None:
    """A job that ends as a period begins isn't charged for it; one that ends within a period is, once."""
    shop.fund(1_000)
    shop.table.add(job(ends_at=START + HOUR * 2), job(2, ends_at=START + HOUR * 2 + timedelta(microseconds=1)))
    assert shop.tick(HOUR * 9) == {"charged": 5, "ended": 2}
    assert {one.stopped_because for one in shop.table.all().values()} == {"ended"}


def test_what_cant_be_charged_stops(shop: Shop) -> None:
    """A job of an account that isn't there, or of a kind that may not stand there, stops and says why."""
    shop.fund(1_000)
    shop.table.add(job(account="nobody"))
    assert shop.tick() == {"stopped": 1}
    assert shop.table.all()["j1"].stopped_because == "unknown_account"
    shop.table.add(job(2))
    assert shop.tick(terms=ChargingTerms(kind="bonus")) == {"stopped": 1}
    assert shop.table.all()["j2"].stopped_because == "kind_not_allowed"


@pytest.mark.stores("postgres")
def test_a_locked_account_keeps_nobody_else_waiting(shop: Shop, store_url: str, raw: Raw) -> None:
    """A job whose account somebody holds is left for the next tick; the others are charged in this one."""
    shop.fund(1_000)
    shop.ledger.open_account("customer:43", "USD", floor=None)
    shop.table.add(job(), job(2, account="customer:43"))
    with psycopg.connect(store_url) as holder:
        holder.execute(
            f"SELECT 1 FROM {raw.schema}.base JOIN {raw.schema}.account ON id = account_id "
            "WHERE name = %s AND currency = 'USD' FOR UPDATE OF base",
            [CLIENT],
        )
        assert shop.tick() == {"charged": 1, "failed": 1}
    assert shop.tick() == {"charged": 1}


@pytest.mark.parametrize(
    "wrong",
    [
        {"amount": 0}, {"amount": 1.5}, {"recurrence": "year"}, {"time_zone": "Mars/Base"}, {"id": ""},
        {"started_at": datetime(2026, 1, 1)}, {"charged_until": START - HOUR},  # noqa: DTZ001
    ],
)  # fmt: skip
def test_what_is_no_job_is_refused(wrong: dict[str, Any]) -> None:
    """A job that can't be charged raises, and isn't charged otherwise."""
    from lastro.charging.job import checked_job

    with pytest.raises(InvalidInput):
        checked_job(job()._replace(**wrong))
    with pytest.raises(InvalidInput):
        checked_job("j1")


@pytest.mark.parametrize(
    "terms",
    [
        ChargingTerms(on_short="ask"),  # type: ignore[arg-type]
        ChargingTerms(on_short="grace"),
        ChargingTerms(grace=HOUR),
        ChargingTerms(on_short="grace", grace=-HOUR),
        ChargingTerms(on_short="grace", grace=5),  # type: ignore[arg-type]
    ],
)
def test_what_are_no_terms_is_refused(terms: ChargingTerms) -> None:
    """A policy that isn't known, a grace without its policy and the other way round."""
    with pytest.raises(InvalidInput):
        Charger(None, None, terms=terms)  # type: ignore[arg-type]


def test_the_chargers_are_twins() -> None:
    """Equal names and signatures; the awaited one is a coroutine."""
    for name in ("run_once", "close"):
        assert inspect.signature(getattr(Charger, name)) == inspect.signature(getattr(AsyncCharger, name))
        assert inspect.iscoroutinefunction(getattr(AsyncCharger, name))
    assert list(inspect.signature(Charger).parameters) == list(inspect.signature(AsyncCharger).parameters)


def test_a_charger_stops_when_told() -> None:
    """Between two charges it looks whether it should stop."""
    asked: list[Callable[[], bool]] = []
    charger = Charger(None, None, stopping=lambda: asked.append(lambda: True) is None)  # type: ignore[arg-type]
    assert charger.run_once().figures == {}
    assert len(asked) == 1
