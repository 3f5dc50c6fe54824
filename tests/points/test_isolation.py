"""In a caller's REPEATABLE READ the snapshot may be older than the lock: nothing is decided by what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from lastro import InsufficientFunds, SerializationLost
from lastro.ledger.points_blocking import HeldPoints
from tests.points.members import CURRENCY, REWARD, Club, caller_of

RIVALS = pytest.mark.parametrize("rival", ["spend", "give", "earn", "cancel", "refund", "expire"])


@pytest.fixture
def caller(store: str, store_url: str, club: Club) -> Iterator[Any]:
    """A transaction in REPEATABLE READ that has looked at the database before anything else happens."""
    club.earn("ana", 10, days=1)
    club.earn("ana", 20, key="bonus")
    club.spend("ana", 5, key="mug")
    with caller_of(store, store_url) as connection:
        cursor = connection.cursor()
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        if store == "mariadb":
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        cursor.execute(f"SELECT count(*) FROM {club.ledger._operations.ledger}.open_lot")
        yield connection


def act(club: Club, rival: str) -> None:
    """What somebody else does to ana's points meanwhile."""
    match rival:
        case "spend":
            club.spend("ana", 15, policy="newest")
        case "give":
            club.give("ana", "ben", 15)
        case "earn":
            club.earn("ana", 7, days=9)
        case "cancel":
            club.points.cancel("bonus")
        case "refund":
            club.points.refund(key="back", spend="mug")
        case "expire":
            club.pass_days(3)
            assert club.points.expire().points == 5


def spend(points: HeldPoints, amount: int) -> object:
    """Ana spends in the caller's transaction."""
    return points.spend(key="late", member="ana", amount=amount, currency=CURRENCY, reward=REWARD)


@pytest.mark.stores("postgres")
@RIVALS
def test_postgres_loses_the_transaction(club: Club, caller: Any, rival: str) -> None:
    """Whoever's lots were changed after the snapshot is told to begin again, and never judged by old ones."""
    act(club, rival)
    with pytest.raises(SerializationLost):
        spend(club.ledger.within(caller).points, 1)
    caller.rollback()


@pytest.mark.req("1.8")
@pytest.mark.stores("mariadb")
@RIVALS
def test_mariadb_reads_what_is_committed(club: Club, caller: Any, rival: str) -> None:
    """A spend takes what is there now, to the point, and not a point more."""
    act(club, rival)
    there = club.posted("ana")
    held = club.ledger.within(caller).points
    with pytest.raises(InsufficientFunds):
        spend(held, there + 1)
    spend(held, there)
    caller.commit()
    assert (club.posted("ana"), club.lots("ana")) == (0, [])


@pytest.mark.req("1.8")
@pytest.mark.stores("mariadb")
def test_mariadb_erases_accounts_that_a_snapshot_does_not_show(club: Club, caller: Any) -> None:
    """An account that was opened after the caller's snapshot loses its name as well."""
    club.points.define_rule("miles", activity="flight", points=1, currency="MIL")
    club.points.earn("flight", activity="flight", member="ana", units=9)
    erased = club.ledger.within(caller).points.erase("ana")
    caller.commit()
    assert erased.accounts == 2
    assert {account.name for account in club.ledger.accounts()} & {"ana"} == set()


@pytest.mark.stores("postgres")
def test_postgres_does_not_erase_by_a_snapshot(club: Club, caller: Any) -> None:
    """Where an account was opened after the snapshot, the erasure would leave the name on it: it begins again."""
    club.points.define_rule("miles", activity="flight", points=1, currency="MIL")
    club.points.earn("flight", activity="flight", member="ana", units=9)
    with pytest.raises(SerializationLost):
        club.ledger.within(caller).points.erase("ana")
    caller.rollback()
    assert club.points.erase("ana").accounts == 2


@pytest.mark.req("1.11")
@pytest.mark.stores("postgres")
def test_postgres_does_not_earn_by_a_rule_that_a_rebuild_put_aside(club: Club, store_url: str) -> None:
    """
    Also where the rebuild found nothing to change: the cap of the newer version would never learn what was earned by
    the older one.
    """
    points, month = club.points, (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))
    points.define_rule("game", activity="game", points=10, currency=CURRENCY, cap=100, period="month")
    points.earn("g1", activity="game", member="ana")
    with caller_of("postgres", store_url) as caller:
        caller.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        caller.execute(f"SELECT count(*) FROM {club.ledger._operations.ledger}.points_rule")
        points.define_rule("game", activity="game", points=10, currency=CURRENCY, cap=20, period="month")
        assert points.rebuild("game", *month).changes == 0
        with pytest.raises(SerializationLost):
            club.ledger.within(caller).points.earn("g2", activity="game", member="ana", units=5)
        caller.rollback()
    assert [points.earn(f"g{number}", activity="game", member="ana").earnings != () for number in (3, 4)] == [
        True,
        False,
    ]


@pytest.mark.req("1.8")
@pytest.mark.stores("postgres", "mariadb")
def test_earning_again_after_the_caller_undid_the_first_of_a_currency(club: Club, store: str, store_url: str) -> None:
    """The issuing account was undone with the caller's transaction; the next one opens it, and loses nothing it wrote."""
    club.points.define_rule("miles", activity="flight", points=1, currency="MIL", cap=9)
    with caller_of(store, store_url) as caller:
        held = club.ledger.within(caller).points
        for end in (caller.rollback, caller.commit):
            assert held.earn("flight", activity="flight", member="ana", units=5).earnings
            end()
    done = club.points.activity("flight")
    assert done is not None
    assert [earning.amount for earning in done.earnings] == [5]
    assert club.ledger.balance("ana", "MIL").posted == 5
