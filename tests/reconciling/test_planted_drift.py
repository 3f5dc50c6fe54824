"""Drift of every kind is found, wherever it is planted past the library; and where nothing is planted, nothing is."""

from __future__ import annotations

import logging

import pytest

from lastro.telemetry import listen
from lastro.testing import assert_balanced
from tests.reconciling.planting import Hands

pytestmark = [pytest.mark.req("2.7"), pytest.mark.req("3.19")]


def test_each_kind_of_drift_is_found_where_it_is(hands: Hands, caplog: pytest.LogCaptureFixture) -> None:
    """An incremental round finds all that was done to accounts since they agreed, and nothing else; told once each."""
    for keeping in ("direct", "hot", "summed"):
        hands.open(f"good {keeping}", keeping)
        hands.open(f"amount {keeping}", keeping)
    for account in ("inserted", "chain", "held", "released", "unheld"):
        hands.open(account)
    for account in ("inserted hot", "untailed", "tailed", "stray"):
        hands.open(account, "hot")
    for account in ("held", "released", "unheld", "good direct"):
        hands.hold(account, 50)
    # Not in the tail yet: taken out of it, doubled in it.
    hands.ledger.consolidate()
    assert hands.found() == set()
    assert hands.found() == set()
    late = {account: hands.credit(account, 7) for account in ("untailed", "tailed", "good hot", "good direct")}

    for keeping in ("direct", "hot", "summed"):
        hands.base(f"amount {keeping}", "amount = amount + 5")
    for account in ("inserted", "inserted hot"):
        hands.credit_by_hand(account, 25)
    hands.base("held", "held = held + 1")
    for account, change in (
        ("released", "UPDATE {s}.open_hold SET left_over = left_over - 1 WHERE account_id = %s"),
        ("unheld", "DELETE FROM {s}.open_hold WHERE account_id = %s"),
        ("untailed", "DELETE FROM {s}.tail WHERE account_id = %s"),
        ("tailed", "UPDATE {s}.tail SET amount = amount + 1 WHERE account_id = %s"),
    ):
        hands.raw(change, hands.id_of(account))
    hands.tail("stray", 10**9, 3)
    hands.tail("good summed", late["tailed"], 2)
    chained = hands.credit("chain", 10)
    hands.raw.disarm("transfer")
    hands.raw("UPDATE {s}.transfer SET credit_before = 299, credit_after = 309 WHERE id = %s", chained)

    measured: list[str] = []
    stop = listen(
        lambda name, _, labels: measured.append(labels["rule"]) if name == "lastro_incidents_opened" else None
    )
    with caplog.at_level(logging.ERROR, "lastro.reconciliation"):
        found = hands.found()
        again = hands.found()
    stop()
    expected = {
        ("amount direct", "balance", 300, 305),
        ("amount hot", "balance", 300, 305),
        # A balance that is summed differs by what is carried over, and by nothing else.
        ("amount summed", "balance", 0, 5),
        ("inserted", "balance", 325, 300),
        ("inserted hot", "balance", 325, 300),
        ("untailed", "balance", 307, 300),
        ("tailed", "balance", 307, 308),
        ("stray", "balance", 300, 303),
        ("stray", "tail", 0, 1),
        ("good summed", "tail", 0, 1),
        ("held", "held", 50, 51),
        ("released", "held", 49, 50),
        ("unheld", "held", 0, 50),
        ("chain", "chain", 300, 299),
    }
    assert found == again == expected
    assert len(measured) == len(expected)
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == len(expected)
    assert any(
        "account 'inserted' in BRL, rule balance: expected 325, found 300 (agreed up to" in each for each in errors
    )


def test_what_was_taken_out_of_the_tail_is_found(hands: Hands) -> None:
    """Rows deleted from the tail of an account that nothing else was done to: an ordinary round finds it."""
    for account in ("robbed", "robbed a little", "good"):
        hands.open(account, "hot")
    for _ in range(3):
        assert hands.found() == set()
    hands.raw("DELETE FROM {s}.tail WHERE account_id = %s", hands.id_of("robbed"))
    hands.raw("DELETE FROM {s}.tail WHERE account_id = %s AND transfer_id = %s", hands.id_of("robbed a little"),
              hands.ledger.entries("robbed a little", "BRL")[0].transfer_id)  # fmt: skip
    assert hands.found() == {("robbed", "balance", 300, 0), ("robbed a little", "balance", 300, 200)}
    hands.ledger.consolidate()
    hands.found()
    # With nothing in the tail there is nothing to look for.
    assert hands.ledger.reconcile().accounts == 2


@pytest.mark.case("C073")
def test_the_entries_since_the_numbers_agreed_are_named(hands: Hands) -> None:
    """One movement by hand and many normal ones after it: the first entry that doesn't follow from it is named."""
    hands.open("a")
    hands.found()
    agreed = hands.credit("a", 1)
    hands.found()
    by_hand = hands.credit_by_hand("a", 25)
    first = hands.credit("a", 10)
    for _ in range(20):
        hands.credit("a", 10)
    assert hands.found() == {("a", "balance", 536, 511), ("a", "chain", 326, 301)}
    (broken,) = (each for each in hands.ledger.incidents() if each.rule == "chain")
    assert broken.agreed_id == agreed
    assert broken.transfer_id == first
    since = hands.ledger.entries("a", "BRL", after=broken.agreed_id, limit=2)
    assert [entry.transfer_id for entry in since] == [by_hand, first]
    assert hands.ledger.balance("a", "BRL").posted == 511


def test_a_full_round_finds_what_was_done_to_old_history(hands: Hands) -> None:
    """An old transfer taken out, an account and a base row without each other: nothing of it moved, all of it is found."""
    hands.open("old")
    hands.open("lost", entries=0)
    hands.open("lonely", entries=0)
    hands.found()
    hands.found()
    for table in ("transfer", "account", "base"):
        hands.raw.disarm(table)
    hands.raw("DELETE FROM {s}.transfer WHERE credit_id = %s AND amount = 100 AND id = "
              "(SELECT first_id FROM (SELECT min(id) AS first_id FROM {s}.transfer) AS first)", hands.id_of("old"))  # fmt: skip
    hands.raw("DELETE FROM {s}.base WHERE account_id = %s", hands.id_of("lost"))
    lonely_id = hands.id_of("lonely")
    hands.raw("DELETE FROM {s}.account WHERE name = 'lonely'")
    assert hands.found() == set()
    found = hands.found(full=True)
    assert {each for each in found if each[1] != "chain"} == {
        ("old", "balance", 200, 300),
        ("lost", "account", 1, 0),
        (None, "account", 1, 0),
    }
    assert [each.account_id for each in hands.ledger.incidents() if each.account is None] == [lonely_id]
    assert ("old", "chain", 0, 100) in found


@pytest.mark.case("C073")
def test_drift_is_reported_and_nothing_is_changed(hands: Hands) -> None:
    """By default no row of money changes: not the balance, not the history."""
    hands.open("a")
    hands.found()
    hands.base("a", "amount = amount + 5")
    before = hands.raw.versions()
    assert hands.found() == {("a", "balance", 300, 305)}
    assert hands.raw.versions() == before
    assert len(hands.ledger.entries("a", "BRL")) == 3


@pytest.mark.case("C073")
@pytest.mark.parametrize("change", [5, -30])
def test_an_adjustment_explains_the_balance_and_leaves_it_alone(hands: Hands, change: int) -> None:
    """One entry from the history's sum to the stored balance, once; the incident stays open, and the chain goes on."""
    for keeping in ("direct", "hot"):
        hands.open(keeping, keeping)
    hands.ledger.consolidate()
    hands.found()
    for keeping in ("direct", "hot"):
        hands.base(keeping, f"amount = amount + {change}")
    before = hands.raw.versions()
    reconciled = hands.ledger.reconcile(on_drift="adjust")
    assert (reconciled.drifted, reconciled.opened, reconciled.adjusted) == (2, 2, 2)
    assert hands.raw.versions() == before
    for incident in hands.ledger.incidents():
        assert incident.account is not None
        entry = hands.ledger.entries(incident.account, "BRL")[-1]
        assert (entry.key, entry.kind, entry.signed) == (f"adjustment:{incident.id}", "adjustment", change)
        assert (entry.cause, entry.counter_account) == (f"incident:{incident.id}", "world")
        if incident.account == "direct":
            assert (entry.balance_before, entry.balance_after) == (300, 300 + change)
        assert hands.ledger.balance(incident.account, "BRL").posted == 300 + change
    hands.credit("direct", 1)
    again = hands.ledger.reconcile(on_drift="adjust", full=True)
    assert (again.drifted, again.adjusted, again.open_incidents) == (0, 0, 2)
    assert all(incident.cleared_at for incident in hands.ledger.incidents())
    assert_balanced(hands.ledger)


@pytest.mark.case("C073")
def test_a_taken_key_of_an_adjustment_is_told(hands: Hands, caplog: pytest.LogCaptureFixture) -> None:
    """Each round says that somebody's transfer stands under the key; the others are adjusted, the incident stays open."""
    for account in ("a", "b"):
        hands.open(account)
    hands.found()
    hands.base("a", "amount = amount + 5")
    hands.found()
    (incident,) = hands.ledger.incidents()
    key = f"adjustment:{incident.id}"
    hands.ledger.post(key=key, kind="fund", debit="world", credit="b", amount=1, currency="BRL")
    hands.base("b", "amount = amount + 7")
    for adjusted in (1, 0):
        caplog.clear()
        with caplog.at_level(logging.ERROR, "lastro.reconciliation"):
            assert hands.ledger.reconcile(on_drift="adjust", full=True).adjusted == adjusted
        told = [message for message in map(logging.LogRecord.getMessage, caplog.records) if "not adjusted" in message]
        assert len(told) == 1
        assert repr(key) in told[0]
    assert incident.id in {each.id for each in hands.ledger.incidents()}
    # The reconciler's own adjustment under its key is none of that, also where the account drifts again.
    hands.base("b", "amount = amount + 7")
    caplog.clear()
    hands.ledger.reconcile(on_drift="adjust", full=True)
    assert [key in record.getMessage() for record in caplog.records if "not adjusted" in record.getMessage()] == [True]
