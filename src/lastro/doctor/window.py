"""
A window of samples, as rules ask it: means, growth, the latest value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lastro.doctor.readings import Reading, Sample

# Fewer samples show an instant and no state of affairs.
SAMPLES_MIN: Final = 3


class Window:
    """
    Samples in their order, at least one.
    """

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.samples = samples
        self.last = samples[-1]
        self.span_s = (samples[-1].at - samples[0].at).total_seconds()

    @property
    def is_long(self) -> bool:
        """Whether it shows a state of affairs, and not an instant."""
        return len(self.samples) >= SAMPLES_MIN

    def mean(self, name: str, subject: str = "") -> float:
        """The mean of a reading over all samples; where a sample has none of that subject it counts as 0."""
        return sum(sample.number(name, subject) or 0.0 for sample in self.samples) / len(self.samples)

    def seen(self, name: str, subject: str = "") -> float:
        """In which share of the samples the reading is above 0."""
        return sum((sample.number(name, subject) or 0.0) > 0 for sample in self.samples) / len(self.samples)

    def growth(self, name: str, subject: str = "") -> float | None:
        """How much a reading grew from the first sample that has it to the last; None with fewer than two."""
        found = [value for sample in self.samples if (value := sample.number(name, subject)) is not None]
        return found[-1] - found[0] if len(found) > 1 else None

    def subjects(self, name: str) -> list[str]:
        """Every subject that a reading had, in order of the first sight."""
        return list(dict.fromkeys(reading.subject for sample in self.samples for reading in sample.named(name)))

    def of(self, name: str, subject: str) -> Iterator[Reading]:
        """The readings of one subject, in their order."""
        for sample in self.samples:
            for reading in sample.named(name):
                if reading.subject == subject:
                    yield reading

    def latest(self, name: str) -> Iterator[Reading]:
        """The readings of the last sample."""
        return self.last.named(name)
