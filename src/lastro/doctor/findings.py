"""
Findings: what a window of samples says is wrong, the worst first.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastro.doctor.finding import SEVERITIES, Finding
from lastro.doctor.readings import Sample
from lastro.doctor.rules import RULES

__all__ = ["Finding", "find"]


def find(window: Sequence[Sample]) -> tuple[Finding, ...]:
    """
    Return what a *window* of samples, the oldest first, says is wrong: the worst first. It only reasons: the same
    samples give the same findings.
    """
    if not window:
        return ()
    found = [(place, finding) for place, rule in enumerate(RULES) for finding in rule(window)]
    found.sort(key=lambda each: (SEVERITIES.index(each[1].severity), each[0]))
    return tuple(finding for _, finding in found)
