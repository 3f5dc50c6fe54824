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

    Another difference after that, and whatever comes after it was gone, is new.
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
    assert hands.found() == {("a", "balance", 300, 305), ("a", "balance", 300, 306)}
    again, gone = ledger.incidents()
    assert (gone.id, again.cleared_at) == (first.id, None)
    assert gone.cleared_at
    hands.base("a", "amount = amount + 1")
    assert hands.found() == {("a", "balance", 300, 305), ("a", "balance", 300, 307)}
    hands.base("a", "amount = amount - 1")
    assert ledger.reconcile().open_incidents == 2
    assert ledger.explain(gone.id, **WORDS).cleared_at

    explained = ledger.explain(again.id, **WORDS)
    assert (explained.explanation, explained.explained_by) == ("a script of ours", "ana")
    assert ledger.explain(again.id, **WORDS) == explained
    # Its movements that come later start from a balance that is 6 off: the same drift, seen at the chain.
    quiet = ledger.reconcile(full=True)
    assert (quiet.drifted, quiet.opened, quiet.open_incidents) == (0, 0, 0)
    assert ledger.incidents() == []
    assert [each.id for each in ledger.incidents(open=False)] == [again.id, first.id]

    hands.base("a", "amount = amount + 1")
    assert hands.found() == {("a", "balance", 300, 307)}
    (second,) = ledger.incidents()
    assert second.id > again.id
    ledger.explain(second.id, **WORDS)
    hands.base("a", "amount = amount - 7")
    assert hands.found() == set()
    hands.base("a", "amount = amount + 7")
    assert hands.found() == {("a", "balance", 300, 307)}
    assert ledger.incidents()[0].id > second.id
    page = ledger.incidents(open=False, limit=2)
    assert [each.id for each in ledger.incidents(open=False, before=page[-1].id)] == [again.id, first.id]


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


def test_each_drift_is_adjusted_unless_it_was_explained(hands: Hands) -> None:
    """What comes after an adjustment is drift of its own, and is adjusted; what somebody explained stays as it is."""
    ledger = hands.ledger
    hands.open("a")
    hands.base("a", "amount = amount + 5")
    assert ledger.reconcile(on_drift="adjust").adjusted == 1
    assert ledger.reconcile(on_drift="adjust").adjusted == 0
    assert ledger.incidents()[0].cleared_at
    hands.base("a", "amount = amount + 6")
    assert ledger.reconcile(on_drift="adjust")[2:5] == (1, 1, 1)
    second, first = ledger.incidents()
    assert [entry.key for entry in ledger.entries("a", "BRL")[-2:]] == [
        f"adjustment:{first.id}", f"adjustment:{second.id}"
    ]  # fmt: skip
    assert [entry.signed for entry in ledger.entries("a", "BRL")[-2:]] == [5, 6]

    hands.base("a", "amount = amount - 7")
    ledger.reconcile()
    ledger.explain(ledger.incidents()[0].id, **WORDS)
    for full in (False, True):
        quiet = ledger.reconcile(full=full, on_drift="adjust")
        assert (quiet.drifted, quiet.adjusted) == (0, 0)
    # Another difference is a new incident, and its adjustment is of all that differs.
    hands.base("a", "amount = amount - 1")
    assert ledger.reconcile(on_drift="adjust").adjusted == 1
    assert ledger.entries("a", "BRL")[-1].signed == -8


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
        lambda: hands.ledger.reconcile(rest=-1),
        lambda: hands.ledger.reconcile(rest=float("nan")),
        lambda: hands.ledger.reconcile(rest=True),
    ):
        with pytest.raises(InvalidInput):
            wrong()
    hands.raw.one("SELECT count(*) FROM {s}.incident")
    with pytest.raises(Exception, match=r"append-only|never deleted"):
        hands.raw("DELETE FROM {s}.incident")
