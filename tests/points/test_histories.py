"""Random histories of points agree with the simulator on every store; and a mistake in the plans would be found."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator

import pymysql
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import lastro
from lastro import Ledger
from lastro.plans.plan import Plan
from lastro.testing import Clock
from tests.histories.machine import Length
from tests.points.histories import Histories
from tests.support.mariadb import arguments_of
from tests.support.schemas import drop

SHORT = Length(histories=20, steps=45)
LONG = Length(histories=300, steps=60)
# What a set of histories must come to, or it proves nothing.
ENDS = {
    "earn", "earn replayed", "earn activity_conflict", "cancel", "cancel replayed", "cancel into debt", "spend",
    "spend replayed", "spend insufficient_funds", "spend transfer_conflict", "give", "give replayed",
    "give insufficient_funds", "refund", "refund in part", "refund already_reversed", "expire", "rebuild", "erase",
}  # fmt: skip


@pytest.fixture
def made(store: str, store_url: str, request: pytest.FixtureRequest) -> Iterator[Callable[[Clock], Ledger]]:
    """Make ledgers on the store under test, one a history; they are dropped afterwards."""
    names: list[str] = []

    def make(clock: Clock) -> Ledger:
        names.append(f"history_{secrets.token_hex(6)}")
        ledger = lastro.connect(store_url, ledger=names[-1], clock=clock)
        ledger.migrate()
        return ledger

    yield make
    if store == "postgres":
        drop(str(request.getfixturevalue("server_url")), names)
    if store == "mariadb":
        with pymysql.connect(**arguments_of(store_url)) as connection:
            for name in names:
                connection.cursor().execute(f"DROP DATABASE IF EXISTS {name}")


# A few short histories come without an end or two, other ones after each change of a plan; the long ones reach them all.
SHARE_MISSED_MAX = 1 / 4


@pytest.mark.req("1.11")
@pytest.mark.req("1.12")
@pytest.mark.req("1.13")
@pytest.mark.case("C057")
def test_histories_agree(made: Callable[[Clock], Ledger]) -> None:
    """Whatever is earned, cancelled, spent, given, refunded, expired, rebuilt and erased, in whatever order."""
    reached = tell(made, SHORT)
    missed = {end for end in ENDS if not reached[end]}
    assert len(missed) <= len(ENDS) * SHARE_MISSED_MAX, f"these never happened: {missed}"


@pytest.mark.soak
def test_histories_agree_for_long(made: Callable[[Clock], Ledger]) -> None:
    """Hundreds of longer histories, other ones each time."""
    reached = tell(made, LONG, derandomize=False)
    assert {end for end in ENDS if not reached[end]} == set(), "these never happened"


@pytest.mark.req("0.11")
@pytest.mark.stores("sqlite")
@pytest.mark.parametrize("left_out", ["lastro.points.lots.pay_debt", "lastro.points.spending.put_back"])
def test_a_mistake_would_be_found(
    made: Callable[[Clock], Ledger], monkeypatch: pytest.MonkeyPatch, left_out: str
) -> None:
    """A plan that leaves out a step (a debt that nobody pays, a refund without its lots) doesn't pass."""

    def nothing(*_: object, **__: object) -> Plan[list[object]]:
        yield from ()
        return []

    monkeypatch.setattr(left_out, nothing)
    # Which histories are drawn depends on what else is imported, so there are many; the first that fails ends them.
    with pytest.raises(AssertionError):
        tell(made, SHORT._replace(histories=200))


def tell(make: Callable[[Clock], Ledger], length: Length, *, derandomize: bool = True) -> Counter[str]:
    """Tell so many histories of so many steps; return how often each operation came to which end."""
    machine = type("Told", (Histories,), {"make": staticmethod(make), "reached": Counter()})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=length.histories,
            stateful_step_count=length.steps,
            deadline=None,
            derandomize=derandomize,
            database=None,
            # Not shrunk: each step is several transactions. Add Phase.shrink to look into a history.
            phases=(Phase.generate,),
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
    reached: Counter[str] = machine.reached  # type: ignore[attr-defined]
    return reached
