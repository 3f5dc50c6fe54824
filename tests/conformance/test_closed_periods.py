"""Closed periods: nothing is posted before the bound any more, whoever writes it, until somebody reopens by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pymysql
import pytest

import lastro
from lastro import Ledger, PeriodClosed, PeriodConflict
from tests.conformance.adapters import Caller
from tests.conformance.conftest import Raw

pytestmark = [pytest.mark.usefixtures("balanced"), pytest.mark.stores(without=("firebird",))]

OCTOBER_ENDS = datetime(2025, 11, 1, tzinfo=UTC)
SEPTEMBER_ENDS = datetime(2025, 10, 1, tzinfo=UTC)
IN_OCTOBER = OCTOBER_ENDS - timedelta(microseconds=1)
MICROSECOND = timedelta(microseconds=1)
DATABASE_SAYS_NO = (psycopg.IntegrityError, pymysql.MySQLError, sqlite3.IntegrityError)
MANY = 60


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 100 BRL from the world to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 100, "currency": "BRL"} | changed


@pytest.fixture
def closed(book: Ledger) -> Ledger:
    """A ledger whose October is closed."""
    book.open_account("a", "BRL")
    closing = book.close_period(until=OCTOBER_ENDS, reason="month end", actor="accounting")
    assert (closing.closed_until, closing.reopens, closing.actor) == (OCTOBER_ENDS, False, "accounting")
    return book


@pytest.mark.case("C076")
def test_a_closed_period_takes_nothing(closed: Ledger, raw: Raw) -> None:
    """The period is half-open: its last microsecond is closed, the bound itself and everything after it isn't."""
    before = raw.written()
    with pytest.raises(PeriodClosed, match="closed before 2025-11-01") as caught:
        closed.post(**wanted(occurred_at=IN_OCTOBER))
    assert (caught.value.closed_until, caught.value.occurred_at) == (OCTOBER_ENDS, IN_OCTOBER)
    assert raw.written() == before
    assert closed.post(**wanted(occurred_at=OCTOBER_ENDS)).transfer.occurred_at == OCTOBER_ENDS
    closed.post(**wanted(key="now"))
    assert closed.balance("a", "BRL").posted == 200


def test_a_clock_of_ours_that_is_ahead_closes_no_future(reopen: Callable[..., Ledger]) -> None:
    """Whether a period is over the database's clock says: it is the one that postings are held to."""
    now = datetime.now(UTC)
    ahead = reopen(clock=lambda: now + timedelta(days=400))
    ahead.open_account("a", "BRL")
    with pytest.raises(lastro.InvalidInput, match="by the database's clock") as caught:
        ahead.close_period(until=now + timedelta(days=30))
    assert caught.value.argument == "until"
    assert ahead.period_closings() == []
    # A clock that is behind says what isn't over yet, as it says when.
    behind = reopen(clock=lambda: OCTOBER_ENDS)
    with pytest.raises(lastro.InvalidInput, match="isn't over so long"):
        behind.close_period(until=OCTOBER_ENDS)
    assert behind.close_period(until=SEPTEMBER_ENDS).recorded_at == OCTOBER_ENDS
    assert ahead.close_period(until=OCTOBER_ENDS).closed_until == OCTOBER_ENDS


@pytest.mark.case("C075")
@pytest.mark.parametrize("count", [1, 2, MANY])
def test_batches_are_held_to_it(closed: Ledger, count: int) -> None:
    """One transfer that is dated back too far refuses the batch, or with partial=True is refused alone."""
    batch = [wanted(key=f"k{number}") for number in range(count)]
    batch[-1] |= {"occurred_at": IN_OCTOBER}
    with pytest.raises(PeriodClosed) as caught:
        closed.post_many(batch)
    assert caught.value.index == count - 1
    outcomes = closed.post_many(batch, partial=True)
    assert isinstance(outcomes[-1], PeriodClosed)
    assert closed.balance("a", "BRL").posted == 100 * (count - 1)


def test_the_database_refuses_it_too(closed: Ledger, raw: Raw) -> None:
    """Whoever writes past the library, with whatever moment of recording: nothing gets into the period."""
    ids = dict(raw("SELECT name, id FROM {s}.account"))
    lite = raw.store == "sqlite"
    moments = {"old": 1_761_000_000_000_000 if lite else "2025-10-20 00:00:00"}
    moments["new"] = 1_763_000_000_000_000 if lite else "2025-11-13 00:00:00"
    insert = (
        "INSERT INTO {s}.transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind) "
        "VALUES (900, %s, %s, 5, %s, %s, 'planted', 'pay')"
    ).replace(" key,", " `key`," if raw.store == "mariadb" else " key,")
    for recorded in moments.values():
        with pytest.raises(DATABASE_SAYS_NO):
            raw(insert, ids["world"], ids["a"], moments["old"], recorded)
    for statement in (
        "UPDATE {s}.closed_period SET closed_until = NULL",
        f"UPDATE {{s}}.closed_period SET closed_until = {1 if lite else repr('2024-01-01 00:00:00')}, closing_id = 99",
        "DELETE FROM {s}.closed_period",
        "UPDATE {s}.period_closing SET actor = 'nobody'",
        "DELETE FROM {s}.period_closing",
    ):
        with pytest.raises((*DATABASE_SAYS_NO, psycopg.Error)):
            raw(statement)
    with pytest.raises(PeriodClosed):
        closed.post(**wanted(occurred_at=IN_OCTOBER))


def test_no_way_leads_into_a_closed_period(closed: Ledger) -> None:
    """Holds captured alone and in a group, points earned, and single-entry postings; what they would touch stands."""
    closed.post(**wanted(key="fund"))
    closed.open_account("till", "BRL")
    for key in ("h", "g1", "g2"):
        closed.place_hold(
            key=key, account="a", currency="BRL", amount=20, owner="o", expires_at=datetime(2100, 1, 1, tzinfo=UTC),
            group=None if key == "h" else "g",
        )  # fmt: skip
    points = closed.points
    points.define_rule("game", activity="game", points=10, currency="PTS")
    late: dict[str, Any] = {"occurred_at": IN_OCTOBER}
    for call in (
        lambda: closed.capture(key="c", hold="h", credit="till", kind="sale", **late),
        lambda: closed.capture_group(key="cg", group="g", credit="till", kind="sale", **late),
        lambda: points.earn("e", activity="game", member="member:1", **late),
        lambda: closed.credit("a", "BRL", amount=1, key="c", **late),
        lambda: closed.debit("a", "BRL", amount=1, key="c", **late),
        lambda: closed.debit("a", "BRL", amount=1, key="c", overdraw=True, **late),
    ):
        with pytest.raises(PeriodClosed) as caught:
            call()
        assert caught.value.closed_until == OCTOBER_ENDS
    assert [closed.hold(key).left for key in ("h", "g1", "g2")] == [20, 20, 20]
    assert points.activity("e") is None
    assert closed.balance("a", "BRL") == ("a", "BRL", 100, 60, 40)
    for call in (
        lambda: closed.capture(key="c", hold="h", credit="till", kind="sale", occurred_at=OCTOBER_ENDS),
        lambda: closed.capture_group(key="cg", group="g", credit="till", kind="sale"),
        lambda: points.earn("e", activity="game", member="member:1", occurred_at=OCTOBER_ENDS),
    ):
        call()
    assert closed.balance("till", "BRL").posted == 60


@pytest.mark.stores("postgres")
def test_a_batcher_is_held_to_it(closed: Ledger, ledger: Ledger) -> None:
    """Of postings that one commit carries, the one that is dated back too far is refused, and its neighbours aren't."""
    moments = [None, IN_OCTOBER, OCTOBER_ENDS, IN_OCTOBER, None]
    with ledger.batching(max_wait_ms=50) as batcher, ThreadPoolExecutor(len(moments)) as threads:
        going = [
            threads.submit(batcher.post, **wanted(key=f"k{number}", occurred_at=moment))
            for number, moment in enumerate(moments)
        ]
        said = [type(one.exception() or one.result()) for one in going]
    assert said == [PeriodClosed if moment == IN_OCTOBER else lastro.Posted for moment in moments]
    assert closed.balance("a", "BRL").posted == 300


def test_a_retry_from_before_is_replayed(book: Ledger) -> None:
    """What was posted before the closing is replayed under its key, alone and in a batch."""
    book.open_account("a", "BRL")
    old = wanted(occurred_at=IN_OCTOBER)
    book.post(**old)
    book.close_period(until=OCTOBER_ENDS)
    assert book.post(**old).replayed
    assert [posted.replayed for posted in book.post_many([old, old])] == [True, True]


@pytest.mark.case("C053")
def test_a_correction_of_a_closed_period(closed: Ledger) -> None:
    """
    Winnings of a closed period that are spent already are taken back in the current one, below zero; not in the closed.

    Under a keyed reopening, and only then, the correction may be dated back; closed again, it may not.
    """
    closed.post(**wanted(key="win", cause="market:1"))
    closed.post(**wanted(key="withdrawn", debit="a", credit="world"))
    with pytest.raises(PeriodClosed):
        closed.reverse("win", "undo", occurred_at=IN_OCTOBER)
    undone = closed.reverse("win", "undo", amount=40).transfer
    assert undone.occurred_at >= OCTOBER_ENDS
    assert closed.balance("a", "BRL").posted == -40
    opened = closed.reopen_period(key="audit:7", since=SEPTEMBER_ENDS, reason="market 1 was settled wrong", actor="ana")
    assert (opened.closed_until, opened.reopens, opened.key, opened.actor) == (SEPTEMBER_ENDS, True, "audit:7", "ana")
    assert closed.reverse("win", "undo 2", occurred_at=IN_OCTOBER).transfer.occurred_at == IN_OCTOBER
    assert closed.balance("a", "BRL").posted == -100
    with pytest.raises(PeriodClosed):
        closed.post(**wanted(occurred_at=SEPTEMBER_ENDS - MICROSECOND))
    closed.close_period(until=OCTOBER_ENDS)
    with pytest.raises(PeriodClosed):
        closed.post(**wanted(key="late", occurred_at=IN_OCTOBER))


def test_a_reopening_is_keyed_and_audited(closed: Ledger) -> None:
    """Once under a key, with a reason and a name; what was done stays on record in its order."""
    reopening = {"key": "audit:7", "since": SEPTEMBER_ENDS, "reason": "late invoice", "actor": "ana"}
    first = closed.reopen_period(**reopening)
    closed.close_period(until=OCTOBER_ENDS, actor="bo")
    assert closed.reopen_period(**(reopening | {"actor": "another"})) == first
    with pytest.raises(PeriodClosed):
        closed.post(**wanted(occurred_at=IN_OCTOBER))
    with pytest.raises(PeriodConflict) as caught:
        closed.reopen_period(**(reopening | {"reason": "something else"}))
    assert caught.value.fields == {"reason": ("late invoice", "something else")}
    said = [(one.closed_until, one.reopens, one.actor, one.reason) for one in closed.period_closings()]
    assert said == [
        (OCTOBER_ENDS, False, "bo", None),
        (SEPTEMBER_ENDS, True, "ana", "late invoice"),
        (OCTOBER_ENDS, False, "accounting", "month end"),
    ]
    assert closed.period_closings(limit=1)[0].actor == "bo"
    for missing in (
        {"key": ""},
        {"reason": ""},
        {"actor": None},
        {"since": OCTOBER_ENDS},
        {"since": IN_OCTOBER.date()},
    ):
        with pytest.raises(lastro.InvalidInput):
            closed.reopen_period(**(reopening | {"key": "new"} | missing))
    assert len(closed.period_closings()) == 3


def test_closing_again_is_harmless(closed: Ledger) -> None:
    """The same end, or an earlier one, is closed already; a later one moves the bound."""
    (first,) = closed.period_closings()
    assert closed.close_period(until=OCTOBER_ENDS) == first
    assert closed.close_period(until=SEPTEMBER_ENDS) == first
    assert closed.close_period(until=OCTOBER_ENDS + MICROSECOND).closed_until == OCTOBER_ENDS + MICROSECOND
    assert len(closed.period_closings()) == 2


def test_a_period_must_be_over(book: Ledger) -> None:
    """One that isn't over for a minute, or whose end has no time zone, isn't closed; nor is there anything to reopen."""
    with pytest.raises(lastro.InvalidInput, match="isn't over so long"):
        book.close_period(until=datetime.now(UTC) + timedelta(seconds=1))
    with pytest.raises(lastro.InvalidInput, match="isn't over so long"):
        book.close_period(until=datetime.now(UTC) - timedelta(seconds=50))
    with pytest.raises(lastro.InvalidInput, match="time zone"):
        book.close_period(until=datetime(2025, 1, 1))  # noqa: DTZ001
    with pytest.raises(lastro.InvalidInput, match="nothing is closed"):
        book.reopen_period(key="k", since=OCTOBER_ENDS, reason="r", actor="a")
    assert book.period_closings() == []


def test_a_refusal_leaves_the_callers_transaction_alone(caller: Caller, callers_book: Ledger, ledger: Ledger) -> None:
    """Within a caller's transaction a closed period refuses, and the caller's own work and other postings commit."""
    ledger.open_account("a", "BRL")
    ledger.close_period(until=OCTOBER_ENDS)
    held = callers_book.within(caller.handle)
    caller.order(1)
    with pytest.raises(PeriodClosed):
        held.post(**wanted(occurred_at=IN_OCTOBER))
    held.post(**wanted(occurred_at=OCTOBER_ENDS))
    caller.commit()
    assert ledger.balance("a", "BRL").posted == 100
    assert caller.execute("SELECT count(*) FROM {s}.orders")[0][0] == 1


GRANTS = """
GRANT USAGE ON SCHEMA {s} TO {role};
GRANT SELECT ON ALL TABLES IN SCHEMA {s} TO {role};
GRANT INSERT ON {s}.account, {s}.base, {s}.transfer, {s}.transfer_key, {s}.tail, {s}.reversal, {s}.counter TO {role};
GRANT UPDATE ON {s}.account, {s}.base, {s}.counter, {s}.closed_period TO {role};
GRANT SELECT, USAGE ON SEQUENCE {s}.transfer_id TO {role};
"""


@pytest.mark.stores("postgres")
def test_an_applications_role(closed: Ledger, reopen: Callable[..., Ledger], server_url: str, raw: Raw) -> None:
    """A role that owns nothing posts with older moments, is held to kinds and periods, and can't reopen them."""
    closed.register_kinds(lastro.PREPAID)
    role = f"app_{raw.schema}"
    raw(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    raw(GRANTS.replace("{role}", role))
    try:
        with psycopg.connect(server_url) as connection:
            port, database = connection.info.port, connection.info.dbname
        book = reopen(url=f"postgresql://{role}:x@127.0.0.1:{port}/{database}")
        book.credit("a", "BRL", amount=5, key="old", occurred_at=OCTOBER_ENDS)
        with pytest.raises(PeriodClosed):
            book.post(**wanted(occurred_at=IN_OCTOBER))
        with pytest.raises(lastro.Refusal, match="lacks a right"):
            book.reopen_period(key="k", since=SEPTEMBER_ENDS, reason="r", actor="a")
        with (
            psycopg.connect(f"postgresql://{role}:x@127.0.0.1:{port}/{database}") as connection,
            pytest.raises(psycopg.Error, match="changes only with a row of period_closing"),
        ):
            connection.execute(f"UPDATE {raw.schema}.closed_period SET closed_until = NULL".encode())
        book.close()
    finally:
        raw(f"DROP OWNED BY {role}; DROP ROLE {role}")
