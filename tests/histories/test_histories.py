"""Random histories agree with the naive ledger on every store, while keepings change as well; and would notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lastro import Ledger
from lastro.sql.catalogue import Statement
from tests.histories.answering import Awaiting, Blocking, Checked
from tests.histories.holding import HoldHistories
from tests.histories.machine import Length, tell
from tests.support.schemas import names_on
from tests.support.stores import on_every_store

SHORT = Length(histories=30, steps=30)
SHORT_ASYNC = Length(histories=20, steps=25)
LONG = Length(histories=150, steps=50)


@pytest.fixture
def names(store_url: str) -> Iterator[Callable[[], str]]:
    """Make names for ledgers on the store under test; they are dropped afterwards."""
    with names_on(store_url) as name:
        yield name


@on_every_store
@pytest.mark.req("0.5")
@pytest.mark.req("1.4")
@pytest.mark.req("1.6")
def test_histories_agree(store_url: str, names: Callable[[], str]) -> None:
    """Outcomes, balances, entries and counters of any history are the naive ledger's, and the books are in order."""
    tell(lambda: Checked(store_url, names()), SHORT, rules=HoldHistories)


@on_every_store
@pytest.mark.req("1.4")
def test_histories_agree_when_awaited(store_url: str, names: Callable[[], str]) -> None:
    """The awaiting ledger gives the same answers."""
    tell(lambda: Awaiting(store_url, names()), SHORT_ASYNC, rules=HoldHistories)


@pytest.mark.soak
@on_every_store
@pytest.mark.parametrize("kind", [Checked, Awaiting])
def test_histories_agree_for_long(store_url: str, names: Callable[[], str], kind: type[Blocking | Awaiting]) -> None:
    """Hundreds of longer histories, other ones each time."""
    tell(lambda: kind(store_url, names()), LONG, derandomize=False, rules=HoldHistories)


@pytest.mark.req("0.11")
def test_a_swallowed_conflict_would_be_found(
    store_url: str, names: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that answers the same key with another body as a replay doesn't pass."""
    monkeypatch.setattr("lastro.plans.transfers.differing", lambda _stored, _wanted: {})
    with pytest.raises(AssertionError):
        tell(lambda: Blocking(store_url, names()), SHORT, rules=HoldHistories)


@pytest.mark.req("3.2")
@pytest.mark.parametrize(
    ("place", "planted"),
    [
        ("lastro.plans.placing.differing_hold", lambda _stored, _wanted: {}),
        ("lastro.plans.ending._by_account", lambda events: {events[0].account_id: 0}),
    ],
    ids=["a swallowed conflict", "money that stays held"],
)
def test_a_defect_of_holds_would_be_found(
    store_url: str, names: Callable[[], str], monkeypatch: pytest.MonkeyPatch, place: str, planted: object
) -> None:
    """A ledger that takes another hold for a replay, or doesn't give back what was held, doesn't pass."""
    monkeypatch.setattr(place, planted)
    with pytest.raises(AssertionError):
        tell(lambda: Blocking(store_url, names()), SHORT, rules=HoldHistories)


def test_a_forgotten_tail_would_be_found(store_url: str, names: Callable[[], str]) -> None:
    """A ledger that judges a debit by the consolidated amount alone doesn't pass."""

    class Forgetful(Blocking):
        def __init__(self, url: str, name: str) -> None:
            super().__init__(url, name)
            forget_the_tail(self.ledger, name)

    with pytest.raises(AssertionError):
        tell(lambda: Forgetful(store_url, names()), SHORT, rules=HoldHistories)


def forget_the_tail(ledger: Ledger, name: str) -> None:
    """Plant the defect: what is weighed under the lock is the base row, without what is still in the tail."""
    engine = ledger._engine
    statements = dict(engine.statements)  # type: ignore[attr-defined]
    statements["locked.weigh_sides"] = Statement(
        "locked.weigh_sides",
        (
            f"SELECT account_id, amount AS posted, held FROM {name}.base WHERE account_id = ANY(%(account_ids)s::bigint[])",
        ),
    )
    engine.statements = statements  # type: ignore[attr-defined]
