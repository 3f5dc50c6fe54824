"""
What a run has measured so far, by name; and the run's own context, which every part is given.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

from bench import pgbench, scripts
from bench.loads import Compared, Load, alternate
from bench.scale import Scale
from bench.server import BenchServer

FAST, SLOW = "F0", "F1000"


@dataclass(kw_only=True)
class Run:
    """One run: its server, its lengths, its figures. Seeds are counted up from the given one, and noted."""

    server: BenchServer
    scale: Scale
    seed: int
    say: Callable[[str], None]
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    not_measured: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._seeds = count(self.seed)
        self.flush = FAST

    def next_seed(self) -> int:
        """A seed that no load of this run had."""
        return next(self._seeds)

    def note(self, name: str, **values: Any) -> None:
        """Keep a figure."""
        figure = {key: round(value, 4) if isinstance(value, float) else value for key, value in values.items()}
        self.figures[f"{name}.{self.flush}"] = figure
        self.say(f"{name}.{self.flush}: " + ", ".join(f"{key} {value}" for key, value in figure.items()))

    def figure(self, name: str) -> dict[str, Any]:
        """A figure of the flush that is being measured."""
        return self.figures[f"{name}.{self.flush}"]

    def limit(self, clients: int) -> Load:
        """Measure the limit now."""
        return pgbench.run(
            self.server.embedded, scripts.limit(), clients=clients, seconds=self.scale.limit_s, seed=self.next_seed()
        )

    def beside_limit(self, name: str, subject: Callable[[], Load], *, clients: int) -> Compared:
        """Measure *subject* beside the limit with so many clients, and keep the figure."""
        compared = alternate(lambda: self.limit(clients), subject, rounds=self.scale.rounds)
        values = asdict(compared)
        more = values.pop("more")
        self.note(name, limit_clients=clients, **values, **more)
        return compared


def in_process(module: str, order: dict[str, Any]) -> dict[str, Any]:
    """Run a client module in a process of its own and return what it says it did."""
    done = subprocess.run(
        [sys.executable, "-m", module], input=json.dumps(order), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{module} failed:\n{done.stderr[-3000:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
