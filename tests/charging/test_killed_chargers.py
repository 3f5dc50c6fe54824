"""Chargers that are killed between the charge and its commit, and started again, charge each period once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from lastro import PREPAID, Ledger
from lastro.charging import Job
from lastro.testing import assert_balanced
from tests.charging.tables import TABLE, TableJobs
from tests.conformance.conftest import Raw
from tests.conftest import Counted
from tests.house.checkout import ROOT

pytestmark = [pytest.mark.req("2.9"), pytest.mark.case("C055"), pytest.mark.stores(without=("firebird",))]

START = datetime(2026, 3, 28, tzinfo=UTC)
TOGETHER = 2
STARTS_MAX, TIMEOUT_S = 400, 120
PRICE = 7
# jobs, periods each, charges within which a charger is killed
SHORT, LONG = (3, 8, 6), (10, 100, 10)


def killed_until_done(ledger: Ledger, url: str, raw: Raw, size: tuple[int, int, int]) -> Counter[str]:
    """Start chargers, two at a time, until neither finds anything left to do; return how they ended."""
    jobs, periods, within = size
    raw(TABLE)
    schema = ledger._operations.ledger
    now = START + timedelta(hours=periods - 1)
    table = TableJobs(url, schema, now)
    ledger.register_kinds(PREPAID)
    for number in range(jobs):
        name = f"customer:{number}"
        ledger.open_account(name, "USD")
        ledger.credit(name, "USD", amount=PRICE * periods + 3, key=f"payment:{number}")
        table.add(Job(f"j{number}", name, "USD", PRICE, "hour", "UTC", START, START, START))
    ends: Counter[str] = Counter()
    for seed in range(0, STARTS_MAX, TOGETHER):
        command = [sys.executable, "-m", "tests.charging.charging_process", url, schema, now.isoformat()]
        running = [
            subprocess.Popen([*command, str(seed + part), str(within)], cwd=ROOT, stderr=subprocess.PIPE)
            for part in range(TOGETHER)
        ]
        for process in running:
            _, said = process.communicate(timeout=TIMEOUT_S)
            assert process.returncode in (0, -signal.SIGKILL), said.decode()
            ends["killed" if process.returncode else "done"] += 1
        if not any(process.returncode for process in running):
            break
    return ends


def judge(ledger: Ledger, jobs: int, periods: int, ends: Counter[str], counted: Counted) -> None:
    """Every job has each of its periods once, and the money says the same."""
    expected = [f"{START + timedelta(hours=hour):%Y-%m-%dT%H:%M:%SZ}" for hour in range(periods)]
    charged = 0
    for number in range(jobs):
        entries = [one for one in ledger.entries(f"customer:{number}", "USD", limit=1_000) if one.kind == "debit"]
        assert sorted(one.key for one in entries) == [f"job:j{number}:period:{start}" for start in expected]
        assert ledger.balance(f"customer:{number}", "USD").posted == 3
        charged += len(entries)
    assert_balanced(ledger)
    assert ends["killed"] > 0
    counted(
        f"{charged} periods charged once each, by {sum(ends.values())} chargers of which {ends['killed']} were killed"
    )


def test_killed_chargers_charge_once(ledger: Ledger, store_url: str, raw: Raw, counted: Counted) -> None:
    """Two at a time, killed before or behind a commit and started again: no period is missing, none comes twice."""
    jobs, periods, _ = SHORT
    judge(ledger, jobs, periods, killed_until_done(ledger, store_url, raw, SHORT), counted)


@pytest.mark.soak
def test_killed_chargers_charge_once_for_long(ledger: Ledger, store_url: str, raw: Raw, counted: Counted) -> None:
    """The same over a thousand periods."""
    jobs, periods, _ = LONG
    judge(ledger, jobs, periods, killed_until_done(ledger, store_url, raw, LONG), counted)
