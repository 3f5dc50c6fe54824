"""Partitions that are retired while others post to them or change how an account is kept, and what is left then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lastro import HistoryRetired, Ledger
from lastro.model.account import Keeping
from lastro.model.statement import By
from lastro.plans import keeping as keeping_plans
from lastro.plans.keeping import Turned
from lastro.plans.partitioning import Partition
from lastro.plans.plan import Effect
from lastro.testing import assert_balanced
from tests.support.money import CURRENCY, KEEPINGS, posted, transfer
from tests.support.sessions import Background, Observer, Sessions, pid_of


def go_to(observer: Observer, ledger_name: str, transfer_id: int) -> None:
    """Let the next transfer get the id after this one."""
    observer.value(f"SELECT setval('{ledger_name}.transfer_id', %s)", transfer_id)


def leave_first(ledger: Ledger, observer: Observer, ledger_name: str) -> Partition:
    """Go on in the second partition; return the first."""
    first = ledger.partitions()[0]
    go_to(observer, ledger_name, first.to_id)
    ledger.open_account("other", CURRENCY, floor=None)
    ledger.post(**transfer("other", "world", "other", 1))
    return first


@pytest.mark.parametrize("kept", KEEPINGS)
def test_a_partition_is_not_retired_under_a_posting(
    ledger: Ledger, session: Sessions, observer: Observer, ledger_name: str, kept: Keeping
) -> None:
    """Retiring waits for a transaction that wrote to the partition and is still open, and carries its amounts over."""
    ledger.open_account("platform", CURRENCY, keeping=kept, floor=None)
    under_way = session()
    ledger.within(under_way).post(**transfer("under way", "world", "platform", 1_000))
    first = leave_first(ledger, observer, ledger_name)
    retiring = Background(lambda: ledger.retire_partition(first.name))
    observer.until_anyone_waits_for(pid_of(under_way))
    under_way.commit()
    assert retiring.result().name == first.name
    assert (posted(ledger, "platform"), posted(ledger, "world")) == (1_000, -1_001)
    ledger.consolidate()
    assert_balanced(ledger, whole_history=False)


@pytest.mark.parametrize("kept", ["direct", "hot"])
def test_a_partition_is_not_retired_under_a_change_to_summed(
    ledger: Ledger, session: Sessions, observer: Observer, ledger_name: str, kept: Keeping
) -> None:
    """An account that becomes summed in an open transaction keeps its balance when a partition goes meanwhile."""
    ledger.open_account("platform", CURRENCY, keeping=kept, floor=None)
    for number in range(3):
        ledger.post(**transfer(f"sale {number}", "world", "platform", 100))
    ledger.consolidate()
    first = leave_first(ledger, observer, ledger_name)
    caller = session()
    run, run_within = ledger._engine.run, ledger.within(caller)._engine.run

    if kept == "direct":
        turned = run_within(lambda: keeping_plans._turn("platform", CURRENCY, "summed", now=None), Effect.KEYED)
        assert turned.done
    else:
        turned = run(lambda: keeping_plans._turn("platform", CURRENCY, "summed", now=None), Effect.KEYED)
        assert isinstance(turned, Turned)
        assert run_within(lambda: keeping_plans._finish(turned, "summed", now=None), Effect.KEYED)
    retiring = Background(lambda: ledger.retire_partition(first.name))
    observer.until_anyone_waits_for(pid_of(caller))
    caller.commit()
    assert retiring.result().name == first.name
    assert ledger.account("platform", CURRENCY).keeping == "summed"
    assert posted(ledger, "platform") == 300
    assert_balanced(ledger, whole_history=False)


def test_a_balance_of_a_moment_outlives_the_partition(ledger: Ledger, observer: Observer, ledger_name: str) -> None:
    """The balance at a moment after a retired partition counts what the partition held, for every keeping."""
    for kept in KEEPINGS:
        ledger.open_account(kept, CURRENCY, keeping=kept, floor=None)
        ledger.post(**transfer(f"before {kept}", "world", kept, 100))
    first = leave_first(ledger, observer, ledger_name)
    between = ledger.post(**transfer("between", "world", "other", 1)).transfer.recorded_at
    for kept in KEEPINGS:
        ledger.post(**transfer(f"after {kept}", "world", kept, 11))
        ledger.post(**transfer(f"out {kept}", kept, "world", 4))
    ledger.retire_partition(first.name)
    later = datetime.now(UTC) + timedelta(hours=1)
    for kept in KEEPINGS:
        assert ledger.balance(kept, CURRENCY, at=between).posted == 100
        assert ledger.balance(kept, CURRENCY, at=later).posted == posted(ledger, kept) == 107


@pytest.mark.parametrize("by", ["recorded", "occurred"])
def test_what_was_retired_before_any_closing_is_refused(
    ledger: Ledger, observer: Observer, ledger_name: str, by: By
) -> None:
    """A moment before the last retired entry can't be told, and no statement since; nothing else is refused."""
    dated = datetime.now(UTC) - timedelta(days=3)
    last = {}
    for kept in KEEPINGS:
        ledger.open_account(kept, CURRENCY, keeping=kept, floor=None)
        ledger.post(**transfer(f"first {kept}", "world", kept, 60, occurred_at=dated - timedelta(days=1)))
        last[kept] = ledger.post(**transfer(f"last {kept}", "world", kept, 40, occurred_at=dated)).transfer
    first = leave_first(ledger, observer, ledger_name)
    ledger.retire_partition(first.name)
    for kept in KEEPINGS:
        ledger.post(**transfer(f"after {kept}", "world", kept, 11))
    microsecond = timedelta(microseconds=1)

    def judge() -> None:
        for kept, transferred in last.items():
            from_here = transferred.recorded_at if by == "recorded" else transferred.occurred_at
            with pytest.raises(
                HistoryRetired, match=r"retired with their partition before any day was closed.*close-days"
            ):
                ledger.balance(kept, CURRENCY, at=from_here - microsecond, by=by)
            assert ledger.balance(kept, CURRENCY, at=from_here, by=by).posted == 100
            for since in (None, from_here):
                with pytest.raises(HistoryRetired):
                    ledger.statement(kept, CURRENCY, since=since, by=by)
            statement = ledger.statement(kept, CURRENCY, since=from_here + microsecond, by=by)
            assert (statement.head.opening, [line.balance for line in statement]) == (100, [111])
        # It had nothing in there.
        assert ledger.balance("other", CURRENCY, at=dated, by=by).posted == 0

    judge()
    observer.until(lambda: ledger.close_days(every_s=1).closings > 0, "the days closed up to here")
    judge()
    assert_balanced(ledger, whole_history=False)


def test_partitions_are_made_again_when_all_were_retired(ledger: Ledger, observer: Observer, ledger_name: str) -> None:
    """With every partition retired, postings and `keep_partitions` go on, and what strayed has a partition again."""
    ledger.open_account("seller", CURRENCY)
    ledger.post(**transfer("first", "world", "seller", 10))
    retired = ledger.partitions()
    go_to(observer, ledger_name, retired[-1].to_id + 5)
    ledger.post(**transfer("stray", "world", "seller", 1))
    for partition in retired:
        ledger.retire_partition(partition.name)
    assert ledger.partitions() == []
    assert ledger.keep_partitions() > 0
    assert ledger.keep_partitions() == 0
    partitions = ledger.partitions()
    assert not {partition.name for partition in partitions} & {partition.name for partition in retired}
    stray_id = ledger.post(**transfer("stray", "world", "seller", 1)).transfer.id
    assert partitions[0].from_id <= stray_id < partitions[0].to_id
    assert observer.value(f"SELECT count(*) FROM {ledger_name}.transfer_default") == 0
    ledger.post(**transfer("next", "world", "seller", 1))
    ledger.migrate()
    assert posted(ledger, "seller") == 12
    assert_balanced(ledger, whole_history=False)
