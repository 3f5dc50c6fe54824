"""
The workers of a rehearsal: the product's own ticks in the product's own loop, and what they measure.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from lastro import telemetry
from lastro.rehearsal.member import Line
from lastro.rehearsal.scenario import Hire
from lastro.rehearsal.stage import Stage
from lastro.workers.loop import Loop

# What a batch of the queue's worker took, by the product's own measurement.
BATCH_MS = "lastro_settlement_batch_ms"
POINTS_MAX = 100_000


@dataclass
class CrewFacts:
    """
    What one process of workers did. `figures` by worker; `batches_ms`: how long each batch took.
    """

    figures: dict[str, dict[str, int]] = field(default_factory=dict)
    errors: int = 0
    batches_ms: list[float] = field(default_factory=list)


def work(line: Line, stage: Stage, hire: Hire) -> CrewFacts:
    """
    Let the workers that *hire* makes work until told to stop.
    """
    stop, facts = threading.Event(), CrewFacts()
    loops = [Loop(worker, stop) for worker in hire(stage, stop.is_set)]
    line.wait_for_start()

    def hear(name: str, value: float, _: Mapping[str, str]) -> None:
        if name == BATCH_MS and len(facts.batches_ms) < POINTS_MAX:
            facts.batches_ms.append(value)

    end_listening = telemetry.listen(hear)
    failures: list[BaseException] = []
    threads = [threading.Thread(target=_run, args=(loop, failures), daemon=True) for loop in loops]
    for thread in threads:
        thread.start()
    line.stopped(None)
    stop.set()
    for thread in threads:
        thread.join()
    end_listening()
    if failures:
        raise failures[0]
    for loop in loops:
        facts.figures[loop.worker.name] = dict(loop.totals.figures)
        facts.errors += loop.totals.errors
    return facts


def _run(loop: Loop, failures: list[BaseException]) -> None:
    try:
        loop.run()
    except BaseException as failure:  # noqa: BLE001 - told to the parent, as a process that failed
        failures.append(failure)
