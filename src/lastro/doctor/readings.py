"""
Readings: what was measured, of what, and in which unit; and a sample, which is all that was read at one moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

Value: TypeAlias = int | float | str | None


@dataclass(frozen=True)
class Reading:
    """
    One thing that was read. `subject` says of which account, table, slot, … where there are several of its name.

    `detail` is what belongs to it besides, fit for JSON. Where it couldn't be read, `value` is None and `trouble` says why.
    """

    name: str
    value: Value
    unit: str
    subject: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    trouble: str | None = None


@dataclass(frozen=True)
class Sample:
    """
    All that was read at one moment, by the database's clock.
    """

    at: datetime
    readings: tuple[Reading, ...]

    def named(self, name: str) -> Iterator[Reading]:
        """Return the readings of *name* that could be read, one a subject."""
        return (reading for reading in self.readings if reading.name == name and reading.trouble is None)

    def number(self, name: str, subject: str = "") -> float | None:
        """Return a reading's value as a number; None where it wasn't read, or is none."""
        for reading in self.named(name):
            if reading.subject == subject and isinstance(reading.value, int | float):
                return reading.value
        return None

    @property
    def troubles(self) -> tuple[Reading, ...]:
        """What couldn't be read."""
        return tuple(reading for reading in self.readings if reading.trouble is not None)
