"""Callers in stricter isolation: what they can't be told is a fault that says so, never a wrong answer about funds."""

from __future__ import annotations

import psycopg
import pytest

from lastro import InsufficientFunds, LastroError, Ledger, SerializationLost
from lastro.model.account import Keeping
from lastro.testing import assert_balanced
from tests.support.money import CURRENCY, KEEPINGS, fund, posted, transfer
from tests.support.sessions import Sessions

STRICTER = (psycopg.IsolationLevel.REPEATABLE_READ, psycopg.IsolationLevel.SERIALIZABLE)


@pytest.fixture(params=STRICTER, ids=lambda level: level.name.lower())
def caller(request: pytest.FixtureRequest, session: Sessions) -> psycopg.Connection[tuple[object, ...]]:
    """A caller's session in stricter isolation; its snapshot is taken by `look`."""
    connection = session()
    connection.isolation_level = request.param
    return connection


def look(caller: psycopg.Connection[tuple[object, ...]]) -> None:
    """Begin, and take the snapshot that the transaction keeps."""
    caller.execute("SELECT 1")


@pytest.mark.case("S07")
@pytest.mark.parametrize("keeping", KEEPINGS)
@pytest.mark.parametrize("way", ["post", "post_many"])
def test_a_key_of_after_the_snapshot(
    *, ledger: Ledger, caller: psycopg.Connection[tuple[object, ...]], keeping: Keeping, way: str
) -> None:
    """A key that was committed after the caller's snapshot is SerializationLost, and a replay in a new transaction."""
    fund(ledger, "shop", 100, keeping)
    fund(ledger, "platform", 0, keeping)
    wanted = transfer("k", "shop", "platform", 100)
    credit = transfer("c", "world", "platform", 1)
    for late in (wanted, credit):
        look(caller)
        ledger.post(**late)
        with pytest.raises(SerializationLost):
            post(ledger, caller, way, late)
        caller.rollback()
        look(caller)
        assert post(ledger, caller, way, late)
        caller.commit()
    assert posted(ledger, "shop") == 0
    assert_balanced(ledger)


@pytest.mark.case("S07")
@pytest.mark.parametrize("keeping", KEEPINGS)
@pytest.mark.parametrize("way", ["post", "post_many", "reverse"])
@pytest.mark.parametrize("rival", ["post", "post_many", "reverse"])
def test_an_old_snapshot_never_overdraws(
    *, ledger: Ledger, caller: psycopg.Connection[tuple[object, ...]], keeping: Keeping, way: str, rival: str
) -> None:
    """A debit judged by a snapshot from before another debit is SerializationLost, for every keeping and either way."""
    fund(ledger, "shop", 30, keeping)
    ledger.post(**transfer("in:way", "world", "shop", 70))
    ledger.post(**transfer("in:rival", "world", "shop", 70))
    ledger.post(**transfer("out", "shop", "world", 70))
    look(caller)
    debit(ledger, rival, "rival")
    with pytest.raises(SerializationLost):
        debit(ledger.within(caller), way, "way")
    caller.rollback()
    assert posted(ledger, "shop") == 30
    assert_balanced(ledger)


@pytest.mark.case("S07")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_an_old_snapshot_posts_where_nothing_changed(
    *, ledger: Ledger, caller: psycopg.Connection[tuple[object, ...]], keeping: Keeping
) -> None:
    """Without a rival a caller in stricter isolation is served like any other, refusals included."""
    fund(ledger, "shop", 100, keeping)
    look(caller)
    held = ledger.within(caller)
    assert not held.post(**transfer("one", "shop", "world", 60)).replayed
    assert held.post(**transfer("one", "shop", "world", 60)).replayed
    with pytest.raises(InsufficientFunds) as caught:
        held.post(**transfer("two", "shop", "world", 41))
    assert caught.value.available == 40
    held.post_many([transfer("three", "shop", "world", 30), transfer("four", "world", "shop", 5)])
    assert held.balance("shop", CURRENCY).posted == 15
    caller.commit()
    assert posted(ledger, "shop") == 15
    assert_balanced(ledger)


@pytest.mark.parametrize("keeping", ["hot", "summed"])
def test_an_old_snapshot_never_posts_past_a_change_of_keeping(
    *, ledger: Ledger, caller: psycopg.Connection[tuple[object, ...]], keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that still sees the account as it was kept before is waited for, though it hasn't written yet."""
    monkeypatch.setattr("lastro.plans.keeping.KEEPING_WAIT_MS", 50)
    fund(ledger, "platform", 100, keeping)
    look(caller)
    with pytest.raises(LastroError) as caught:
        ledger.keep("platform", CURRENCY, "direct")
    assert caught.value.pid == caller.info.backend_pid
    ledger.within(caller).post(**transfer("late", "world", "platform", 7))
    caller.commit()
    ledger.keep("platform", CURRENCY, "direct")
    assert posted(ledger, "platform") == 107
    assert_balanced(ledger)


def post(ledger: Ledger, caller: psycopg.Connection[tuple[object, ...]], way: str, wanted: dict[str, object]) -> bool:
    """Post in the caller's transaction, alone or in a batch of two; return whether it was replayed."""
    held = ledger.within(caller)
    if way == "post":
        return held.post(**wanted).replayed  # type: ignore[arg-type]
    extra = transfer("extra:" + str(wanted["key"]), "world", "platform", 1)
    return held.post_many([wanted, extra])[0].replayed


def debit(held: object, way: str, name: str) -> None:
    """Take 70 from `shop`: by a posting, by a batch, or by undoing a credit."""
    ledger: Ledger = held  # type: ignore[assignment]
    if way == "post":
        ledger.post(**transfer(name, "shop", "world", 70))
    elif way == "post_many":
        ledger.post_many([transfer(name, "shop", "world", 69), transfer(f"{name}:fee", "shop", "world", 1)])
    else:
        ledger.reverse(f"in:{name}", name)
