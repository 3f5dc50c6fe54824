"""Days are closed while others post: whoever commits late is counted, whoever is killed is gone on from, nobody waits."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import psycopg
import pytest

import lastro
from lastro import HistoryRetired, Ledger
from lastro.plans.course import Act
from lastro.plans.plan import Effect, Plan, Rows, step
from tests.support.money import CURRENCY, KEEPINGS, fund, posted, transfer
from tests.support.sessions import PATIENCE_S, Background, Observer, Sessions, pid_of, together
from tests.support.stores import SQLITE, on_every_server, on_every_store, rows_of, transaction

EVERY_S = 1
POSTERS, POSTINGS, MOMENTS = 3, 60, 40


def now_of(ledger: Ledger) -> datetime:
    """The moment that the store records right now."""
    return ledger.post(**transfer(f"now {random.random()}", "world", "clockwork", 1)).transfer.recorded_at


@pytest.fixture
def shop(ledger: Ledger) -> Ledger:
    """A ledger with an account of each keeping, and one that tells the time."""
    for keeping in KEEPINGS:
        fund(ledger, keeping, 100, keeping, floor=None)
    ledger.open_account("clockwork", CURRENCY, keeping="hot", floor=None)
    return ledger


@pytest.mark.req("3.19")
@pytest.mark.case("C062")
@on_every_server
@pytest.mark.parametrize("keeping", ["hot", "direct"])
def test_who_commits_late_is_waited_for_and_counted(
    shop: Ledger, store_url: str, session: Sessions, monkeypatch: pytest.MonkeyPatch, keeping: str
) -> None:
    """
    A posting with an old moment and an old id commits after the closer has looked: its mark isn't made before that.

    Before and after, balances at moments before and after the posting say what is committed by then.
    """
    monkeypatch.setattr("lastro.plans.closing_days.CLOSING_WAIT_MS", 0)
    late = session()
    began = now_of(shop)
    shop.within(late).post(**transfer("late", "world", keeping, 7))
    after = now_of(shop)
    done = shop.close_days(every_s=EVERY_S)
    assert (done.marks, done.full, len(done.waits_for)) == (0, True, 1)
    # It goes on waiting for that one, and not for whoever has come since.
    other = session()
    shop.within(other).post(**transfer("other", "world", "summed", 1))
    assert shop.close_days(every_s=EVERY_S).waits_for == done.waits_for
    assert shop.balance(keeping, CURRENCY, at=after).posted == 100
    late.commit()
    assert shop.close_days(every_s=EVERY_S).marks >= 1
    assert shop.balance(keeping, CURRENCY, at=after).posted == 107
    assert shop.balance(keeping, CURRENCY, at=began).posted == 100
    recorded = shop.transfer("late").recorded_at  # type: ignore[union-attr]
    assert shop.balance(keeping, CURRENCY, at=recorded).posted == 107
    assert shop.balance(keeping, CURRENCY, at=recorded - timedelta(microseconds=1)).posted == 100
    other.rollback()
    ((marks,),) = rows_of(store_url, "SELECT count(*) FROM {s}.mark".replace("{s}.", "{s}"), shop._operations.ledger)
    assert marks >= 1


def test_ids_that_were_drawn_and_not_used_yet_are_waited_for(
    shop: Ledger, session: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch draws its ids first and writes them later; a closer that looks in between sees that something may come."""
    monkeypatch.setattr("lastro.plans.closing_days.CLOSING_WAIT_MS", 0)
    caller = session()
    draw = lastro.sql.catalogue.catalogue("postgres", shop._operations.ledger)["batch.draw_ids"].text
    # By the simple protocol, which leaves no portal, and with it no snapshot, behind between two statements.
    psycopg.ClientCursor(caller).execute(draw.encode(), {"transfers": 3, "now": None})
    assert len(shop.close_days(every_s=EVERY_S).waits_for) == 1
    caller.rollback()
    assert shop.close_days(every_s=EVERY_S).waits_for == ()


@on_every_store
def test_balances_of_the_past_are_right_under_load(shop: Ledger, store: str) -> None:
    """While some post (in transactions of many, dated back) and two close days, a past moment's balance is the naive sum."""
    stop = threading.Event()
    ends = threading.Barrier(POSTERS + 1)
    begins = now_of(shop)

    def post(name: int) -> None:
        chance = random.Random(name)
        for number in range(POSTINGS if store != SQLITE else POSTINGS // 2):
            batch = [
                transfer(
                    f"{name}:{number}:{part}", *chance.sample([*KEEPINGS, "world"], 2), chance.randrange(1, 50),
                    occurred_at=begins - timedelta(seconds=chance.randrange(0, 5)),
                )
                for part in range(chance.choice((1, 1, 3, 60)))
            ]  # fmt: skip
            shop.post_many(batch)
        ends.wait()

    def close() -> None:
        while not stop.is_set():
            shop.close_days(every_s=EVERY_S)

    closing = [Background(close) for _ in range(2)]
    posting = [Background(lambda n=name: post(n)) for name in range(POSTERS)]  # type: ignore[misc]
    ends.wait()
    for poster in posting:
        poster.result()
    stop.set()
    for closer in closing:
        closer.result()
    shop.close_days(every_s=EVERY_S)
    chance = random.Random("moments")
    for name in KEEPINGS:
        entries: list[lastro.Entry] = []
        while page := shop.entries(name, CURRENCY, after=entries[-1].transfer_id if entries else None, limit=1_000):
            entries += page
        assert sum(entry.signed for entry in entries) == posted(shop, name)
        for _ in range(MOMENTS // len(KEEPINGS)):
            seen = chance.choice(entries)
            recorded = sum(entry.signed for entry in entries if entry.recorded_at <= seen.recorded_at)
            assert shop.balance(name, CURRENCY, at=seen.recorded_at).posted == recorded
            occurred = sum(entry.signed for entry in entries if entry.occurred_at <= seen.occurred_at)
            assert shop.balance(name, CURRENCY, at=seen.occurred_at, by="occurred").posted == occurred
        lines = list(shop.statement(name, CURRENCY))
        assert sorted(line.entry.transfer_id for line in lines) == [entry.transfer_id for entry in entries]


@on_every_store
def test_a_killed_closer_is_gone_on_from(shop: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever step it dies after, the next closer finishes the mark, and every account is closed once."""
    monkeypatch.setattr("lastro.plans.closing_days.CLOSING_ACCOUNTS_MAX", 2)
    expected = {name: posted(shop, name) for name in KEEPINGS}
    for dies_after in range(9):
        shop.post(**transfer(f"more {dies_after}", "world", "direct", 1))
        expected["direct"] += 1
        course = shop._operations.close_days(every_s=EVERY_S, after_batch=None)
        going, acts = next(course), 0
        while acts < dies_after:
            answer = shop._act(going)
            acts += isinstance(going, Act)
            try:
                going = course.send(answer)
            except StopIteration:
                break
        course.close()
    shop.post(**transfer("last", "world", "hot", 1))
    expected["hot"] += 1
    at = now_of(shop)
    while shop.close_days(every_s=EVERY_S) != (0, 0, False, ()):
        pass
    assert {name: shop.balance(name, CURRENCY, at=at).posted for name in KEEPINGS} == expected


def test_closers_at_once_make_each_mark_once(shop: Ledger, connection: psycopg.Connection[Any]) -> None:
    """Four at the same moment: one mark, each account closed once, and none of them fails."""
    done = together([lambda: shop.close_days(every_s=86_400)] * 4)
    assert sum(one.marks for one in done) == 1
    assert connection.execute("SELECT count(*) FROM mark").fetchone() == (1,)
    assert connection.execute("SELECT count(*), count(DISTINCT account_id) FROM closing").fetchone() == (4, 4)


def test_a_statement_shows_what_was_there_when_it_was_asked_for(
    shop: Ledger, session: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for whoever has posted and not committed; what is posted while it is read doesn't show in it."""
    looks = count(1)
    looked_again = threading.Event()

    def watched() -> Plan[Rows]:
        if next(looks) > 1:
            looked_again.set()
        return (yield step("keeping.under_way"))

    monkeypatch.setattr("lastro.plans.statements._under_way", watched)
    monkeypatch.setattr("lastro.plans.statements.STATEMENT_WAIT_MS", PATIENCE_S * 1_000)
    under_way = session()
    shop.within(under_way).post(**transfer("under way", "world", "hot", 7))
    asking = Background(lambda: shop.statement("hot", CURRENCY))
    assert looked_again.wait(PATIENCE_S)
    assert not asking.done
    under_way.commit()
    statement = asking.result()
    later = [shop.post(**transfer(f"later {number}", "world", "hot", 1)) for number in range(3)]
    lines = list(statement)
    assert (statement.head.closing, lines[-1].balance) == (107, 107)
    assert len(lines) == 3
    assert [line.balance for line in shop.statement("hot", CURRENCY)][-1] == 107 + len(later)


def test_a_statement_says_when_somebody_came_in_between(
    shop: Ledger, session: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who stays open for too long isn't waited for for ever; if it then commits into the span, the statement doesn't add up."""
    monkeypatch.setattr("lastro.plans.statements.STATEMENT_WAIT_MS", 0)
    under_way = session()
    shop.within(under_way).post(**transfer("under way", "world", "hot", 7))
    shop.post(**transfer("after it", "world", "hot", 1))
    statement = shop.statement("hot", CURRENCY)
    assert statement.head.closing == 101
    assert len(list(statement)) == 3
    reading = iter(statement)
    under_way.commit()
    with pytest.raises(lastro.SerializationLost, match="ask for the statement again"):
        list(reading)


def test_history_may_be_retired_once_its_days_are_closed(shop: Ledger, observer: Observer, ledger_name: str) -> None:
    """Not before; then marks tell the balances, and what they can't tell to the entry is refused and not made up."""
    first = shop.partitions()[0]
    between = now_of(shop)
    shop.post(**transfer("second", "world", "hot", 5))
    before_mark = now_of(shop)
    shop.close_days(every_s=EVERY_S)
    observer.value(f"SELECT setval('{ledger_name}.transfer_id', %s)", first.to_id)
    after = now_of(shop)
    with pytest.raises(lastro.InvalidInput, match="before the days are closed"):
        shop.retire_partition(first.name)
    observer.until(lambda: shop.close_days(every_s=EVERY_S) == (0, 0, False, ()), "the next second's mark")
    observer.until(
        lambda: (
            observer.value(f"SELECT id_floor >= {first.to_id - 1} FROM {ledger_name}.open_mark")
            or not shop.close_days(every_s=EVERY_S)
        ),
        "marks beyond the partition",
    )
    shop.retire_partition(first.name)
    for name, amount in (("hot", 105), ("direct", 100), ("summed", 100)):
        assert shop.balance(name, CURRENCY, at=after).posted == amount
        assert posted(shop, name) == amount
    with pytest.raises(HistoryRetired):
        shop.balance("hot", CURRENCY, at=between)
    assert shop.balance("hot", CURRENCY, at=before_mark).posted == 105
    with pytest.raises(HistoryRetired):
        list(shop.statement("hot", CURRENCY))
    assert list(shop.statement("hot", CURRENCY, since=after)) == []
    assert shop.balance("direct", CURRENCY, at=datetime(2020, 1, 1, tzinfo=UTC)).posted == 0


def test_nobody_who_posts_waits_for_a_closer(shop: Ledger, session: Sessions, observer: Observer) -> None:
    """A page of closings that is written and not committed holds up no posting, also not to the accounts on it."""
    closer = session()
    held = shop.within(closer)
    course = shop._operations.close_days(every_s=EVERY_S, after_batch=None)
    going = next(course)
    for _ in ("begin", "look", "settle"):
        going = course.send(shop._act(going))
    assert isinstance(going, Act)
    page = held._engine.run(going.make, Effect.KEYED)
    assert page.closings == 4
    for name in KEEPINGS:
        shop.post(**transfer(f"meanwhile {name}", "world", name, 1))
    assert observer.blockers(pid_of(closer)) == []
    closer.rollback()
    course.close()
    assert shop.close_days(every_s=EVERY_S).marks >= 1


@pytest.mark.case("S03")
def test_a_balance_of_the_past_is_planned_once(shop: Ledger, connection: psycopg.Connection[Any]) -> None:
    """A plan for these values costs what one for any values does: so the server keeps that one, and plans no more."""
    shop.close_days(every_s=EVERY_S)
    statement = lastro.sql.catalogue.catalogue("postgres", shop._operations.ledger)["moments.find"].text
    values = {"name": "'hot'", "currency": f"'{CURRENCY}'", "at": "now()", "by_occurred": "0", "last_id": "9"}
    for number, name in enumerate(values, 1):
        statement = statement.replace(f"%({name})s", f"${number}")
    connection.execute(f"PREPARE past (text, text, timestamptz, integer, bigint) AS {statement}".encode())
    costs = set()
    for mode in ("force_custom_plan", "force_generic_plan"):
        connection.execute(f"SET plan_cache_mode = {mode}".encode())
        rows = connection.execute(f"EXPLAIN EXECUTE past ({', '.join(values.values())})".encode()).fetchall()
        costs.add(rows[0][0].partition("cost=")[2].partition(" rows")[0])
    assert len(costs) == 1


@on_every_store
def test_a_callers_transaction_reads_the_past(shop: Ledger, session: Sessions) -> None:
    """Inside a transaction of the caller's, what it wrote itself counts, and what was closed since counts once."""
    caller = session()
    at = now_of(shop)
    shop.close_days(every_s=EVERY_S)
    with transaction(caller):
        held = shop.within(caller)
        mine = held.post(**transfer("mine", "world", "hot", 5)).transfer
        assert held.balance("hot", CURRENCY, at=at).posted == 100
        assert held.balance("hot", CURRENCY, at=mine.recorded_at).posted == 105
