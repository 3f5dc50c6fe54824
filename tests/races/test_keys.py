"""One key from two sessions at once: one effect, and the second hears of the first what the first was told."""

from __future__ import annotations

import pytest

import lastro
from lastro import Ledger, LockTimeout, Posted, TransferConflict
from lastro.model.account import Keeping
from lastro.testing import assert_balanced, temporary_ledger
from tests.support.money import KEEPINGS, fund, posted, transfer
from tests.support.sessions import Background, Observer, Sessions, pid_of, together
from tests.support.stores import in_every_callers_transaction, on_every_store, value_of

RIVALS = 8


@pytest.fixture(params=KEEPINGS)
def keeping(request: pytest.FixtureRequest, ledger: Ledger) -> Keeping:
    """How the credited account is kept; `shop` has 100 to spend and is kept the same way."""
    kept: Keeping = request.param
    fund(ledger, "shop", 100, kept)
    fund(ledger, "platform", 0, kept)
    return kept


@in_every_callers_transaction
@pytest.mark.req("0.2")
@pytest.mark.case("C016")
@pytest.mark.parametrize("debit", ["world", "shop"])
def test_a_retry_waits_for_the_first(
    ledger: Ledger, session: Sessions, observer: Observer, keeping: Keeping, debit: str
) -> None:
    """A retry that comes while the first is under way waits, and then answers with the first's transfer, replayed."""
    del keeping
    first, retry = session(), session()
    wanted = transfer("k", debit, "platform", 100)
    created = ledger.within(first).post(**wanted)
    going = Background(lambda: ledger.within(retry).post(**wanted))
    observer.until_blocked(pid_of(retry), by=pid_of(first))
    first.commit()
    replayed = going.result()
    retry.commit()
    assert (created.replayed, replayed.replayed) == (False, True)
    assert replayed.transfer == created.transfer
    assert posted(ledger, "platform") == 100
    assert_balanced(ledger)


@in_every_callers_transaction
@pytest.mark.req("1.5")
@pytest.mark.case("C017")
@pytest.mark.parametrize("debit", ["world", "shop"])
def test_a_rival_of_other_content_is_a_conflict(
    ledger: Ledger, session: Sessions, observer: Observer, keeping: Keeping, debit: str
) -> None:
    """The same key for another amount waits for the first and is then a conflict that names the field."""
    del keeping
    first, rival = session(), session()
    ledger.within(first).post(**transfer("k", debit, "platform", 100))
    going = Background(lambda: ledger.within(rival).post(**transfer("k", debit, "platform", 90)))
    observer.until_blocked(pid_of(rival), by=pid_of(first))
    first.commit()
    with pytest.raises(TransferConflict) as caught:
        going.result()
    assert caught.value.fields == {"amount": (100, 90)}
    assert value_of(rival, "SELECT 1") == 1, "the caller's transaction is still usable"
    assert posted(ledger, "platform") == 100


@in_every_callers_transaction
@pytest.mark.req("0.2")
@pytest.mark.parametrize("debit", ["world", "shop"])
def test_the_one_that_waits_posts_when_the_first_rolls_back(
    ledger: Ledger, session: Sessions, observer: Observer, keeping: Keeping, debit: str
) -> None:
    """A first attempt that is rolled back uses no key up: the retry that waited creates the transfer."""
    del keeping
    first, retry = session(), session()
    wanted = transfer("k", debit, "platform", 100)
    ledger.within(first).post(**wanted)
    going = Background(lambda: ledger.within(retry).post(**wanted))
    observer.until_blocked(pid_of(retry), by=pid_of(first))
    first.rollback()
    assert not going.result().replayed
    retry.commit()
    assert posted(ledger, "platform") == 100
    assert_balanced(ledger)


@in_every_callers_transaction
@pytest.mark.case("C020")
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("within", [False, True])
def test_a_retry_does_not_wait_for_ever(
    *, ledger: Ledger, store_url: str, ledger_name: str, session: Sessions, keeping: Keeping, batch: bool, within: bool
) -> None:
    """A retry of a transfer that is still under way ends as LockTimeout after the limit, in our transaction or yours."""
    del keeping
    first, second = session(), session()
    wanted = transfer("k", "world", "platform", 100)
    ledger.within(first).post(**wanted)
    with lastro.connect(store_url, ledger=ledger_name, lock_timeout_ms=100) as impatient:
        asked = impatient.within(second) if within else impatient
        wants = [wanted, transfer("other", "world", "platform", 1)]
        with pytest.raises(LockTimeout):
            asked.post_many(wants) if batch else asked.post(**wanted)
    first.commit()
    assert ledger.post(**wanted).replayed


@on_every_store
@pytest.mark.case("C016")
def test_many_at_once_make_one(ledger: Ledger, keeping: Keeping) -> None:
    """Of many identical requests at the same moment one creates the transfer and all others replay it."""
    del keeping
    wanted = transfer("k", "shop", "platform", 100)
    answers = together([lambda: ledger.post(**wanted)] * RIVALS)
    outcomes = [answer for answer in answers if isinstance(answer, Posted)]
    assert len(outcomes) == RIVALS, answers
    assert [outcome.replayed for outcome in outcomes].count(False) == 1
    assert len({(outcome.transfer.id, outcome.transfer.recorded_at) for outcome in outcomes}) == 1
    assert posted(ledger, "platform") == 100
    assert_balanced(ledger)


@on_every_store
def test_a_batch_with_a_key_twice_posts_it_once(ledger: Ledger, keeping: Keeping) -> None:
    """The same transfer twice in one batch is posted once; the same key with another amount refuses the batch."""
    del keeping
    once = transfer("k", "shop", "platform", 40)
    outcomes = ledger.post_many([once, transfer("l", "shop", "platform", 60), once])
    assert [outcome.replayed for outcome in outcomes] == [False, False, True]
    assert outcomes[0].transfer == outcomes[2].transfer
    with pytest.raises(TransferConflict) as caught:
        ledger.post_many([transfer("m", "world", "shop", 1), transfer("m", "world", "shop", 2)])
    assert (caught.value.index, set(caught.value.fields)) == (1, {"amount"})
    assert (posted(ledger, "shop"), posted(ledger, "platform")) == (0, 100)
    assert_balanced(ledger)


@on_every_store
@pytest.mark.case("C018")
def test_two_ledgers_of_a_database_know_nothing_of_each_others_keys(ledger: Ledger, store_url: str) -> None:
    """A key of another ledger neither replays nor conflicts here, and nothing of its transfer is told."""
    fund(ledger, "platform", 0)

    with temporary_ledger(store_url) as other:
        fund(other, "platform", 0)
        assert not other.post(**transfer("1", "world", "platform", 7)).replayed
        assert ledger.transfer("1") is None
        assert not ledger.post(**transfer("1", "world", "platform", 900)).replayed
        assert (posted(ledger, "platform"), posted(other, "platform")) == (900, 7)
