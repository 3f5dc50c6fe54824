"""Incidents: open until somebody explains them, once each, and new again when the same comes back."""

from __future__ import annotations

import pytest

from lastro import IncidentExplained, InvalidInput, UnknownIncident
from tests.reconciling.planting import Hands

pytestmark = pytest.mark.req("3.19")
WORDS = {"explanation": "a script of ours", "actor": "ana"}


@pytest.mark.case("C073")
def test_an_incident_stays_open_until_it_is_explained(hands: Hands) -> None:
    """
    Open while it is there and when it is gone; explained it is quiet while the same difference is there.

    Another difference, and the same one after it was gone, is new.
    """
    ledger = hands.ledger
    hands.open("a")
    hands.found()
    hands.base("a", "amount = amount + 5")
    assert hands.found() == {("a", "balance", 300, 305)}
    (first,) = ledger.incidents()
    assert (first.difference, first.explained_at, first.cleared_at) == (5, None, None)
    hands.base("a", "amount = amount - 5")
    assert hands.found() == {("a", "balance", 300, 305)}
    assert ledger.incidents()[0].cleared_at
    hands.base("a", "amount = amount + 6")
    assert hands.found() == {("a", "balance", 300, 306)}
    (again,) = ledger.incidents()
    assert (again.id, again.cleared_at) == (first.id, None)

    explained = ledger.explain(first.id, **WORDS)
    assert (explained.explanation, explained.explained_by) == ("a script of ours", "ana")
    assert ledger.explain(first.id, **WORDS) == explained
    # Its movements that come later start from a balance that is 6 off: the same drift, seen at the chain.
    quiet = ledger.reconcile(full=True)
    assert (quiet.drifted, quiet.opened, quiet.open_incidents) == (0, 0, 0)
    assert ledger.incidents() == []
    assert [each.id for each in ledger.incidents(open=False)] == [first.id]

    hands.base("a", "amount = amount + 1")
    assert hands.found() == {("a", "balance", 300, 307)}
    (second,) = ledger.incidents()
    assert second.id > first.id
    ledger.explain(second.id, **WORDS)
    hands.base("a", "amount = amount - 7")
    assert hands.found() == set()
    hands.base("a", "amount = amount + 7")
    assert hands.found() == {("a", "balance", 300, 307)}
    assert ledger.incidents()[0].id > second.id
    page = ledger.incidents(open=False, limit=2)
    assert [each.id for each in ledger.incidents(open=False, before=page[-1].id)] == [first.id]


def test_explained_drift_that_stays_is_not_found_again_with_each_movement(hands: Hands) -> None:
    """The balance and the chain of an account that is off by what was explained open nothing more, whatever is posted."""
    hands.open("a")
    hands.found()
    hands.credit_by_hand("a", 25)
    hands.credit("a", 1)
    assert {rule for _, rule, _, _ in hands.found()} == {"balance", "chain"}
    for incident in hands.ledger.incidents():
        hands.ledger.explain(incident.id, **WORDS)
    for _ in range(3):
        hands.credit("a", 1)
        assert hands.found() == set()
        assert hands.found() == set()
    assert hands.found(full=True) == set()
    assert len(hands.ledger.incidents(open=False)) == 2


def test_what_makes_no_sense_is_refused(hands: Hands) -> None:
    """Unknown incidents, a second explanation, and words out of place."""
    hands.open("a")
    hands.base("a", "amount = 0")
    hands.found()
    (incident,) = hands.ledger.incidents()
    hands.ledger.explain(incident.id, **WORDS)
    with pytest.raises(IncidentExplained) as caught:
        hands.ledger.explain(incident.id, explanation="something else", actor="ana")
    assert caught.value.explanation == "a script of ours"
    with pytest.raises(UnknownIncident):
        hands.ledger.explain(incident.id + 1, **WORDS)
    for wrong in (
        lambda: hands.ledger.explain(0, **WORDS),
        lambda: hands.ledger.explain(2**63, **WORDS),
        lambda: hands.ledger.explain(1, explanation="", actor="ana"),
        lambda: hands.ledger.explain(1, explanation="x" * 1_001, actor="ana"),
        lambda: hands.ledger.explain(1, explanation="x", actor=""),
        lambda: hands.ledger.incidents(limit=1_001),
        lambda: hands.ledger.reconcile(on_drift="repair"),  # type: ignore[arg-type]
        lambda: hands.ledger.reconcile(full=1),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInput):
            wrong()
    hands.raw.one("SELECT count(*) FROM {s}.incident")
    with pytest.raises(Exception, match=r"append-only|never deleted"):
        hands.raw("DELETE FROM {s}.incident")
