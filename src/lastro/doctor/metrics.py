"""
Readings and findings in Prometheus's text format.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from lastro.doctor.finding import Finding
from lastro.doctor.readings import Reading, Sample

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PREFIX: Final = "lastro_doctor_"
# What only grows is a counter, by Prometheus's custom with `_total` at its end.
COUNTERS: Final = frozenset(
    {
        "checkpoints_timed", "checkpoints_requested", "checkpoint_write_ms", "checkpoint_sync_ms", "wal_bytes",
        "commits", "rollbacks", "deadlocks", "conflicts", "replica_replayed",
    }
)  # fmt: skip
_ENDINGS: Final = {"s": "_seconds", "bytes": "_bytes", "ms": "_ms", "share": "_ratio"}
_NOT_A_NAME: Final = re.compile(r"[^a-z0-9_]")


def exposition(sample: Sample, findings: Iterable[Finding]) -> str:
    """
    Return the text of a scrape: every reading that is a number, what couldn't be read, and each finding as a 1.
    """
    lines: dict[str, list[str]] = defaultdict(list)
    for reading in sample.readings:
        if reading.trouble is not None:
            lines[f"{PREFIX}unreadable"].append(_line(f"{PREFIX}unreadable", {"reading": reading.name}, 1))
        elif isinstance(reading.value, int | float):
            labels = {"subject": reading.subject} if reading.subject else {}
            lines[_name(reading)].append(_line(_name(reading), labels, reading.value))
    findings_name = f"{PREFIX}finding"
    lines[findings_name] = [
        _line(findings_name, {"code": one.code, "severity": one.severity, "subject": one.subject}, 1)
        for one in findings
    ]
    told = []
    for name, values in lines.items():
        told.append(f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}")
        told += values
    return "\n".join(told) + "\n"


def _name(reading: Reading) -> str:
    ending = _ENDINGS.get(reading.unit, "")
    name = PREFIX + _NOT_A_NAME.sub("_", reading.name.lower())
    if not name.endswith(ending):
        name += ending
    return f"{name}_total" if reading.name in COUNTERS else name


def _line(name: str, labels: dict[str, str], value: float) -> str:
    said = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{said}}} {value}" if said else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
