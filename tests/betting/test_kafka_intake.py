"""
Results from Kafka, against librdkafka's mock cluster: brokers that speak Kafka's protocol over TCP, with consumer groups
and committed offsets, and no Apache Kafka. Nothing is lost and nothing counts twice, wherever an intake is killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lastro
from lastro import ConnectionLost, Ledger
from lastro.workers.kafka_source import KafkaSource
from lastro.workers.result_intake import ResultIntake
from tests.betting.betting_books import bet, market, money, nothing_is_held, players
from tests.betting.intake_process import GAPS
from tests.support.sessions import PATIENCE_S, Background, until

ROOT = Path(__file__).resolve().parents[2]
# Short enough for a killed consumer's partitions to be given away while a test waits.
SETTINGS = "&session.timeout.ms=1000&heartbeat.interval.ms=100&log_level=0"

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
    worker.close()
    broker.produce("outcomes", says("match", 4))
    again = intake(books, broker.source("outcomes"))
    assert drain(again, 1) == Counter(messages=1, recorded=1)
    again.close()


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
    with lastro.connect(books._engine.url, ledger=books._operations.ledger) as ledger:  # type: ignore[attr-defined]
        assert drain(ResultIntake(ledger, source=worker._source), 2)["recorded"] == 2
    assert calls[2] == calls[3]
    assert len(books.betting.dead_letters()) == 1
    worker.close()


def killed_in(gap: str, url: str, ledger: Ledger, source: str) -> None:
    """Run an intake as a process of its own until it is in the gap, and kill it there."""
    command = [sys.executable, "-m", "tests.betting.intake_process", url, ledger._operations.ledger, source, gap]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            said = Background(process.stdout.readline).result()
            assert said == "gap\n", f"the intake ended with {process.poll()}"
        finally:
            process.kill()


@pytest.mark.case("C055")
@pytest.mark.case("C065")
@pytest.mark.case("C068")
def test_an_intake_killed_in_any_gap(books: Ledger, broker: Broker, server_url: str) -> None:
    """Also between the transaction's commit and the offset's: what comes again is known, and nothing is left out."""
    players(books, "ana")
    topic = "killed"
    for place, gap in enumerate(GAPS):
        names = [f"{gap}:{number}" for number in range(3)]
        for name in names:
            market(books, name)
            bet(books, name, market=name, stake=10)
        # One partition for all, so that a gap is in the middle of something.
        poison = (names[0], f"poison {place}".encode())
        broker.produce(topic, *((names[0], says(name, 1)[1].replace(b"}, ", b"}, ", 1)) for name in names[:1]), poison)
        broker.produce(topic, *(says(name, 1) for name in names[1:]))
        killed_in(gap, server_url, books, broker.source(topic))
    worker = intake(books, broker.source(topic))
    written: Callable[[], bool] = lambda: (  # noqa: E731
        bool(worker.run_once().figures)
        and all(books.betting.market(f"{gap}:{number}").result_version == 1 for gap in GAPS for number in range(3))
        and len(books.betting.dead_letters()) == len(GAPS)
    )
    until(written, "every message to be taken")
    # Whatever else was not acknowledged comes now, and is known.
    for _ in range(4):
        worker.run_once()
    worker.close()
    assert books.betting.backlog().results == 3 * len(GAPS)
    assert len(books.betting.dead_letters()) == len(GAPS)
    assert books.betting.settle().settled == 3 * len(GAPS)
    assert nothing_is_held(books, "ana")


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
