"""What differs in an account that is never at rest."""

from __future__ import annotations

from typing import Any

import pytest

from lastro import Ledger
from lastro.adopting import tallying
from tests.adopting.old_table import OldTable, shadowing

pytestmark = [pytest.mark.case("C001"), pytest.mark.case("S06")]


def test_a_busy_account_without_a_row(ledger: Ledger, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account whose row is gone is found, though something is posted to it between any two looks."""
    table, look, looks = OldTable(ledger, store_url), tallying._lost, 0
    table.add({1: 100, 2: 100})
    shadowing(ledger, table)
    table.run(f"DELETE FROM {table.name} WHERE {table.id} = 1")

    def busily(*given: Any) -> Any:
        nonlocal looks
        looks += 1
        ledger.credit("customer:1", "BRL", amount=1, key=f"busy:{looks}")
        return look(*given)

    monkeypatch.setattr(tallying, "_lost", busily)
    found = ledger.adopting.compare("users").differences
    assert [(one.row, one.cause, one.found) for one in found] == [("1", "account_without_row", 102)]
