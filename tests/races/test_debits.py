"""Debits of one account: they queue, each sees what the one before committed, and none goes below the floor."""

from __future__ import annotations

from functools import partial

import pytest

from lastro import InsufficientFunds, Ledger, Posted
from lastro.model.account import Keeping
from lastro.testing import assert_balanced
from tests.support.money import KEEPINGS, fund, posted, transfer
from tests.support.sessions import Background, Observer, Sessions, pid_of, together
from tests.support.stores import in_every_callers_transaction, on_every_store

SPENDERS = 12


@pytest.fixture(params=KEEPINGS)
def keeping(request: pytest.FixtureRequest, ledger: Ledger) -> Keeping:
    """How `shop` is kept; it has 100 to spend."""
    kept: Keeping = request.param
    fund(ledger, "shop", 100, kept)
    fund(ledger, "seller", 0)
    return kept


@in_every_callers_transaction
@pytest.mark.req("0.3")
@pytest.mark.req("1.6")
@pytest.mark.case("C012")
def test_two_first_payments(ledger: Ledger, session: Sessions, observer: Observer, keeping: Keeping) -> None:
    """The second of two payments waits for the first, and is judged by what the first left."""
    del keeping
    one, two = session(), session()
    ledger.within(one).post(**transfer("one", "shop", "world", 70))
    going = Background(lambda: ledger.within(two).post(**transfer("two", "shop", "world", 70)))
    observer.until_blocked(pid_of(two), by=pid_of(one))
    one.commit()
    with pytest.raises(InsufficientFunds) as caught:
        going.result()
    assert (caught.value.needed, caught.value.available) == (70, 30)
    assert not ledger.within(two).post(**transfer("three", "shop", "world", 30)).replayed
    two.commit()
    assert posted(ledger, "shop") == 0
    assert_balanced(ledger)


@in_every_callers_transaction
@pytest.mark.req("0.3")
def test_the_second_payment_is_covered_when_the_first_rolls_back(
    ledger: Ledger, session: Sessions, observer: Observer, keeping: Keeping
) -> None:
    """What a payment that rolled back would have taken is there for the one that waited."""
    del keeping
    one, two = session(), session()
    ledger.within(one).post(**transfer("one", "shop", "world", 70))
    going = Background(lambda: ledger.within(two).post(**transfer("two", "shop", "world", 100)))
    observer.until_blocked(pid_of(two), by=pid_of(one))
    one.rollback()
    assert not going.result().replayed
    two.commit()
    assert posted(ledger, "shop") == 0


@on_every_store
@pytest.mark.case("C009")
def test_many_spenders_spend_what_is_there(ledger: Ledger, keeping: Keeping) -> None:
    """Of many payments of 30 at once from 100 three are covered; the others are refused with what is left."""
    del keeping
    answers = together(
        [partial(ledger.post, **transfer(f"pay:{number}", "shop", "seller", 30)) for number in range(SPENDERS)]
    )
    assert sum(isinstance(answer, Posted) for answer in answers) == 3
    refused = [answer for answer in answers if not isinstance(answer, Posted)]
    assert {type(answer) for answer in refused} == {InsufficientFunds}
    assert min(answer.available for answer in refused if isinstance(answer, InsufficientFunds)) == 10
    assert (posted(ledger, "shop"), posted(ledger, "seller")) == (10, 90)
    assert_balanced(ledger)


@on_every_store
@pytest.mark.req("0.11")
def test_a_retried_debit_that_emptied_the_account_is_replayed(ledger: Ledger, keeping: Keeping) -> None:
    """Once-only is judged before funds: the retry is told of the first, not that the money is gone."""
    del keeping
    wanted = transfer("all", "shop", "world", 100)
    first = ledger.post(**wanted)
    again = ledger.post(**wanted)
    assert again.replayed
    assert again.transfer == first.transfer
    assert ledger.post_many([wanted, transfer("in", "world", "shop", 1)])[0].replayed
