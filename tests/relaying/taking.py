"""Targets of the tests' own: one that remembers what it took, and one that writes it to a file that outlives its process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lastro import Ledger
from lastro.relaying import ACKNOWLEDGED, Outcome, Outgoing, Relay, RelayTerms

# Short enough for a test to wait for, long enough for a busy machine.
LEASE_MS, PUBLISH_MS = 5_000, 2_000
# What is retried at once.
EAGER = RelayTerms(
    lease_ms=LEASE_MS,
    pause_ms=0,
    pause_max_ms=0,
    target_pause_max_ms=0,
    failures_apart_ms=0,
    noted_every_ms=0,
)
ROUNDS_MAX = 50

Answer = Callable[[Outgoing], Outcome]


class Taken(NamedTuple):
    """An event as it was received."""

    event_id: str
    key: str


class Taking:
    """Takes whatever *answer* acknowledges; what it took stands in `taken`, in the order of its coming."""

    def __init__(self, answer: Answer = lambda _: ACKNOWLEDGED, *, failures_max: int | None = None) -> None:
        self.name, self.failures_max, self.answer = "taking", failures_max, answer
        self.taken: list[Taken] = []
        self.waves: list[int] = []
        self._lock = threading.Lock()

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """Ask `answer` about each event."""
        del timeout_ms
        self.waves.append(len(events))
        outcomes = []
        for event in events:
            outcome = self.answer(event)
            if outcome.verdict == "acknowledged":
                with self._lock:
                    self.taken.append(Taken(event.event_id, event.ordering_key))
            outcomes.append(outcome)
        return outcomes

    def close(self) -> None:
        """Nothing to close."""

    @property
    def ids(self) -> list[str]:
        """The ids of what was taken, in their order."""
        return [event.event_id for event in self.taken]


class TakingToFile(Taking):
    """Writes each event to a file as one line, in one write: it stays whole whoever is killed."""

    def __init__(self, path: Path) -> None:
        super().__init__(self._write)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def _write(self, event: Outgoing) -> Outcome:
        os.write(self._file, f"{event.event_id} {event.ordering_key}\n".encode())
        return ACKNOWLEDGED


def emit(ledger: Ledger, *events: tuple[str, str], topic: str = "bets", payload: dict[str, Any] | None = None) -> None:
    """Put events into the outbox: (event id, ordering key)."""
    ledger.outbox.emit([
        {"event_id": event_id, "topic": topic, "ordering_key": key, "payload": payload or {"amount": "5"}}
        for event_id, key in events
    ])  # fmt: skip


def relay(ledger: Ledger, target: Any, **more: Any) -> Relay:
    """A relay that loses no time."""
    terms = EAGER._replace(**{name: more.pop(name) for name in list(more) if name in RelayTerms._fields})
    return Relay(ledger, target, terms=terms, **({"publish_timeout_ms": PUBLISH_MS} | more))


def drain(ledger: Ledger, target: Any, **more: Any) -> None:
    """Relay until a round publishes nothing more."""
    relaying = relay(ledger, target, **more)
    for _ in range(ROUNDS_MAX):
        if not relaying.run_once().published:
            return
    raise AssertionError("it goes on and on")


def wear_out(ledger: Ledger, target: Any, *, attempts: int, **more: Any) -> None:
    """Let what isn't taken be tried so often, while an event of another key is taken beside it each time."""
    relaying = relay(ledger, target, attempts_max=attempts, **more)
    for number in range(attempts):
        emit(ledger, (f"beside {number}", f"beside {number}"))
        relaying.run_once()


def in_order(taken: Sequence[Taken], emitted: Sequence[tuple[str, str]]) -> bool:
    """Whether each key's events were first taken in the order in which they were emitted, all of them."""
    firsts: dict[str, list[str]] = {}
    for event in dict.fromkeys(taken):
        firsts.setdefault(event.key, []).append(event.event_id)
    expected: dict[str, list[str]] = {}
    for event_id, key in emitted:
        expected.setdefault(key, []).append(event_id)
    return firsts == expected
