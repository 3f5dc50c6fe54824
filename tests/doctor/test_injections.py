"""Faults injected on a real server beside traffic: each is named first, and nothing is where nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.injections import HEALTHY, INJECTIONS, Ground, Injection, diagnose

REPEATS = 20


@pytest.mark.req("3.15")
@pytest.mark.req("3.16")
@pytest.mark.case("C001")
@pytest.mark.case("C003")
@pytest.mark.case("C066")
@pytest.mark.case("C092")
@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda injection: injection.name)
def test_the_fault_is_the_first_finding(ground: Ground, injection: Injection, need: Callable[[str], Path]) -> None:
    """The doctor's first finding is the fault that was injected; on a healthy run there is none."""
    if injection.needs_pgbouncer:
        need("pgbouncer")
    diagnosis = diagnose(ground, injection)
    assert diagnosis.samples[-1].troubles == ()
    assert diagnosis.first == injection.code, diagnosis.findings
    if injection.code is None:
        assert diagnosis.findings == ()


@pytest.mark.soak
def test_nothing_is_found_on_healthy_runs(ground: Ground) -> None:
    """Twenty runs of traffic without a fault have no finding."""
    [healthy] = [injection for injection in INJECTIONS if injection.name == HEALTHY]
    assert [finding for _ in range(REPEATS) for finding in diagnose(ground, healthy).findings] == []
