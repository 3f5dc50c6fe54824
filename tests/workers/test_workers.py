"""The two workers against a real database: what a tick does, shares, measures and leaves alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
import pytest

import lastro
from lastro import Ledger, telemetry
from lastro.errors import InvalidInput, SchemaOutdated
from lastro.model import limits
from lastro.plans import consolidating, ticking
from lastro.points.expiring import LOTS_EXPIRED_MAX
from lastro.testing import assert_balanced
from lastro.workers.consolidator import Consolidator
from lastro.workers.day_closer import DayCloser
from lastro.workers.loop import Loop
from lastro.workers.partition_keeper import PartitionKeeper
from lastro.workers.points_expirer import PointsExpirer
from lastro.workers.reconciler import INTERVAL_MS as RECONCILING_MS
from lastro.workers.reconciler import Reconciler
from lastro.workers.roster import WORK, workers_for
from tests.workers.filling import fill_tail, rows_in_tail

WAIT_S = 30
BATCH = limits.CONSOLIDATION_ROWS_MAX


@pytest.fixture
def heard() -> Iterator[list[tuple[str, float]]]:
    """Every measurement made during the test."""
    heard: list[tuple[str, float]] = []
    silence = telemetry.listen(lambda name, value, _: heard.append((name, value)))
    yield heard
    silence()


@pytest.fixture
def fill(connection: psycopg.Connection[Any], ledger: Ledger) -> Callable[[str, int], None]:
    """Give a hot account a tail of so many rows, each of 1."""
    return partial(fill_tail, ledger, connection)


@pytest.mark.req("0.4")
def test_a_tick_folds_in_batches_until_one_is_not_full(
    ledger: Ledger,
    connection: psycopg.Connection[Any],
    fill: Callable[[str, int], None],
    heard: list[tuple[str, float]],
) -> None:
    """12,345 entries are folded in as batches of 5,000, 5,000 and 2,345, and the balance stays what it was."""
    fill("platform", 12_345)
    heard.clear()
    before = ledger.balance("platform", "BRL")
    facts = Consolidator(ledger).run_once()
    assert (dict(facts.figures), facts.more) == (
        {"accounts": 1, "rows": 12_345, "batches": 3, "blocked": 0},
        False,
    )
    assert [value for name, value in heard if name == "lastro_consolidated_rows"] == [5_000, 5_000, 2_345]
    assert len([value for name, value in heard if name == "lastro_consolidation_batch_ms" and value > 0]) == 3
    assert rows_in_tail(connection, "platform") == 0
    assert ledger.balance("platform", "BRL") == before
    assert_balanced(ledger)


@pytest.mark.req("0.4")
def test_a_stopping_consolidator_ends_after_the_batch_in_hand(
    ledger: Ledger, connection: psycopg.Connection[Any], fill: Callable[[str, int], None]
) -> None:
    """Told to stop, it commits the batch in hand, whole, and leaves the rest for the next one."""
    fill("platform", 2 * BATCH + 1)
    facts = Consolidator(ledger, stopping=lambda: True).run_once()
    assert (facts.figures["rows"], facts.figures["batches"], facts.more) == (BATCH, 1, True)
    assert rows_in_tail(connection, "platform") == BATCH + 1
    assert ledger.balance("platform", "BRL").posted == 2 * BATCH + 1
    assert_balanced(ledger)


@pytest.mark.req("0.4")
def test_an_account_fed_without_end_does_not_starve_the_others(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, fill: Callable[[str, int], None]
) -> None:
    """Each account has its turn in every round: an account's batches are bounded, and the round goes on behind it."""
    for name in ("a", "b", "c"):
        fill(name, 50)
    batches: list[int] = []
    monkeypatch.setattr(ticking, "CONSOLIDATION_ACCOUNT_BATCHES_MAX", 2)

    def go_on(rows: int) -> bool:
        batches.append(rows)
        return True

    course = ticking.consolidate(rows_max=10, now=None, after_batch=go_on)
    done = ledger._walk(course)
    assert done == ticking.Consolidated(accounts=3, rows=60, batches=6, full=True)
    assert batches == [10] * 6


@pytest.mark.req("0.4")
def test_a_round_pages_through_all_accounts(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, fill: Callable[[str, int], None]
) -> None:
    """More accounts than one page holds are all folded in the same round."""
    for module in (ticking, consolidating):
        monkeypatch.setattr(module, "CONSOLIDATION_ACCOUNTS_MAX", 2)
    for name in ("a", "b", "c", "d", "e"):
        fill(name, 3)
    facts = Consolidator(ledger).run_once()
    assert (facts.figures["accounts"], facts.figures["rows"]) == (5, 15)


@pytest.mark.req("0.4")
def test_a_debit_left_open_holds_up_its_own_account_only(
    ledger: Ledger,
    connection: psycopg.Connection[Any],
    fill: Callable[[str, int], None],
    heard: list[tuple[str, float]],
) -> None:
    """A base row that somebody keeps locked is passed over after a bounded wait; the next round folds it in."""
    for name in ("a", "b", "c"):
        fill(name, 3)
    held = connection.execute("SELECT min(account_id) FROM tail").fetchone()
    connection.execute("SELECT FROM base WHERE account_id = %s FOR NO KEY UPDATE", held)
    facts = Consolidator(ledger).run_once()
    assert dict(facts.figures) == {"accounts": 3, "rows": 6, "batches": 2, "blocked": 1}
    assert ("lastro_consolidation_blocked_accounts", 1) in heard
    connection.rollback()
    assert Consolidator(ledger).run_once().figures["rows"] == 3
    assert_balanced(ledger)


@pytest.mark.req("0.4")
def test_two_consolidators_at_once_share_the_work(
    ledger: Ledger, server_url: str, ledger_name: str, fill: Callable[[str, int], None]
) -> None:
    """Two of them, started together and repeated until nothing is left, fold each entry in exactly once."""
    fill("platform", 3 * BATCH)
    fill("other", BATCH + 7)
    line = threading.Barrier(2)
    folded: list[int] = []

    def work() -> None:
        with lastro.connect(server_url, ledger=ledger_name, pool_max=1) as own:
            consolidator = Consolidator(own)
            line.wait(WAIT_S)
            while rows := consolidator.run_once().figures["rows"]:
                folded.append(rows)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    Consolidator(ledger).run_once()
    assert sum(folded) == 4 * BATCH + 7
    assert ledger.balance("platform", "BRL").posted == 3 * BATCH
    assert_balanced(ledger)


@pytest.mark.req("0.4")
def test_the_database_goes_away_and_comes_back(
    ledger: Ledger,
    server_url: str,
    ledger_name: str,
    connection: psycopg.Connection[Any],
    fill: Callable[[str, int], None],
) -> None:
    """Its connection cut in the middle of its life, the consolidator is at work again with its next tick."""
    fill("platform", 10)
    with lastro.connect(server_url, ledger=ledger_name, pool_max=1) as own:
        loop = Loop(Consolidator(own), threading.Event())
        loop.tick()
        fill("more", 5)
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database() AND state = 'idle'"
        )
        connection.rollback()
        for _ in range(2):
            loop.tick()
    assert loop.totals.figures["rows"] == 15
    assert_balanced(ledger)


def test_a_ledger_that_is_not_there_ends_the_worker(server_url: str) -> None:
    """On a database without the ledger's tables a worker ends and says how to make them; once they are there it works."""
    name = "made_later"
    with lastro.connect(server_url, ledger=name, pool_max=1) as late:
        for worker in (Consolidator(late), PartitionKeeper(late)):
            with pytest.raises(SchemaOutdated, match="lastro migrate"):
                Loop(worker, threading.Event()).tick()
        late.migrate()
        loop = Loop(Consolidator(late), threading.Event())
        loop.tick()
        assert loop.totals.ticks == 1
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {name} CASCADE")


def test_the_partition_keeper_makes_what_is_missing(
    ledger: Ledger, connection: psycopg.Connection[Any], heard: list[tuple[str, float]]
) -> None:
    """When ids have come near the end of what is there, one tick makes partitions ahead of them; the next finds them."""
    keeper = PartitionKeeper(ledger)
    assert keeper.run_once().figures == {"partitions": 0}
    end = max(partition.to_id for partition in ledger.partitions())
    with connection.transaction():
        connection.execute("SELECT setval('transfer_id', %s)", [end - 1])
    facts = keeper.run_once()
    assert facts.figures["partitions"] == limits.PARTITIONS_AHEAD
    assert not facts.more
    assert ("lastro_partitions_made", limits.PARTITIONS_AHEAD) in heard
    assert keeper.run_once().figures == {"partitions": 0}


def test_the_roster_gives_each_worker_connections_of_its_own(server_url: str, ledger_name: str) -> None:
    """All work by default, each word once, an unknown word refused; no two workers share a ledger's connections."""
    opened: list[Ledger] = []

    def open_ledger() -> Ledger:
        opened.append(lastro.connect(server_url, ledger=ledger_name))
        return opened[-1]

    workers = workers_for([], open_ledger=open_ledger, stopping=lambda: False)
    assert [worker.name for worker in workers] == [
        "consolidator",
        "partition_keeper",
        "hold_expirer",
        "points_expirer",
        "day_closer",
        "reconciler",
        "adopter",
        "importer",
        "settler",
    ]
    assert len(opened) == len(workers)
    again = workers_for(["partitions", "partitions"], open_ledger=open_ledger, stopping=lambda: False)
    assert [worker.name for worker in again] == ["partition_keeper"]
    with pytest.raises(InvalidInput, match=f"no work called 'sweep'; there is: {', '.join(WORK)}"):
        workers_for(["sweep"], open_ledger=open_ledger, stopping=lambda: False)


def test_the_day_closer_closes_a_day_and_waits(
    ledger: Ledger, connection: psycopg.Connection[Any], heard: list[tuple[str, float]]
) -> None:
    """A tick makes the mark that is due and measures it; while a transaction is open it tells so, and doesn't tick at once."""
    ledger.open_account("platform", "BRL", keeping="hot")
    ledger.post(key="k", kind="pay", debit="world", credit="platform", amount=5, currency="BRL")
    ledger.within(connection).post(key="open", kind="pay", debit="world", credit="platform", amount=5, currency="BRL")
    closer = DayCloser(ledger)
    facts = closer.run_once()
    assert (dict(facts.figures), facts.more) == ({"marks": 0, "closings": 0, "waits_for": 1}, False)
    connection.rollback()
    assert dict(closer.run_once().figures) == {"marks": 1, "closings": 2, "waits_for": 0}
    told = [(name, value) for name, value in heard if name.startswith("lastro_closings")]
    assert told == [("lastro_closings_wait_for", 1), ("lastro_closings", 2)]
    assert dict(closer.run_once().figures) == {"marks": 0, "closings": 0, "waits_for": 0}


def test_the_intervals_are_the_promised_ones() -> None:
    """The consolidator ticks every 500 ms, the others every minute; batches have at most 5,000 rows and 500 lots."""
    assert (Consolidator.interval_ms, PartitionKeeper.interval_ms, BATCH) == (500, 60_000, 5_000)
    assert (PointsExpirer.interval_ms, LOTS_EXPIRED_MAX) == (60_000, 500)
    assert RECONCILING_MS == 600_000


@pytest.mark.req("2.7")
@pytest.mark.req("3.19")
def test_the_reconciler_measures_and_warns(
    ledger: Ledger,
    connection: psycopg.Connection[Any],
    heard: list[tuple[str, float]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A tick says what it compared; while an incident is open each says so, and the worker remembers."""
    ledger.open_account("a", "BRL")
    reconciler = Reconciler(ledger)
    assert reconciler.run_once().figures == {"accounts": 2, "skipped": 0, "opened": 0}
    assert (("lastro_open_incidents", 0) in heard, reconciler.found_drift) == (True, False)
    connection.execute("UPDATE base SET amount = 5 WHERE floor = 0")
    connection.commit()
    assert reconciler.run_once().figures == {"accounts": 1, "skipped": 1, "opened": 1}
    caplog.clear()
    assert reconciler.run_once().figures["opened"] == 0
    assert reconciler.found_drift
    assert [value for name, value in heard if name == "lastro_open_incidents"] == [0, 1, 1]
    assert [value for name, value in heard if name == "lastro_drifted_accounts"] == [0, 1, 1]
    assert [value for name, value in heard if name == "lastro_incidents_opened"] == [1]
    assert "open incidents: 1" in caplog.text
    assert reconciler.run_once().more is False
    assert Reconciler(ledger, stopping=lambda: True).run_once().figures["accounts"] == 1
