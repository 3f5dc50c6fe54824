"""
Adoptions as JSON documents with stable keys: every amount is a string of minor units, every moment ISO 8601 in UTC.
"""

from __future__ import annotations

from typing import Any

from lastro.adopting.values import Adoption, AdoptionEvent, AdoptionReport, AdoptionSurvey, Difference


def adoption_document(adoption: Adoption) -> dict[str, Any]:
    """
    Return where an adoption stands; `looked_at` is null where both sides were never compared from end to end.
    """
    column = adoption.column
    return {
        "name": adoption.name,
        "phase": adoption.phase,
        "schema": column.schema,
        "table": column.table,
        "balance": column.balance,
        "rows": adoption.rows,
        "differences": adoption.differences,
        "guarded": adoption.guarded,
        "looked_at": None if adoption.looked_at is None else adoption.looked_at.isoformat(),
        "started_at": adoption.started_at.isoformat(),
        "changed_at": adoption.changed_at.isoformat(),
        "actor": adoption.actor,
    }


def difference_document(difference: Difference) -> dict[str, Any]:
    """
    Return a difference; `expected` is the old column's side and `found` the ledger's, null where there is none.
    """
    return {
        "row": difference.row,
        "account": difference.account,
        "currency": difference.currency,
        "cause": difference.cause,
        "expected": None if difference.expected is None else str(difference.expected),
        "found": None if difference.found is None else str(difference.found),
        "first_seen_at": difference.first_seen_at.isoformat(),
        "last_seen_at": difference.last_seen_at.isoformat(),
    }


def report_document(report: AdoptionReport) -> dict[str, Any]:
    """
    Return what a step did; `done` is false where there was nothing to do, and after a dry run.
    """
    return {
        "step": report.step,
        "done": report.done,
        "adoption": adoption_document(report.adoption),
        "figures": dict(report.figures),
        "differences": [difference_document(one) for one in report.differences],
        "advice": dict(report.advice),
        "problems": list(report.problems),
    }


def survey_document(survey: AdoptionSurvey) -> dict[str, Any]:
    """
    Return what was found in an old table; `least` and `most` are null where it is empty.
    """
    return {
        "rows": survey.rows,
        "nulls": survey.nulls,
        "negative": survey.negative,
        "least": None if survey.least is None else str(survey.least),
        "most": None if survey.most is None else str(survey.most),
        "currencies": dict(survey.currencies),
        "problems": list(survey.problems),
        "advice": list(survey.advice),
    }


def adoption_event_document(event: AdoptionEvent) -> dict[str, Any]:
    """
    Return something that was done to an adoption, or found in it.
    """
    return {
        "id": event.id,
        "what": event.what,
        "row": event.row,
        "detail": event.detail,
        "actor": event.actor,
        "recorded_at": event.recorded_at.isoformat(),
    }
