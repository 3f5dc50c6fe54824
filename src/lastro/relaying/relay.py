"""
The relay: takes what waits in the outbox, publishes it, and records what was acknowledged.

It holds no lock and no transaction while events are on their way. In order, per key: of one key at most one event is on
its way, the next one follows its acknowledgement, and one relay at a time works on the key's lane. At least once: a relay
that dies, or loses its lane, before it has recorded leaves its events to the next one, which publishes them again under
the same ids. Whoever receives events twice sees each for the first time in the order of its key.
"""

from __future__ import annotations

import logging
import random
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from lastro.errors import InvalidInput
from lastro.ledger import Ledger
from lastro.model.limits import RELAY_PUBLISH_TIMEOUT_MS
from lastro.plans.relaying import Batch, Claimed, Done, Failure, Outgoing, RelayTerms
from lastro.relaying.delivering import Outcome, Target, shortened, unanswered
from lastro.telemetry import measure

# Batches of one lane before another gets its turn, and lanes of one round.
BATCHES_A_LANE_MAX: Final = 10
LANES_A_ROUND_MAX: Final = 64
HOLDER_BYTES: Final = 8
WAVES_SPARED: Final = 2
JITTER_SHARE_MIN: Final = 0.5

DEFAULT_TERMS: Final = RelayTerms()

_log = logging.getLogger("lastro.relaying")


class Relayed(NamedTuple):
    """
    What one round came to: events published, attempts that failed, events set aside, batches whose lane was lost; why the
    target was left alone, and whether more is waiting.
    """

    published: int = 0
    failed: int = 0
    set_aside: int = 0
    lost: int = 0
    left_alone: str | None = None
    more: bool = False


class Relay:
    """
    Publishes a ledger's events to one target. Several relays of one ledger share its lanes; they have the same target.

    Measures `lastro_outbox_published`, `lastro_outbox_failed`, `lastro_outbox_set_aside` and `lastro_outbox_batch_ms` a
    batch, and `lastro_outbox_age_ms`, the age of the oldest event, a round.
    """

    def __init__(
        self,
        ledger: Ledger,
        target: Target,
        *,
        terms: RelayTerms = DEFAULT_TERMS,
        publish_timeout_ms: int = RELAY_PUBLISH_TIMEOUT_MS,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        if publish_timeout_ms * WAVES_SPARED >= terms.lease_ms:
            raise InvalidInput(
                f"a lease must outlast more than {WAVES_SPARED} waves of events of publish_timeout_ms", argument="terms"
            )
        self._outbox, self._ledger, self._target = ledger.outbox, ledger, target
        self._terms = terms._replace(failures_max=terms.failures_max or target.failures_max)
        self._publish_timeout_ms, self._stopping = publish_timeout_ms, stopping
        # New in every process and every life of it: a name that outlives its process would hold a dead one's lanes.
        self._holder = f"relay:{secrets.token_hex(HOLDER_BYTES)}"

    def run_once(self) -> Relayed:
        """Publish what waits, lane by lane, until nothing does or the round is long enough."""
        state = self._outbox.target_state(self._target.name)
        if state.disabled_because is not None:
            self._measure_age()
            return Relayed(left_alone=f"switched off: {state.disabled_because}")
        if state.pausing:
            self._measure_age()
            return Relayed(left_alone="pausing")
        done = Relayed()
        fruitless: set[int] = set()
        for _ in range(LANES_A_ROUND_MAX):
            claimed = None if self._stopping() else self._outbox.claim(self._holder, self._terms)
            if claimed is None:
                break
            before = done.published
            try:
                # A lane of which nothing is taken waits for the next round; the others get their turn in this one.
                go_on = claimed.lane not in fruitless
                if go_on:
                    done, go_on = self._work(claimed, done)
            finally:
                self._outbox.give_back(claimed)
            if not go_on:
                break
            if done.published == before:
                fruitless.add(claimed.lane)
        else:
            done = done._replace(more=True)
        self._measure_age()
        return done

    def close(self) -> None:
        """Let go of the target's connections and the ledger's."""
        self._target.close()
        self._ledger.close()

    def _work(self, claimed: Claimed, done: Relayed) -> tuple[Relayed, bool]:
        for _ in range(BATCHES_A_LANE_MAX):
            began_s = time.monotonic()
            batch = self._outbox.take(claimed, self._terms)
            if batch is None:
                return done._replace(lost=done.lost + 1), True
            if not (batch.events or batch.waiting or batch.due_keys):
                return done, True
            outcome = self._publish(batch, give_up_s=began_s + self._terms.lease_ms / 1000)
            recorded = self._outbox.record(claimed, batch, outcome, self._target.name, self._terms)
            if recorded is None:
                _log.warning("lane %d was another relay's before its batch was recorded", claimed.lane)
                return done._replace(lost=done.lost + 1), True
            self._measure_batch(outcome, recorded.set_aside, time.monotonic() - began_s)
            done = Relayed(
                done.published + len(outcome.published),
                done.failed + len(outcome.failed),
                done.set_aside + recorded.set_aside,
                done.lost,
                outcome.unanswered,
            )
            if recorded.disabled:
                _log.error("%s is switched off: %s", self._target.name, outcome.unanswered or outcome.failed[0].reason)
            if outcome.unanswered is not None or recorded.disabled or self._stopping():
                return done, False
            if not outcome.published and not batch.waiting:
                break
        return done, True

    def _publish(self, batch: Batch, *, give_up_s: float) -> Done:
        queues: dict[str, deque[Outgoing]] = {}
        for event in batch.events:
            queues.setdefault(event.ordering_key, deque()).append(event)
        done = Done([], [], [], None)
        while queues and done.unanswered is None and not self._stopping():
            # A wave must be over while the lane is still ours, also one that takes somewhat longer than it may.
            if time.monotonic() + self._publish_timeout_ms * WAVES_SPARED / 1000 > give_up_s:
                break
            wave = [queue[0] for queue in queues.values()]
            for event, outcome in zip(wave, self._wave(wave), strict=True):
                done = self._after(event, outcome, queues, done)
        return done

    def _after(self, event: Outgoing, outcome: Outcome, queues: dict[str, deque[Outgoing]], done: Done) -> Done:
        queue = queues[event.ordering_key]
        match outcome.verdict:
            case "acknowledged":
                done.published.append(event.id)
                queue.popleft()
                if not queue:
                    del queues[event.ordering_key]
            case "unanswered":
                return done._replace(unanswered=done.unanswered or outcome.reason)
            case verdict:
                share = random.uniform(JITTER_SHARE_MIN, 1)  # noqa: S311 - jitter, no secret
                done.failed.append(Failure(event, outcome.reason, verdict == "impossible", share))
                queue.popleft()
                done.behind.extend(later.id for later in queue)
                del queues[event.ordering_key]
        return done

    def _wave(self, wave: list[Outgoing]) -> list[Outcome]:
        try:
            outcomes = self._target.publish(wave, timeout_ms=self._publish_timeout_ms)
        except Exception as error:  # noqa: BLE001 - whatever a client raises, nobody has acknowledged anything
            _log.warning("%s: %s", self._target.name, shortened(repr(error)))
            return [unanswered(error)] * len(wave)
        assert len(outcomes) == len(wave), f"{self._target.name} owes an outcome for each event"
        return outcomes

    def _measure_batch(self, done: Done, aside: int, elapsed_s: float) -> None:
        measure("lastro_outbox_batch_ms", elapsed_s * 1000)
        measure("lastro_outbox_published", len(done.published))
        measure("lastro_outbox_failed", len(done.failed))
        measure("lastro_outbox_set_aside", aside)

    def _measure_age(self) -> None:
        measure("lastro_outbox_age_ms", self._outbox.age_ms())
