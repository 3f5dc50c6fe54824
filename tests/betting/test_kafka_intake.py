"""
Results from Kafka, against librdkafka's mock cluster: brokers that speak Kafka's protocol over TCP, with consumer groups
and committed offsets, and no Apache Kafka. Nothing is lost and nothing counts twice, wherever an intake is killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lastro import ConnectionLost, Ledger
from lastro.workers.kafka_source import KafkaSource
from lastro.workers.result_intake import ResultIntake
from tests.betting.betting_books import bet, market, money, nothing_is_held, players
from tests.betting.intake_process import GAPS
from tests.support.sessions import PATIENCE_S, Background, until

ROOT = Path(__file__).resolve().parents[2]
# Short enough for a killed consumer's partitions to be given away while a test waits, and longer than the three seconds
# that a group of the mock cluster's takes to form.
SETTINGS = "&session.timeout.ms=4000&heartbeat.interval.ms=500&log_level=0"

pytestmark = [pytest.mark.req("3.14"), pytest.mark.req("3.17")]


class Broker:
    """A mock cluster that lives in this process, and what is produced to it."""

    def __init__(self) -> None:
        from confluent_kafka import Producer

        self._producer: Any = Producer({"test.mock.num.brokers": 1, "log_level": 0, "linger.ms": 0})
        brokers = self._producer.list_topics(timeout=PATIENCE_S).brokers.values()
        self.address = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)

    def source(self, topic: str) -> str:
        """The URL of a topic, for a group of its own."""
        return f"kafka://{self.address}?topic={topic}&group=of-{topic}{SETTINGS}"

    def produce(self, topic: str, *messages: tuple[str | None, bytes | None]) -> None:
        """Send messages, each with its key, and wait until they are there."""
        for key, body in messages:
            self._producer.produce(topic, key=key, value=body)
        assert self._producer.flush(PATIENCE_S) == 0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several intakes take turns in one thread here."""
    monkeypatch.setattr("lastro.workers.result_intake.RECEIVE_TIMEOUT_S", 0.05)


@pytest.fixture(scope="module")
def broker() -> Broker:
    """One cluster for all tests of this module; each has topics and groups of its own."""
    return Broker()


def says(name: str, version: int, winner: str = "home") -> tuple[str, bytes]:
    """A result, keyed by its market."""
    said = {"market": name, "version": version, "outcomes": {winner: "won"}, "others": "lost"}
    return name, json.dumps(said).encode()


def drain(worker: ResultIntake, messages: int) -> Counter[str]:
    """Run an intake until it has taken so many messages; what became of them."""
    figures: Counter[str] = Counter()

    def enough() -> bool:
        figures.update(worker.run_once().figures)
        return figures["messages"] >= messages

    until(enough, f"{messages} messages, after {figures}")
    return figures


def intake(ledger: Ledger, url: str) -> ResultIntake:
    """An intake on connections of the test's ledger."""
    return ResultIntake(ledger, source=KafkaSource(url))


def test_results_come_from_kafka(books: Ledger, broker: Broker) -> None:
    """Each message has its outcome, poison is kept with its reason and stops nothing, and what was taken comes no more."""
    players(books, "ana")
    for name in ("match", "second"):
        market(books, name)
        bet(books, name, market=name)
    broker.produce(
        "outcomes",
        says("match", 1),
        says("match", 1),
        ("match", b"{"),
        ("match", None),
        ("second", says("match", 2)[1]),
        (None, says("second", 1, "away")[1]),
        says("nowhere", 1),
        says("match", 3, "away"),
        says("match", 2),
        says("match", 3, "draw"),
    )
    worker = intake(books, broker.source("outcomes"))
    figures = drain(worker, 10)
    assert figures == Counter(messages=10, recorded=3, duplicate=1, outdated=1, conflict=1, unknown_market=1, poison=3)
    letters = books.betting.dead_letters()
    assert Counter(letter.code for letter in letters) == {"poison": 3, "unknown_market": 1, "conflict": 1}
    assert all(letter.topic == "outcomes" and letter.reason for letter in letters)
    books.betting.settle()
    assert (money(books, "ana"), books.betting.bet("match").legs[0].outcome) == ((800, 0), "lost")
    consumer = worker._source._consumer  # type: ignore[attr-defined]
    assert sum(max(0, place.offset) for place in consumer.committed(consumer.assignment())) == 10
    worker.close()


def test_a_database_that_is_away_loses_no_message(
    books: Ledger, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tick ends at the message that met the fault; from there on all come again, and a dead letter isn't doubled."""
    market(books)
    topic = "away"
    broker.produce(topic, ("match", b"poison"), says("match", 1), says("match", 2), says("match", 3))
    worker = intake(books, broker.source(topic))
    take = books.betting.take
    calls: list[str] = []

    def failing(*arguments: Any, **more: Any) -> Any:
        calls.append(more["delivery"])
        if len(calls) == 3:
            raise ConnectionLost("the database is away")
        return take(*arguments, **more)

    monkeypatch.setattr(type(books.betting), "take", lambda _, *arguments, **more: failing(*arguments, **more))
    with pytest.raises(ConnectionLost):
        drain(worker, 4)
    assert books.betting.market("match").result_version == 1
    worker.close()
    assert drain(worker, 2)["recorded"] == 2
    assert calls[2] == calls[3]
    assert len(books.betting.dead_letters()) == 1
    worker.close()


def started(gap: str, url: str, ledger: Ledger, source: str) -> subprocess.Popen[str]:
    """Start an intake as a process of its own that waits in the gap."""
    command = [sys.executable, "-m", "tests.betting.intake_process", url, ledger._operations.ledger, source, gap]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.case("C055")
@pytest.mark.case("C065")
@pytest.mark.case("C068")
def test_an_intake_killed_in_any_gap(books: Ledger, broker: Broker, server_url: str) -> None:
    """Also between the transaction's commit and the offset's: what comes again is known, and nothing is left out."""
    players(books, "ana")
    for gap in GAPS:
        for name in (gap, f"{gap}:late"):
            market(books, name)
            bet(books, name, market=name, stake=10)
        # The poison is taken before the gap, and comes again.
        broker.produce(f"killed-{gap}", (gap, b"poison"), says(gap, 1), says(gap, 2, "away"))
    processes = {gap: started(gap, server_url, books, broker.source(f"killed-{gap}")) for gap in GAPS}
    try:
        for gap, process in processes.items():
            assert process.stdout is not None
            assert Background(process.stdout.readline).result() == "gap\n", f"{gap}: it ended with {process.poll()}"
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()
    letters = {"received": 0, "committed": 1, "unacknowledged": 1, "acknowledged": 1}
    assert Counter(letter.topic for letter in books.betting.dead_letters()) == Counter(
        {f"killed-{gap}": count for gap, count in letters.items() if count}
    )
    for gap in GAPS:
        broker.produce(f"killed-{gap}", says(f"{gap}:late", 1))
    workers = {gap: intake(books, broker.source(f"killed-{gap}")) for gap in GAPS}
    figures = {gap: Counter[str]() for gap in GAPS}

    def all_taken() -> bool:
        for gap, worker in workers.items():
            figures[gap].update(worker.run_once().figures)
        return all(books.betting.market(f"{gap}:late").result_version == 1 for gap in GAPS)

    until(all_taken, "the last messages")
    for worker in workers.values():
        worker.close()
    assert figures["acknowledged"] == Counter(messages=1, recorded=1)
    assert figures["unacknowledged"] == Counter(messages=4, recorded=1, poison=1, duplicate=2)
    assert figures["received"] == Counter(messages=4, recorded=3, poison=1)
    assert Counter(letter.topic for letter in books.betting.dead_letters()) == Counter(f"killed-{gap}" for gap in GAPS)
    assert {books.betting.market(gap).result_version for gap in GAPS} == {2}
    assert books.betting.settle().settled == 2 * len(GAPS)
    assert nothing_is_held(books, "ana")
    # Four bets of 10 were lost, four brought back 20 each.
    assert money(books, "ana") == (1_000, 0)


def test_two_intakes_share_a_topic(books: Ledger, broker: Broker) -> None:
    """One joins while the other works: partitions change hands, what comes twice is known, the newest version stands."""
    topic, names = "shared", [f"m{number}" for number in range(8)]
    for name in names:
        market(books, name)
    broker.produce(topic, *(says(name, version) for version in range(1, 6) for name in names))
    one = intake(books, broker.source(topic))
    drain(one, 1)
    two = intake(books, broker.source(topic))
    broker.produce(topic, *(says(name, version) for version in range(6, 11) for name in names))

    def newest() -> bool:
        one.run_once()
        two.run_once()
        return all(books.betting.market(name).result_version == 10 for name in names)

    until(newest, "the newest versions")
    one.close()
    two.close()
    assert books.betting.dead_letters() == []
