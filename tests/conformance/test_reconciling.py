"""Reconciliation on every store that has it, blocking and awaiting: drift from its finding to its explanation."""

from __future__ import annotations

import pytest

from lastro import Ledger
from tests.conformance.eyes import Raw

pytestmark = [pytest.mark.req("2.7"), pytest.mark.req("3.19"), pytest.mark.stores(without=("firebird",))]


@pytest.mark.case("C073")
def test_drift_is_found_adjusted_and_explained(book: Ledger, raw: Raw) -> None:
    """Nothing at first; then one incident, one entry for the difference, the balance as it was, and an explanation."""
    book.open_account("a", "BRL")
    book.post(key="k", kind="pay", debit="world", credit="a", amount=100, currency="BRL")
    assert book.reconcile() == (2, 0, 0, 0, 0, 0, True)
    raw("UPDATE {s}.base SET amount = 105 WHERE amount = 100")
    done = book.reconcile(on_drift="adjust", after_batch=lambda _: True)
    assert (done.drifted, done.opened, done.adjusted, done.open_incidents) == (1, 1, 1, 1)
    (incident,) = book.incidents()
    assert (incident.account, incident.rule, incident.expected, incident.found) == ("a", "balance", 100, 105)
    entry = book.entries("a", "BRL")[-1]
    assert (entry.key, entry.balance_before, entry.balance_after) == (f"adjustment:{incident.id}", 100, 105)
    assert book.balance("a", "BRL").posted == 105
    assert book.explain(incident.id, explanation="a test", actor="ana").explained_by == "ana"
    assert book.reconcile(full=True).open_incidents == 0
    assert len(book.incidents(open=False)) == 1
