"""Expiry in bounded batches: each lot once, nobody held up for longer than a batch, whatever is killed or spent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import psycopg
import pytest

import lastro
from lastro import Ledger, telemetry
from lastro.plans.plan import Effect
from lastro.points.expiring import LOTS_EXPIRED_MAX, Batch, Expired, expire, expire_batch
from lastro.testing import assert_balanced
from lastro.workers.points_expirer import PointsExpirer
from tests.conformance.eyes import Raw
from tests.points.expirer_process import LOTS_MAX, expirer
from tests.points.members import CURRENCY, REWARD, Club, fill_lots
from tests.support.sessions import Background, Observer, observer_of, pid_of, together

DUE = datetime(2026, 1, 2, tzinfo=UTC)
MEMBERS = ("ana", "ben", "cleo", "dora", "eva")
LOTS_EACH = 10
LOTS = len(MEMBERS) * LOTS_EACH


@pytest.fixture
def due(club: Club, raw: Raw) -> Club:
    """Five members with ten lots each that are due, and one that isn't."""
    fill_lots(club, raw, MEMBERS, LOTS_EACH, expires_at=DUE)
    club.pass_days(2)
    return club


@pytest.fixture
def observer(store_url: str) -> Iterator[Observer]:
    """A session that tells who waits for whom; on PostgreSQL."""
    with observer_of(store_url) as observing:
        yield observing


def open_lots(raw: Raw) -> int:
    """How many lots still hold points."""
    count: int = raw.one("SELECT count(*) FROM {s}.open_lot")
    return count


def uses_of_lots(raw: Raw) -> set[int]:
    """How often the lots that were used were used."""
    return {times for (times,) in raw("SELECT count(*) FROM {s}.lot_use GROUP BY lot_transfer_id, lot_part")}


@pytest.mark.req("1.13")
def test_expiry_goes_in_bounded_batches(due: Club, raw: Raw) -> None:
    """50 lots in batches of 20 are three transactions; each account has one movement in each batch it has lots in."""
    batches: list[int] = []

    def note(lots: int) -> bool:
        batches.append(lots)
        assert open_lots(raw) == LOTS + len(MEMBERS) - sum(batches), "a batch is committed when it is told"
        return True

    done = due.ledger._walk(expire(due.ledger._operations.terms(), lots_max=20, after_batch=note))
    assert batches == [20, 20, 10]
    assert (done.lots, done.points, done.batches, done.skipped, done.full) == (LOTS, LOTS, 3, 0, False)
    assert [due.posted(member) for member in MEMBERS] == [1] * len(MEMBERS)
    assert due.posted("points:expired") == LOTS
    assert raw.one("SELECT count(*) FROM {s}.transfer WHERE kind = 'expire'") == done.accounts <= 7
    assert due.points.expire() == Expired(0, 0, 0, 1, 0, full=False)


def test_a_round_ends_where_it_is_told_to(due: Club, raw: Raw) -> None:
    """Stopped after a batch, it says that more may be waiting."""
    done = due.ledger._walk(expire(due.ledger._operations.terms(), lots_max=20, after_batch=lambda _: False))
    assert (done.lots, done.batches, done.full) == (20, 1, True)
    assert open_lots(raw) == LOTS + len(MEMBERS) - 20


@pytest.mark.req("1.13")
def test_the_worker_expires_and_measures(due: Club) -> None:
    """One tick is one round; what it did is measured."""
    heard: list[tuple[str, float]] = []
    silence = telemetry.listen(lambda name, value, _: heard.append((name, value)))
    try:
        facts = PointsExpirer(due.ledger).run_once()
    finally:
        silence()
    assert (dict(facts.figures), facts.more) == ({"lots": LOTS, "points": LOTS, "batches": 1, "skipped": 0}, False)
    assert ("lastro_expired_lots", LOTS) in heard
    assert PointsExpirer(due.ledger, stopping=lambda: True).run_once().figures["lots"] == 0


def test_what_was_spent_before_is_not_expired(due: Club) -> None:
    """Only what nobody has used goes, to the point."""
    due.clock.set(datetime(2026, 1, 1, 13, tzinfo=UTC))
    due.spend("ana", 7)
    due.give("ben", "ana", 5)
    due.pass_days(2)
    assert due.points.expire().points == LOTS - 7
    assert [due.posted(member) for member in MEMBERS] == [1] * len(MEMBERS)


@pytest.mark.stores("postgres")
@pytest.mark.req("0.4")
@pytest.mark.req("1.13")
def test_a_spend_waits_for_one_batch_at_most(due: Club, raw: Raw, observer: Observer, server_url: str) -> None:
    """A spend that meets a batch waits for that batch; it is done when that one commits, with more still due."""
    with psycopg.connect(server_url) as connection, psycopg.connect(server_url) as spender:
        batch = run_batch(due, connection)
        assert batch.lots == LOTS_MAX
        held = {row[0] for row in raw("SELECT account_id FROM {s}.base WHERE payments > 0")}
        assert not held, "the batch isn't committed"
        member = raw.one(
            "SELECT name FROM {s}.account WHERE id = (SELECT account_id FROM {s}.open_lot WHERE expires_at IS NOT NULL"
            " ORDER BY expires_at, account_id LIMIT 1)"
        )

        def spend() -> object:
            points = due.ledger.within(spender).points
            done = points.spend(key="mug", member=member, amount=1, currency=CURRENCY, reward=REWARD)
            spender.commit()
            return done

        spending = Background(spend)
        observer.until_blocked(pid_of(spender), by=pid_of(connection))
        connection.commit()
        spending.result()
    assert open_lots(raw) == LOTS + len(MEMBERS) - LOTS_MAX - 1
    assert due.points.expire().lots == LOTS - LOTS_MAX


@pytest.mark.stores("postgres")
@pytest.mark.req("0.4")
@pytest.mark.req("1.13")
def test_a_batch_waits_for_nobody(due: Club, server_url: str) -> None:
    """A member with a transaction left open is passed over; the others' points go, and that one's with the next tick."""
    with psycopg.connect(server_url) as connection:
        due.ledger.within(connection).points.spend(key="mug", member="cleo", amount=1, currency=CURRENCY, reward=REWARD)
        done = due.points.expire()
        assert (done.lots, done.skipped) == (LOTS - LOTS_EACH, LOTS_EACH)
        connection.commit()
    assert due.points.expire().lots == LOTS_EACH


def test_points_taken_past_the_lots_do_not_stop_the_expirer(due: Club, ledger: Ledger) -> None:
    """An account with fewer points than its lots say loses what it has, and the others lose theirs as ever."""
    ledger.post(key="past", kind="claim", debit="ben", credit="world", amount=5, currency=CURRENCY)
    done = due.points.expire()
    assert (done.points, done.skipped) == (LOTS - 5 + 1, 4)
    assert due.posted("ben") == 0
    assert due.points.expire().skipped == 4
    ledger.post(key="back", kind="claim", debit="world", credit="ben", amount=5, currency=CURRENCY)
    assert due.points.expire().lots == 4


@pytest.mark.req("0.4")
def test_two_expirers_at_once_share_the_work(due: Club, store_url: str, ledger_name: str) -> None:
    """Started together and repeated until nothing is due, they expire each lot once."""

    def work() -> int:
        done = 0
        with lastro.connect(store_url, ledger=ledger_name, clock=due.clock) as own:
            while True:
                expired = own._walk(expire(own._operations.terms(), lots_max=7))
                done += expired.lots
                if expired.lots == 0 and expired.skipped == 0:
                    return done

    assert sum(expect_int(done) for done in together([work, work, work])) == LOTS
    assert due.posted("points:expired") == LOTS


@pytest.mark.req("0.4")
@pytest.mark.case("C055")
@pytest.mark.parametrize("where", ["between", "middle"])
def test_an_expirer_that_is_killed_is_gone_on_with(
    due: Club, raw: Raw, store_url: str, ledger_name: str, where: str
) -> None:
    """SIGKILL between two batches keeps the first, in the middle of one gives it back; then each lot goes once."""
    with expirer(store_url, ledger_name, due.clock(), where) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"batch {LOTS_MAX}\n"
        process.kill()
        process.wait()
    kept = LOTS_MAX if where == "between" else 0
    assert open_lots(raw) == LOTS + len(MEMBERS) - kept
    assert_balanced(due.ledger)
    done = drained(due, store_url, ledger_name)
    assert done == LOTS - kept
    assert uses_of_lots(raw) == {1}
    assert due.posted("points:expired") == LOTS


def drained(due: Club, url: str, name: str) -> int:
    """Expire until nothing is due or held by a session that the server hasn't noticed the death of yet."""
    done = 0
    with lastro.connect(url, ledger=name, clock=due.clock) as own:
        while True:
            expired = own.points.expire()
            done += expired.lots
            if not expired.lots and not expired.skipped:
                return done


def run_batch(due: Club, connection: psycopg.Connection[object]) -> Batch:
    """Run one batch in a transaction that the test holds, and commits when it likes."""
    held, terms = due.ledger.within(connection), due.ledger._operations.terms()
    return held._engine.run(partial(expire_batch, terms, after=None, lots_max=LOTS_MAX), Effect.KEYED)


def expect_int(value: object) -> int:
    """The value, or the error that stands in its place."""
    if isinstance(value, BaseException):
        raise value
    assert isinstance(value, int)
    return value


def test_the_limit_is_named() -> None:
    """500 lots a transaction, as the documents say."""
    assert LOTS_EXPIRED_MAX == 500
