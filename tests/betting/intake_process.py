"""
An intake that stops in a gap, to be killed there: `python -m tests.betting.intake_process URL LEDGER SOURCE GAP`.

GAP is `received` (nothing is taken yet), `committed` (one message is in the ledger), `unacknowledged` (all of them are,
and Kafka doesn't know) or `acknowledged`. It says `gap` on stdout, and waits.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

import lastro
from lastro.workers.kafka_source import Delivery, KafkaSource
from lastro.workers.result_intake import ResultIntake

GAPS = ("received", "committed", "unacknowledged", "acknowledged")


class Stopping(KafkaSource):
    """Kafka, with a stop in one of the gaps."""

    gap = ""

    def receive(self, *, messages_max: int, timeout_s: float) -> list[Delivery]:
        """Receive."""
        deliveries = super().receive(messages_max=messages_max, timeout_s=timeout_s)
        if deliveries:
            self.reached("received")
        return deliveries

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge."""
        if deliveries:
            self.reached("unacknowledged")
        super().acknowledge(deliveries)
        if deliveries:
            self.reached("acknowledged")

    def reached(self, gap: str) -> None:
        """Wait for the end in the gap that was asked for."""
        if gap == self.gap:
            print("gap", flush=True)  # noqa: T201  (heard by the test)
            signal.pause()


def main(url: str, name: str, source_url: str, gap: str) -> None:
    """Take results until the gap is reached."""
    source = Stopping(source_url)
    source.gap = gap
    worker = ResultIntake(lastro.connect(url, ledger=name), source=source)
    take = worker._take

    def took(delivery: Delivery) -> str:
        outcome = take(delivery)
        source.reached("committed")
        return outcome

    worker._take = took  # type: ignore[method-assign]
    while True:
        worker.run_once()


if __name__ == "__main__":
    main(*sys.argv[1:])
