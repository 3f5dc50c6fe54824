"""Sums at and beyond 64 bits on the way to balances that fit, and what a reversal need not add up."""

from __future__ import annotations

import pytest

from lastro import Ledger
from lastro.engine import postgres
from lastro.engine.psycopg_cursor import DictCursor, Statements, execute
from lastro.model.limits import AMOUNT_MAX, UNLOCKED_BASE_MAX
from lastro.plans.plan import Rows, Step
from lastro.testing import assert_balanced
from tests.support.money import CURRENCY, posted, transfer
from tests.support.sessions import Observer, Sessions

BY_FEW, BY_MANY = 2, 60


def test_a_tail_beyond_64_bits_is_folded(ledger: Ledger, observer: Observer, ledger_name: str) -> None:
    """Tail rows whose sum leaves 64 bits are folded where the balance doesn't, and the account's terms can change."""
    ledger.open_account("hot", CURRENCY, keeping="hot", floor=None)
    ledger.post(**transfer("down", "hot", "world", AMOUNT_MAX))
    ledger.consolidate()
    for number in range(2):
        ledger.post(**transfer(f"up {number}", "world", "hot", AMOUNT_MAX))
    assert ledger.consolidate().rows == 2
    assert observer.value(f"SELECT count(*) FROM {ledger_name}.tail") == 0
    assert posted(ledger, "hot") == AMOUNT_MAX
    assert ledger.keep("hot", CURRENCY, "direct").keeping == "direct"
    assert posted(ledger, "hot") == AMOUNT_MAX
    assert_balanced(ledger)


@pytest.mark.parametrize("transfers", [BY_FEW, BY_MANY])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_batch_reaches_an_account_beyond_the_unlocked_range(
    ledger: Ledger, session: Sessions, transfers: int, sign: int
) -> None:
    """A hot account with a base amount too large to post to without a lock takes batches, as it takes single ones."""
    ledger.open_account("hot", CURRENCY, keeping="hot", floor=None)
    ledger.open_account("direct", CURRENCY, floor=None)
    there, back = ("world", "hot") if sign > 0 else ("hot", "world")
    ledger.post(**transfer("far", there, back, UNLOCKED_BASE_MAX + 5))
    ledger.consolidate()
    batch = [transfer(f"part {part}", there, back, 1) for part in range(transfers)]
    assert len(ledger.post_many([*batch, transfer("direct", "world", "direct", 1)])) == transfers + 1
    caller = session()
    ledger.within(caller).post_many([transfer(f"within {part}", there, back, 1) for part in range(transfers)])
    caller.commit()
    assert posted(ledger, "hot") == sign * (UNLOCKED_BASE_MAX + 5 + 2 * transfers)
    assert_balanced(ledger)


@pytest.mark.parametrize("padding", [0, BY_MANY])
def test_a_batch_may_change_a_balance_by_more_than_64_bits(ledger: Ledger, padding: int) -> None:
    """From one end of the range to the other in one batch: what it changes doesn't fit 64 bits, each balance does."""
    ledger.open_account("low", CURRENCY, floor=None)
    ledger.open_account("high", CURRENCY, floor=None)
    ledger.post(**transfer("apart", "low", "high", AMOUNT_MAX))
    over = [transfer(f"over {part}", "high", "low", AMOUNT_MAX) for part in range(2)]
    small = [
        transfer(f"{part}", *(("low", "high") if part % 2 == 0 else ("high", "low")), 1) for part in range(padding)
    ]
    assert len(ledger.post_many([*over, *small])) == 2 + padding
    assert (posted(ledger, "low"), posted(ledger, "high")) == (AMOUNT_MAX, -AMOUNT_MAX)
    assert_balanced(ledger)


def test_a_reversal_does_not_weigh_the_world(
    ledger: Ledger, observer: Observer, ledger_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the other account's balance is asked for: the world's is the sum of all history, read under its lock."""
    ledger.open_account("seller", CURRENCY)
    for number in range(2):
        ledger.post(**transfer(f"sale {number}", "world", "seller", 10))
    ids = {
        name: observer.value(f"SELECT id FROM {ledger_name}.account WHERE name = %s", name)
        for name in ("world", "seller")
    }
    steps: list[Step] = []

    def recorded(cursor: DictCursor, statements: Statements, step: Step) -> Rows:
        steps.append(step)
        return execute(cursor, statements, step)

    monkeypatch.setattr(postgres, "execute", recorded)
    ledger.reverse("sale 0", "undo")
    ledger.reverse("sale 1", "undo a part", amount=4)
    ledger.reverse("undo", "redo")
    weighed = [step.params["account_ids"] for step in steps if step.statement == "locked.weigh_sides"]
    assert weighed == [[ids["seller"]]] * 3
    locked = [step.params["account_ids"] for step in steps if step.statement == "locked.lock_sides"]
    assert locked == [sorted(ids.values())] * 3
    assert posted(ledger, "seller") == 16
    assert_balanced(ledger)
