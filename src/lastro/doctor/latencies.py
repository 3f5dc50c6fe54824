"""
How long this process's own calls of a ledger take, as readings: percentiles of what was called since the last sample.
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Final, Self

from lastro.doctor.readings import Reading
from lastro.telemetry import listen

MEASURED: Final = "lastro_call_ms"
# A bucket is so much wider than the one before it: a percentile is told within a tenth.
BUCKET_RATIO: Final = 1.1
BUCKET_FIRST_MS: Final = 0.05
BUCKETS_MAX: Final = 160
PERCENTILES: Final = (("call_p50", 0.50), ("call_p99", 0.99))


class Latencies:
    """
    Listens to the calls of every ledger of this process while it is open; `readings` is what `Readings(also=…)` takes.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._counts: dict[str, dict[int, int]] = {}
        self._longest_ms: dict[str, float] = {}
        self._empty()
        self._deafen = listen(self._hear)

    def readings(self) -> Iterable[Reading]:
        """Return what was called since the last time, call by call: how often, percentiles, the longest."""
        with self._turn:
            counts, longest_ms = self._counts, self._longest_ms
            self._empty()
        for call, buckets in sorted(counts.items()):
            total = sum(buckets.values())
            yield Reading("calls", total, "calls", call)
            for name, share in PERCENTILES:
                yield Reading(name, min(_percentile(buckets, share), longest_ms[call]), "ms", call)
            yield Reading("call_max", longest_ms[call], "ms", call)

    def close(self) -> None:
        """Hear no more."""
        self._deafen()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _empty(self) -> None:
        self._counts = defaultdict(lambda: defaultdict(int))
        self._longest_ms = defaultdict(float)

    def _hear(self, name: str, value: float, labels: Mapping[str, str]) -> None:
        if name != MEASURED:
            return
        call, bucket = labels["call"], _bucket(value)
        with self._turn:
            self._counts[call][bucket] += 1
            self._longest_ms[call] = max(self._longest_ms[call], value)


def _bucket(ms: float) -> int:
    if ms <= BUCKET_FIRST_MS:
        return 0
    return min(BUCKETS_MAX, math.ceil(math.log(ms / BUCKET_FIRST_MS, BUCKET_RATIO)))


def _percentile(buckets: Mapping[int, int], share: float) -> float:
    left = share * sum(buckets.values())
    for bucket in sorted(buckets):
        left -= buckets[bucket]
        if left <= 0:
            return BUCKET_FIRST_MS * float(BUCKET_RATIO**bucket)
    return BUCKET_FIRST_MS
