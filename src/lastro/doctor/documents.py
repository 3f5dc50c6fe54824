"""
Samples and findings as documents of plain values, with stable keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lastro.doctor.finding import Finding
from lastro.doctor.readings import Reading, Sample


def sample_document(sample: Sample) -> dict[str, Any]:
    """
    Return a sample.
    """
    return {"at": sample.at.isoformat(), "readings": [reading_document(reading) for reading in sample.readings]}


def reading_document(reading: Reading) -> dict[str, Any]:
    """
    Return a reading; `trouble` is null where it could be read.
    """
    return {
        "name": reading.name,
        "subject": reading.subject,
        "value": reading.value,
        "unit": reading.unit,
        "detail": dict(reading.detail),
        "trouble": reading.trouble,
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """
    Return a finding.
    """
    return {
        "code": finding.code,
        "severity": finding.severity,
        "subject": finding.subject,
        "evidence": finding.evidence,
        "disproved_by": finding.disproved_by,
        "advice": finding.advice,
        "page": finding.page,
        "about": dict(finding.about),
    }


def diagnosis_document(samples: Iterable[Sample], findings: Iterable[Finding]) -> dict[str, Any]:
    """
    Return what a window of samples came to; the readings are those of the last sample.
    """
    taken = list(samples)
    return {
        "from": taken[0].at.isoformat(),
        "to": taken[-1].at.isoformat(),
        "samples": len(taken),
        "findings": [finding_document(finding) for finding in findings],
        "troubles": [reading_document(reading) for reading in taken[-1].troubles],
        "readings": sample_document(taken[-1])["readings"],
    }
