"""Reversals that race: what is undone of a transfer never exceeds it."""

from __future__ import annotations

from functools import partial

import psycopg
import pytest

from lastro import AlreadyReversed, Ledger, Posted
from lastro.model.account import Keeping
from lastro.testing import assert_balanced
from tests.support.money import KEEPINGS, fund, posted, transfer
from tests.support.sessions import Background, Observer, Sessions, pid_of, together
from tests.support.stores import in_every_callers_transaction, on_every_store

RIVALS = 8


@pytest.fixture(params=KEEPINGS)
def original(request: pytest.FixtureRequest, ledger: Ledger) -> str:
    """The key of a credit of 100 to `shop`, kept in each way, of which 60 are spent already."""
    kept: Keeping = request.param
    fund(ledger, "shop", 0, kept)
    ledger.post(**transfer("earned", "world", "shop", 100))
    ledger.post(**transfer("spent", "shop", "world", 60))
    return "earned"


@on_every_store
@pytest.mark.req("1.12")
def test_one_whole_reversal_wins(ledger: Ledger, original: str) -> None:
    """Of many whole reversals at once one is written, below zero as well; the others are AlreadyReversed, 0 left."""
    answers = together([partial(ledger.reverse, original, f"undo:{number}") for number in range(RIVALS)])
    won = [answer for answer in answers if isinstance(answer, Posted)]
    assert len(won) == 1
    assert {(type(answer), answer.left) for answer in answers if isinstance(answer, AlreadyReversed)} == {
        (AlreadyReversed, 0)
    }
    assert posted(ledger, "shop") == -60
    assert_balanced(ledger)


@on_every_store
@pytest.mark.req("1.12")
def test_partial_reversals_stay_within_the_original(ledger: Ledger, original: str) -> None:
    """Of many partial reversals of 30 at once three fit into 100; then exactly 10 are left."""
    answers = together([partial(ledger.reverse, original, f"undo:{number}", amount=30) for number in range(RIVALS)])
    assert sum(isinstance(answer, Posted) for answer in answers) == 3
    assert {type(answer) for answer in answers} == {Posted, AlreadyReversed}
    assert ledger.reverse(original, "rest").transfer.amount == 10
    assert posted(ledger, "shop") == -60
    assert_balanced(ledger)


@in_every_callers_transaction
def test_a_whole_reversal_waits_for_a_partial_one(
    ledger: Ledger, session: Sessions, observer: Observer, original: str
) -> None:
    """A whole reversal that waited for a partial one undoes what that one left."""
    one, two = session(), session()
    ledger.within(one).reverse(original, "part", amount=30)
    going = Background(lambda: ledger.within(two).reverse(original, "whole"))
    observer.until_blocked(pid_of(two), by=pid_of(one))
    one.commit()
    assert going.result().transfer.amount == 70
    two.commit()
    assert_balanced(ledger)


@on_every_store
def test_one_key_for_many_reversals_at_once(ledger: Ledger, original: str) -> None:
    """The same reversal from many at once is written once; all others replay it."""
    answers = together([partial(ledger.reverse, original, "undo", amount=30)] * RIVALS)
    replayed = [answer.replayed for answer in answers if isinstance(answer, Posted)]
    assert (len(replayed), replayed.count(False)) == (RIVALS, 1)
    assert posted(ledger, "shop") == 10


@pytest.mark.parametrize("amount", [1, 100])
def test_the_database_refuses_what_races_past_the_locks(
    ledger: Ledger, connection: psycopg.Connection[tuple[object, ...]], original: str, amount: int
) -> None:
    """Whoever writes past the library still can't reverse the same part twice, or more than there was."""
    ledger.reverse(original, "part", amount=30)
    row = "INSERT INTO reversal (original_id, already, amount, original_amount, transfer_id) "
    found = "SELECT original_id, %s, %s, original_amount, transfer_id FROM reversal"
    with pytest.raises(psycopg.errors.IntegrityError) as caught:
        connection.execute((row + found).encode(), [0 if amount == 1 else 30, amount])
    expected = "reversal_part_once" if amount == 1 else "reversal_within_original"
    assert caught.value.diag.constraint_name == expected
