"""Placements, results and settlers at the same moment: each bet is settled once, by what is known last, and none is lost."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import psycopg
import pytest

from lastro import Ledger
from lastro.betting import placing
from lastro.betting.rounds import Settlement
from lastro.betting.settling import Batch, settle_batch
from lastro.ledger import HeldLedger
from lastro.model.bet import bet_intent
from lastro.plans.plan import Effect, Plan, step
from tests.betting.betting_books import HOUSE, bet, market, money, nothing_is_held, players, result
from tests.support.sessions import Background, Observer, Sessions, together

Connection = psycopg.Connection[Any]
LEGS = [("first", "home", "2.05"), ("second", "home", "2.05")]


@pytest.fixture
def book(books: Ledger) -> Ledger:
    """A ledger with two markets and a player who has a multiple over both."""
    players(books, "ana", "bea")
    for name in ("first", "second"):
        market(books, name)
    bet(books, "m", legs=LEGS)
    return books


def settle_within(held: HeldLedger, market_id: int, *, bets_max: int = 10) -> Batch | None:
    """Settle one batch as the settler does, but in a transaction that the test holds open."""
    terms = held._operations.terms()
    return held._engine.run(lambda: settle_batch(market_id, terms, bets_max=bets_max), Effect.KEYED)


FIRST, SECOND = 1, 2


@pytest.mark.req("3.5")
@pytest.mark.req("3.7")
def test_two_markets_settle_a_multiple_once(book: Ledger, session: Sessions, observer: Observer) -> None:
    """Both results are in, both markets are settled at the same moment: the second settler finds it done."""
    for name in ("first", "second"):
        result(book, name)
    one, two = session(), session()
    assert settle_within(book.within(one), FIRST) == Batch(1, settled=1)
    going = Background(partial(settle_within, book.within(two), SECOND))
    observer.until_blocked(two.info.backend_pid, by=one.info.backend_pid)
    one.commit()
    assert going.result() == Batch(1)
    two.commit()
    assert (book.betting.bet("m").version, money(book, "ana")) == (1, (1_320, 0))
    assert book.betting.settle() == Settlement()


def test_the_last_market_settles_it_whoever_looked_first(book: Ledger, session: Sessions, observer: Observer) -> None:
    """The first market's settler read before the second result came, and isn't committed: the second one waits and settles."""
    result(book, "first")
    one, two = session(), session()
    assert settle_within(book.within(one), FIRST) == Batch(1)
    result(book, "second")
    going = Background(partial(settle_within, book.within(two), SECOND))
    observer.until_blocked(two.info.backend_pid, by=one.info.backend_pid)
    one.commit()
    assert going.result() == Batch(1, settled=1)
    two.commit()
    assert money(book, "ana") == (1_320, 0)


@pytest.mark.req("3.6")
def test_a_correction_meets_the_other_markets_settler(book: Ledger, session: Sessions, observer: Observer) -> None:
    """The second market settles by the first one's old result while its new one comes in: the correction waits, and sees it."""
    result(book, "first")
    book.betting.settle()
    result(book, "second")
    one, two = session(), session()
    assert settle_within(book.within(one), SECOND) == Batch(1, settled=1)
    result(book, "first", "away", version=2)
    going = Background(partial(settle_within, book.within(two), FIRST))
    observer.until_blocked(two.info.backend_pid, by=one.info.backend_pid)
    one.commit()
    assert going.result() == Batch(1, corrected=1)
    two.commit()
    assert (book.betting.bet("m").version, money(book, "ana")) == (2, (900, 0))


@pytest.mark.case("C054")
@pytest.mark.case("C062")
def test_a_bet_that_commits_late_is_found(book: Ledger, session: Sessions) -> None:
    """
    It was placed in time, with a lower id, and commits when its market is settled through and corrected: it is settled, by
    the newest result, and not set aside for ever.
    """
    one = session()
    bet(book.within(one), "late", market="first")
    bet(book, "other", "bea", market="first")
    result(book, "first")
    assert book.betting.settle().settled == 1
    result(book, "first", "away", version=2)
    assert book.betting.settle().corrected == 1
    assert book.betting.backlog().results == 0
    one.commit()
    assert book.betting.settle() == Settlement(bets=1, settled=1, batches=1)
    assert (book.betting.bet("late").returned, book.betting.bet("late").version) == (0, 1)
    assert money(book, "ana") == (900, 100)


@pytest.mark.case("C054")
def test_a_bet_beside_a_close_and_a_result(book: Ledger, session: Sessions) -> None:
    """Placed before the close and committed after it: in the settled set. After the decision: void. Never left aside."""
    one, two = session(), session()
    bet(book.within(one), "before", market="first")
    looked_at = two.execute("SELECT clock_timestamp()").fetchone()[0]
    book.betting.close("first")
    result(book, "first")
    one.commit()
    assert book.betting.settle().settled == 1
    assert book.betting.bet("before").returned == 205
    # A placement that looked before the close, and was decided on meanwhile, comes with the moment of its look: the same.
    after = bet_as_looked(book, two, "after", looked_at + timedelta(hours=1))
    two.commit()
    assert book.betting.settle().voided == 1
    assert (book.betting.bet(after).returned, money(book, "bea")) == (100, (1_000, 0))


def bet_as_looked(ledger: Ledger, connection: Connection, key: str, looked_at: datetime) -> str:
    """Write a bet as a placement does whose look came at this moment, whatever the market is by now."""
    held = ledger.within(connection)
    wanted = bet_intent(
        key=key, account="bea", currency="BRL", stake=100, legs=[("first", "home", "2.05")], tolerance="0", actor=None,
        metadata=None,
    )  # fmt: skip
    terms = held._operations.terms()

    def write() -> Plan[object]:
        rows = yield step(
            "betting_placing.look", key=key, account="bea", markets=["first"], selections=["home"], now=looked_at
        )
        open_then = [{**row, "state": "open"} for row in rows]
        plan, answer = placing._place(wanted, terms), None
        while True:
            try:
                asked = plan.send(answer)  # type: ignore[arg-type]
            except StopIteration as done:
                return done.value
            answer = open_then if asked.statement == "betting_placing.look" else (yield asked)  # type: ignore[assignment]

    held._engine.run(write, Effect.KEYED)
    return key


@pytest.mark.req("3.5")
def test_a_market_is_one_settlers_at_a_time(book: Ledger, session: Sessions) -> None:
    """Whoever finds a market in hand passes it over and waits for nobody; another market is taken."""
    bet(book, "s", "bea", market="first")
    result(book, "first")
    result(book, "first", "away", version=2)
    result(book, "second")
    one, two = session(), session()
    assert settle_within(book.within(one), FIRST, bets_max=1) == Batch(1, settled=1)
    assert settle_within(book.within(two), FIRST) is None
    one.rollback()
    two.rollback()
    assert book.betting.settle(bets_max=1).settled == 2


@pytest.mark.req("3.1")
def test_a_placement_waits_for_one_batch_and_others_for_none(
    book: Ledger, session: Sessions, observer: Observer
) -> None:
    """While a batch is open only its own players wait, until its commit; results and odds hold no placement up."""
    market(book, "next")
    bet(book, "s", market="first")
    result(book, "first")
    one, two = session(), session()
    settle_within(book.within(one), FIRST)
    book.within(two).betting.offer("next", {"home": "2.10"})
    assert bet(book, "free", "bea", market="next").replayed is False
    going = Background(partial(bet, book, "waits", market="next"))
    observer.until_anyone_waits_for(one.info.backend_pid)
    one.commit()
    assert going.result().replayed is False
    two.rollback()


@pytest.mark.req("3.5")
@pytest.mark.req("3.17")
def test_many_settlers_share_the_work(book: Ledger) -> None:
    """
    Four at once over markets that share multiples, results given twice and corrected meanwhile: each bet once by what is
    known last, the sums as if one had done it.
    """
    names = [f"m{number}" for number in range(5)]
    players(book, *(f"p{number}" for number in range(8)), amount=10_000)
    for name in names:
        market(book, name)
    for number in range(60):
        legs = [(names[(number + leg) % 5], ("home", "away")[number % 2], "2.05") for leg in range(1 + number % 3)]
        bet(book, f"b{number}", f"p{number % 8}", legs=legs)
    for name in names:
        result(book, name)
    corrections = [partial(result, book, name, "away", version=2) for name in names[:3]]
    duplicates = [partial(result, book, name, version=1) for name in names]
    settlers = [partial(book.betting.settle, bets_max=4) for _ in range(4)]
    answers = together([*settlers, *corrections, *duplicates])
    assert [answer for answer in answers if isinstance(answer, BaseException)] == []
    while book.betting.backlog().results:
        book.betting.settle(bets_max=7)
    winners = {name: "away" if name in names[:3] else "home" for name in names}
    total = 0
    for number in range(60):
        found = book.betting.bet(f"b{number}")
        won = all(winners[leg.market] == leg.selection for leg in found.legs)
        assert found.returned == (found.potential_return if won else 0), found
        total += 100 - (found.returned or 0)
    assert nothing_is_held(book, *(f"p{number}" for number in range(8)))
    assert money(book, HOUSE)[0] == total
