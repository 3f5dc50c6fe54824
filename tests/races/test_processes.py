"""Processes that post at the same moment: what threads of one could settle among themselves only the database can."""

from __future__ import annotations

import pytest

from lastro import AlreadyReversed, InsufficientFunds, Ledger
from lastro.model.account import Keeping
from lastro.testing import assert_balanced
from tests.support.money import CURRENCY, fund, posted, transfer
from tests.support.processes import PROCESSES, in_processes
from tests.support.stores import on_every_store

PAYMENTS = 40
ROUNDS = 30
PRICE = 7


@pytest.fixture(params=("direct", "hot"))
def keeping(request: pytest.FixtureRequest, ledger: Ledger) -> Keeping:
    """How `shop` is kept; it has 100 to spend, and `seller` is kept the same way."""
    kept: Keeping = request.param
    fund(ledger, "shop", 100, kept)
    fund(ledger, "seller", 0, kept)
    return kept


def spend(ledger: Ledger, number: int) -> list[bool]:
    """Many payments of 1, the same keys in every process; whether each was created here."""
    del number
    return [not ledger.post(**transfer(f"pay:{one}", "shop", "seller", 1)).replayed for one in range(PAYMENTS)]


def drain(ledger: Ledger, number: int) -> int:
    """Pay until nothing is left; how often it was covered."""
    for payment in range(PAYMENTS):
        try:
            ledger.post(**transfer(f"pay:{number}:{payment}", "shop", "seller", PRICE))
        except InsufficientFunds:
            return payment
    raise AssertionError("the shop never ran dry")


def there_and_back(ledger: Ledger, number: int) -> int:
    """Transfers in one direction or the other, alone and in batches in either order; how many there were."""
    debit, credit = ("shop", "seller") if number % 2 else ("seller", "shop")
    for one in range(ROUNDS):
        pair = [transfer(f"in:{number}:{one}", "world", debit, 3), transfer(f"to:{number}:{one}", debit, credit, 2)]
        if one % 3:
            for wanted in pair:
                ledger.post(**wanted)
        else:
            ledger.post_many(pair[:: 1 if number < PROCESSES / 2 else -1], partial=True)
            ledger.post_many(pair)
    return ROUNDS


def credit_and_fold(ledger: Ledger, number: int) -> int:
    """Credits, with a consolidator in every second process, and readers who never see the balance go down."""
    seen = 0
    for one in range(ROUNDS):
        ledger.post(**transfer(f"credit:{number}:{one}", "world", "hot", 2))
        if number % 2:
            ledger.consolidate()
        now = posted(ledger, "hot")
        assert now >= seen, "an entry was counted and then missed"
        seen = now
    return 2 * ROUNDS


def undo(ledger: Ledger, number: int) -> int:
    """Reverse the same transfer in parts, under keys of one's own; how much of it was undone here."""
    undone = 0
    for part in range(PAYMENTS):
        try:
            undone += ledger.reverse("earned", f"undo:{number}:{part}", amount=PRICE).transfer.amount
        except AlreadyReversed:
            break
    return undone


@on_every_store
@pytest.mark.req("0.2")
@pytest.mark.req("1.4")
@pytest.mark.case("C010")
@pytest.mark.case("C016")
@pytest.mark.case("C025")
@pytest.mark.usefixtures("keeping")
def test_processes_with_the_same_keys_post_each_once(ledger: Ledger, ledger_name: str, store_url: str) -> None:
    """Processes that post the same payments at once create each exactly once between them, and replay the rest."""
    created = [one for answer in in_processes(store_url, ledger_name, spend) for one in answer]
    assert (created.count(True), created.count(False)) == (PAYMENTS, PAYMENTS * (PROCESSES - 1))
    assert (posted(ledger, "shop"), posted(ledger, "seller")) == (100 - PAYMENTS, PAYMENTS)
    assert_balanced(ledger)


@on_every_store
@pytest.mark.req("0.3")
@pytest.mark.req("1.6")
@pytest.mark.case("C010")
@pytest.mark.usefixtures("keeping")
def test_processes_never_spend_the_same_money(ledger: Ledger, ledger_name: str, store_url: str) -> None:
    """Processes that drain one account at once take what is there and not a cent more."""
    assert sum(in_processes(store_url, ledger_name, drain)) == 100 // PRICE
    assert posted(ledger, "shop") == 100 % PRICE
    assert_balanced(ledger)


@on_every_store
@pytest.mark.req("1.4")
@pytest.mark.case("C006")
@pytest.mark.case("C011")
@pytest.mark.usefixtures("keeping")
def test_processes_there_and_back(ledger: Ledger, ledger_name: str, store_url: str) -> None:
    """On the ledger's own connections no deadlock ever surfaces, whichever way the money goes; and none is lost."""
    assert in_processes(store_url, ledger_name, there_and_back) == [ROUNDS] * PROCESSES
    assert posted(ledger, "shop") + posted(ledger, "seller") == 100 + 3 * ROUNDS * PROCESSES
    assert_balanced(ledger)


@on_every_store
@pytest.mark.req("0.4")
@pytest.mark.req("0.5")
@pytest.mark.case("C007")
def test_processes_credit_and_consolidate(ledger: Ledger, ledger_name: str, store_url: str) -> None:
    """Every credit of a hot account is folded in once and counted once, while it is credited and read."""
    fund(ledger, "shop", 1)
    ledger.open_account("hot", CURRENCY, keeping="hot")
    assert sum(in_processes(store_url, ledger_name, credit_and_fold)) == posted(ledger, "hot")
    ledger.consolidate()
    assert posted(ledger, "hot") == 2 * ROUNDS * PROCESSES
    assert_balanced(ledger)


@on_every_store
@pytest.mark.req("1.12")
@pytest.mark.usefixtures("keeping")
def test_processes_undo_no_more_than_there_was(ledger: Ledger, ledger_name: str, store_url: str) -> None:
    """Parts that processes reverse at once never add up to more than the original."""
    ledger.post(**transfer("earned", "world", "shop", 50))
    assert sum(in_processes(store_url, ledger_name, undo)) == 49
    assert ledger.reverse("earned", "the rest").transfer.amount == 1
    assert posted(ledger, "shop") == 100
    assert_balanced(ledger)
