"""The past is what the history says, also where what is stored was off as the days were closed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lastro import Ledger
from lastro.plans.closing_days import close_days
from lastro.testing import assert_balanced
from tests.reconciling.planting import Hands

pytestmark = [pytest.mark.req("2.7"), pytest.mark.req("3.19")]


def close_a_day(ledger: Ledger, number: int) -> None:
    """Make a mark of one of the coming days."""
    done = ledger._walk(close_days(now=datetime(2100, 1, number, tzinfo=UTC)))
    assert done.marks == 1


@pytest.mark.parametrize("keeping", ["direct", "hot"])
def test_drift_is_not_closed_into_the_past(hands: Hands, keeping: str) -> None:
    """The first closing begins with the history, not with a balance that is off; the adjustment counts once then."""
    ledger = hands.ledger
    hands.open("a", keeping)
    ledger.consolidate()
    hands.base("a", "amount = amount + 5")
    before = ledger.entries("a", "BRL")[-1].recorded_at
    assert ledger.balance("a", "BRL", at=before).posted == 300
    close_a_day(ledger, 1)
    assert ledger.balance("a", "BRL", at=before).posted == 300
    assert [line.balance for line in ledger.statement("a", "BRL")] == [100, 200, 300]

    assert ledger.reconcile(on_drift="adjust").adjusted == 1
    close_a_day(ledger, 2)
    adjusted = ledger.entries("a", "BRL")[-1].recorded_at
    assert ledger.balance("a", "BRL", at=adjusted).posted == ledger.balance("a", "BRL").posted == 305
    assert ledger.balance("a", "BRL", at=before).posted == 300
    assert [line.balance for line in ledger.statement("a", "BRL")] == [100, 200, 300, 305]
    assert ledger.balance("a", "BRL", at=before - timedelta(days=1)).posted == 0
    assert_balanced(ledger)
