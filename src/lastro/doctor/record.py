"""
The record: the samples of late, in memory and bounded, and the window that findings are made of.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Final

from lastro.doctor.finding import Finding
from lastro.doctor.findings import find
from lastro.doctor.readings import Sample

# An hour at one sample a second.
SAMPLES_KEPT_MAX: Final = 3_600
# Findings speak of what is, and not of what was an hour ago.
WINDOW_S: Final = 30.0


class Record:
    """
    Samples in their order. Threads may share it: one adds, others read.
    """

    def __init__(self, *, samples_max: int = SAMPLES_KEPT_MAX, window_s: float = WINDOW_S) -> None:
        self._samples: deque[Sample] = deque(maxlen=samples_max)
        self._window_s = window_s
        self._turn = threading.Lock()

    def add(self, sample: Sample) -> None:
        """Add a sample; the oldest goes where there are too many."""
        with self._turn:
            self._samples.append(sample)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All samples that are kept."""
        with self._turn:
            return tuple(self._samples)

    def window(self) -> tuple[Sample, ...]:
        """The samples of the last seconds."""
        samples = self.samples
        return tuple(each for each in samples if (samples[-1].at - each.at).total_seconds() <= self._window_s)

    def findings(self) -> tuple[Finding, ...]:
        """What the window says is wrong."""
        return find(self.window())
