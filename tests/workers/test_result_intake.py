"""The intake acknowledges what is committed and nothing else, and goes on from there whatever stops it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from lastro import ConnectionLost, Fault, InvalidInput, config, telemetry
from lastro.betting.intake import Taken
from lastro.workers.kafka_source import Delivery, KafkaSource
from lastro.workers.loop import Facts
from lastro.workers.result_intake import ResultIntake

pytestmark = pytest.mark.req("3.14")


def delivery(offset: int, body: bytes = b"{}") -> Delivery:
    """A message of one partition."""
    return Delivery(body, b"match", "results", 0, offset)


class Queue:
    """Hands out what isn't acknowledged, from there on, and again from there once it was closed."""

    def __init__(self, deliveries: Sequence[Delivery]) -> None:
        self.deliveries, self.known, self.position = list(deliveries), 0, 0
        self.acknowledgements: list[list[int]] = []
        self.trouble: str | None = None
        self.refuses = False

    def receive(self, *, messages_max: int, timeout_s: float) -> list[Delivery]:
        """What comes next."""
        del timeout_s
        found = self.deliveries[self.position : self.position + messages_max]
        self.position += len(found)
        return found

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Move on."""
        if self.refuses:
            raise Fault("the broker is away")
        self.acknowledgements.append([each.offset for each in deliveries])
        self.known += len(deliveries)

    def behind(self) -> int:
        """What is left."""
        return len(self.deliveries) - self.position

    def close(self) -> None:
        """Begin anew behind what was acknowledged."""
        self.position = self.known


class Book:
    """A ledger that only takes messages: what it took is committed."""

    def __init__(self, answer: Callable[[int], str] = lambda _: "recorded") -> None:
        self.committed: list[str] = []
        self.closed = 0
        self.betting = SimpleNamespace(take=self._take)
        self._answer = answer

    def _take(self, body: bytes, *, market: bytes, topic: str, delivery: str) -> Taken:
        assert (market, topic) == (b"match", "results")
        outcome = self._answer(len(self.committed))
        self.committed.append(delivery)
        return Taken(outcome, "match", 1, None if outcome == "recorded" else body.decode())  # type: ignore[arg-type]

    def close(self) -> None:
        """Count."""
        self.closed += 1


def intake(book: Any, queue: Any, **more: Any) -> ResultIntake:
    """The worker on both."""
    return ResultIntake(book, source=queue, **more)


def test_a_batch_is_taken_and_then_acknowledged() -> None:
    """In order, each by its name of origin; one acknowledgement for all of them, and measurements."""
    heard: list[tuple[str, float, str | None]] = []
    book, queue = Book(), Queue([delivery(offset) for offset in range(3)])
    unheard = telemetry.listen(lambda name, value, labels: heard.append((name, value, labels.get("outcome"))))
    worker = intake(book, queue)
    assert worker.run_once() == Facts({"messages": 3, "recorded": 3}, more=True)
    assert worker.run_once() == Facts({"messages": 0}, more=False)
    unheard()
    assert [name.split("/")[:3] for name in book.committed] == [["results", "0", str(offset)] for offset in range(3)]
    assert queue.acknowledgements == [[0, 1, 2], []]
    assert heard == [("lastro_intake_messages", 1, "recorded")] * 3 + [("lastro_intake_behind_messages", 0, None)] * 2
    worker.close()
    assert book.closed == 1


def test_a_fault_acknowledges_what_was_before_it() -> None:
    """The message that met it comes again, and those behind it, in their order."""

    def failing_once(number: int) -> str:
        if number == 2 and not book.closed:
            raise ConnectionLost("the database is away")
        return "recorded"

    book, queue = Book(failing_once), Queue([delivery(offset) for offset in range(5)])
    worker = intake(book, queue)
    with pytest.raises(ConnectionLost):
        worker.run_once()
    assert queue.acknowledgements == [[0, 1]]
    worker.close()
    assert worker.run_once().figures == {"messages": 3, "recorded": 3}
    assert [name.split("/")[2] for name in book.committed] == ["0", "1", "2", "3", "4"]
    assert queue.known == 5


def test_an_acknowledgement_that_isnt_kept_is_a_fault() -> None:
    """Everything of the batch comes again: the ledger knows it."""
    book, queue = Book(), Queue([delivery(0), delivery(1)])
    queue.refuses = True
    worker = intake(book, queue)
    with pytest.raises(Fault):
        worker.run_once()
    worker.close()
    queue.refuses = False
    worker.run_once()
    assert (len(book.committed), queue.known) == (4, 2)


def test_a_stop_ends_the_batch() -> None:
    """What is in hand is the last; what wasn't taken isn't acknowledged, and is handed out again."""
    book, queue = Book(), Queue([delivery(offset) for offset in range(5)])
    worker = intake(book, queue, stopping=lambda: len(book.committed) == 2)
    assert worker.run_once().figures == {"messages": 2, "recorded": 2}
    assert (queue.known, queue.position) == (2, 2)


def test_a_dead_letter_and_trouble_are_said(caplog: pytest.LogCaptureFixture) -> None:
    """A message that is no result is a warning; the source's trouble is said when it comes and when it is over."""
    book, queue = Book(lambda _: "poison"), Queue([delivery(0, b"that is why")])
    queue.trouble = "_ALL_BROKERS_DOWN"
    worker = intake(book, queue)
    with caplog.at_level(logging.WARNING, logger="lastro.workers"):
        worker.run_once()
        worker.run_once()
        queue.trouble = None
        worker.run_once()
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == "intake: the source _ALL_BROKERS_DOWN"
    assert said[1].endswith("is a dead letter, poison: that is why")
    assert said[2:] == ["intake: the source goes on"]


def test_a_delivery_has_one_name() -> None:
    """The same at every delivery, another one where the topic was made anew; never longer than may be stored."""
    assert delivery(1).name == delivery(1).name != delivery(1, b"[]").name
    assert len(Delivery(b"", None, "t" * 249, 2**31, 2**63).name) <= 400


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("kafka://h:9", "topic and a group"),
        ("kafka://h:9?topic=t", "group"),
        ("kafka://h:9?group=g&topic=,", "topic"),
        ("http://h:9?topic=t&group=g", "kafka://"),
        ("kafka:?topic=t&group=g", "kafka://"),
        ("kafka://u:p@h:9?topic=t&group=g", "sasl.username"),
        ("kafka://h:9?topic=t&group=g&no.such.setting=1", "no.such.setting"),
        ("kafka://h:9?topic=t&group=g&session.timeout.ms=long", "session.timeout.ms"),
    ],
)
def test_what_is_no_source_is_refused(url: str, said: str) -> None:
    """At once, by name; a group that ledgers share would give each a part of the results."""
    with pytest.raises(InvalidInput, match=said):
        KafkaSource(url)


def test_without_a_source_there_is_no_intake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for by name it says what to set."""
    monkeypatch.delenv(config.INTAKE_SOURCE_VARIABLE, raising=False)
    with pytest.raises(InvalidInput, match=config.INTAKE_SOURCE_VARIABLE):
        ResultIntake(Book())  # type: ignore[arg-type]
