"""Settling: each effect once, in bounded batches, corrected by reversals, with nothing left aside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

import lastro
from lastro import AlreadyReversed, InvalidInput, Ledger, ResultConflict, UnknownMarket
from lastro.betting.rounds import Settlement
from lastro.errors import LastroError
from lastro.testing import Clock, assert_balanced
from tests.betting.betting_books import CURRENCY, HOUSE, bet, market, money, nothing_is_held, players, result
from tests.support.hold_races import START

Connection = psycopg.Connection[Any]
HOUR = timedelta(hours=1)


@pytest.fixture
def book(books: Ledger) -> Ledger:
    """A ledger with a market and three players."""
    players(books, "ana", "bea", "eva")
    market(books)
    return books


def kinds(ledger: Ledger, key: str) -> list[str]:
    """What became of a bet."""
    return [event.kind for event in ledger.betting.bet_events(key)]


@pytest.mark.req("3.3")
@pytest.mark.req("3.4")
@pytest.mark.req("3.7")
def test_a_result_settles_what_was_bet(book: Ledger, connection: Connection) -> None:
    """Won and lost: the stake is taken for good, the return is credited, each by one keyed transfer, the hold is gone."""
    bet(book, "won", "ana")
    bet(book, "lost", "bea", selection="away", odds="4.00")
    assert result(book) == "recorded"
    assert book.betting.backlog().results == 1
    assert book.betting.settle() == Settlement(bets=2, settled=2, batches=1)
    assert (money(book, "ana"), money(book, "bea"), money(book, HOUSE)) == ((1_105, 0), (900, 0), (-5, 0))
    assert (book.betting.bet("won").returned, book.betting.bet("lost").returned) == (205, 0)
    keys = [entry.key for entry in book.entries(HOUSE, CURRENCY)]
    assert sorted(keys) == ["bet:1:return:1", "bet:1:stake:1", "bet:2:stake:1"]
    assert book.hold("bet:won").state == "captured"
    assert book.hold_events("bet:won")[0].key == "bet:1:stake:1"
    events = connection.execute("SELECT event_id FROM outbox ORDER BY id").fetchall()
    assert [event for (event,) in events][2:] == ["bet:won:settled:1", "bet:lost:settled:1"]
    assert book.betting.settle() == Settlement()
    assert book.betting.market("match").state == "settled"


@pytest.mark.req("3.8")
@pytest.mark.case("C051")
def test_a_void_market_gives_the_stakes_back(book: Ledger) -> None:
    """The stake is set free, nothing moves; refunds are what was staked, and the house has neither won nor lost."""
    bet(book, "a", "ana")
    bet(book, "b", "bea", selection="away", odds="4.00", stake=77)
    book.betting.void("match")
    assert book.betting.settle() == Settlement(bets=2, voided=2, batches=1)
    assert nothing_is_held(book, "ana", "bea")
    assert (money(book, "ana"), money(book, "bea"), money(book, HOUSE)) == ((1_000, 0), (1_000, 0), (0, 0))
    assert (book.betting.bet("a").state, book.betting.bet("a").returned, kinds(book, "a")) == ("void", 100, ["voided"])
    assert book.hold("bet:a").state == "released"
    assert book.entries(HOUSE, CURRENCY) == []


@pytest.mark.case("C049")
@pytest.mark.case("C051")
def test_every_outcome_conserves(book: Ledger) -> None:
    """Stakes are what comes back and what the house keeps, for every outcome and its rounding."""
    outcomes = ["won", "lost", "void", "half_won", "half_lost", "dead_heat:1/2", "dead_heat:1/3"]
    market(book, "many", odds=dict.fromkeys(outcomes, "2.05"))
    for outcome in outcomes:
        bet(book, outcome, market="many", selection=outcome)
    book.betting.result("many", {outcome: outcome for outcome in outcomes})
    book.betting.settle()
    returned = {outcome: book.betting.bet(outcome).returned for outcome in outcomes}
    assert returned == {
        "won": 205, "lost": 0, "void": 100, "half_won": 152, "half_lost": 50, "dead_heat:1/2": 102, "dead_heat:1/3": 68,
    }  # fmt: skip
    back = sum(amount or 0 for amount in returned.values())
    assert money(book, HOUSE)[0] == 700 - back
    assert money(book, "ana") == (1_000 - 700 + back, 0)


@pytest.mark.req("3.6")
@pytest.mark.req("3.7")
@pytest.mark.req("3.17")
@pytest.mark.case("C053")
def test_a_correction_is_reversed_and_settled_anew(book: Ledger) -> None:
    """Won, spent, then lost, then void, then won again: each version once, the balance below zero written and reported."""
    bet(book, "b")
    result(book)
    book.betting.settle()
    book.post(key="out", kind="pay", debit="ana", credit="world", amount=1_105, currency=CURRENCY)
    assert result(book, winner="away", version=2) == "recorded"
    assert book.betting.settle() == Settlement(bets=1, corrected=1, shortfalls=1, batches=1)
    assert money(book, "ana") == (-205, 0)
    assert [event.shortfall for event in book.betting.bet_events("b")] == [None, 205]
    book.betting.void("match", version=3)
    book.betting.settle()
    assert (money(book, "ana"), book.betting.bet("b").state) == ((-105, 0), "void")
    assert result(book, version=4) == "recorded"
    book.betting.settle()
    assert (money(book, "ana"), money(book, HOUSE)) == ((0, 0), (-105, 0))
    assert kinds(book, "b") == ["settled", "corrected", "corrected", "corrected"]
    keys = sorted(entry.key for entry in book.entries("ana", CURRENCY) if entry.key.startswith("bet:"))
    assert keys == [
        "bet:1:return:1", "bet:1:return:4", "bet:1:return_reversed:2", "bet:1:stake:1", "bet:1:stake:2", "bet:1:stake:4",
        "bet:1:stake_reversed:2", "bet:1:stake_reversed:3",
    ]  # fmt: skip
    assert book.betting.bet("b").version == 4
    with pytest.raises(AlreadyReversed):
        book.reverse("bet:1:stake:1", "by hand")


@pytest.mark.req("3.6")
@pytest.mark.case("C053")
def test_three_corrections_at_once_end_in_the_last_state(book: Ledger) -> None:
    """Results that come faster than they are settled: the newest counts, an older one that comes late changes nothing."""
    for number in range(5):
        bet(book, f"b{number}", stake=10)
    result(book)
    book.betting.settle(bets_max=2)
    for version, winner in ((2, "away"), (4, "draw"), (3, "home")):
        assert result(book, winner=winner, version=version) == ("outdated" if version == 3 else "recorded")
    book.betting.settle(bets_max=2)
    assert {book.betting.bet(f"b{number}").legs[0].outcome for number in range(5)} == {"lost"}
    assert {book.betting.bet(f"b{number}").version for number in range(5)} == {2}
    assert money(book, "ana") == (950, 0)
    assert book.betting.backlog().results == 0


@pytest.mark.req("3.7")
@pytest.mark.req("3.14")
@pytest.mark.req("3.17")
def test_a_result_counts_once(book: Ledger) -> None:
    """A duplicate is named and changes nothing; the same version with other content is a conflict that names it."""
    bet(book, "b")
    assert [result(book, version=2), result(book, version=2)] == ["recorded", "duplicate"]
    book.betting.settle()
    assert [result(book, version=2), result(book, version=1)] == ["duplicate", "outdated"]
    with pytest.raises(ResultConflict) as conflict:
        result(book, winner="away", version=2)
    assert conflict.value.fields == {"home": ("won", "lost"), "away": ("lost", "won")}
    assert book.betting.settle() == Settlement()
    assert book.betting.bet("b").version == 1


@pytest.mark.case("C049")
def test_a_result_says_what_became_of_every_selection(book: Ledger) -> None:
    """A selection without an outcome, an unknown one, an unknown market, a decision in the future: refused, not guessed."""
    for outcomes, more, error in (
        ({"home": "won"}, {}, InvalidInput),
        ({"home": "won", "nobody": "lost"}, {"others": "lost"}, UnknownMarket),
        ({}, {}, InvalidInput),
        ({"home": "winner"}, {"others": "lost"}, InvalidInput),
        ({"home": "won"}, {"others": "lost", "version": 0}, InvalidInput),
        ({"home": "won"}, {"others": "lost", "decided_at": START + 400 * 24 * HOUR}, InvalidInput),
    ):
        with pytest.raises(error):
            book.betting.result("match", outcomes, **more)  # type: ignore[arg-type]
    with pytest.raises(UnknownMarket):
        book.betting.result("nowhere", {"home": "won"})
    assert book.betting.backlog().results == 0
    # Two that share the place win in full unless somebody says dead heat.
    bet(book, "a")
    bet(book, "b", "bea", selection="away", odds="4.00")
    book.betting.result("match", {"home": "won", "away": "won", "draw": "lost"})
    book.betting.settle()
    assert [book.betting.bet(key).returned for key in "ab"] == [205, 400]


@pytest.mark.case("C054")
def test_a_bet_after_the_outcome_was_known_is_void(ledger: Ledger, server_url: str) -> None:
    """A result says when it was decided: what was placed up to then counts, what came later gives its stake back."""
    clock = Clock(START)
    with lastro.connect(server_url, ledger=ledger._operations.ledger, clock=clock) as timed:
        players(timed, "ana")
        market(timed)
        market(timed, "second")
        bet(timed, "in time")
        clock.set(START + HOUR)
        bet(timed, "too late")
        bet(timed, "half", legs=[("match", "home", "2.05"), ("second", "home", "2.05")])
        clock.set(START + 2 * HOUR)
        result(timed, decided_at=START)
        result(timed, "second")
        timed.betting.settle()
        states = {
            key: (timed.betting.bet(key).state, timed.betting.bet(key).returned) for key in ("in time", "too late")
        }
        assert states == {"in time": ("settled", 205), "too late": ("void", 100)}
        assert [leg.outcome for leg in timed.betting.bet("half").legs] == ["void", "won"]
        assert timed.betting.bet("half").returned == 205
        # Decided later than it was said at first: by the correction the bet counts after all.
        result(timed, decided_at=START + HOUR, version=2)
        timed.betting.settle()
        assert timed.betting.bet("too late").returned == 205


@pytest.mark.case("C050")
def test_a_multiple_waits_for_its_last_market(book: Ledger) -> None:
    """It stays open while one leg is unknown, also where another is lost; a correction before that changes no money."""
    market(book, "second", odds={"yes": "1.50", "no": "3"})
    legs = [("match", "home", "2.05"), ("second", "yes", "1.50")]
    for key in ("m", "v"):
        bet(book, key, legs=legs)
    result(book, winner="away")
    assert book.betting.settle() == Settlement(bets=2, batches=1)
    assert (book.betting.bet("m").state, money(book, "ana")) == ("open", (1_000, 200))
    result(book, winner="home", version=2)
    book.betting.settle()
    book.betting.result("second", {"yes": "won", "no": "lost"})
    assert book.betting.settle().settled == 2
    assert book.betting.bet("m").returned == 307
    assert nothing_is_held(book, "ana")
    # One leg void afterwards: the multiple of the others.
    book.betting.void("match", version=3)
    book.betting.settle()
    assert [leg.outcome for leg in book.betting.bet("m").legs] == ["void", "won"]
    assert book.betting.bet("m").returned == 150


@pytest.mark.req("3.5")
@pytest.mark.case("C061")
def test_a_batch_is_bounded(book: Ledger) -> None:
    """Each transaction settles at most so many bets and tells them; told to stop, the round ends, and another goes on."""
    for number in range(7):
        bet(book, f"b{number}", stake=1)
    result(book)
    told: list[int] = []

    def stop_after_two(bets: int) -> bool:
        told.append(bets)
        return len(told) < 2

    assert book.betting.settle(bets_max=3, after_batch=stop_after_two).full
    assert told == [3, 3]
    assert book.betting.backlog().results == 1
    assert book.betting.settle(bets_max=3) == Settlement(bets=1, settled=1, batches=1)


@pytest.mark.req("3.5")
def test_the_backlog_has_an_age(ledger: Ledger, server_url: str) -> None:
    """The oldest result that is not settled through tells how long it has waited."""
    clock = Clock(START)
    with lastro.connect(server_url, ledger=ledger._operations.ledger, clock=clock) as timed:
        players(timed, "ana")
        for name in ("match", "second"):
            market(timed, name)
        assert timed.betting.backlog() == (0, None, 0)
        result(timed)
        clock.set(START + HOUR)
        result(timed, "second")
        assert timed.betting.backlog() == (2, START, 3_600_000)
        timed.betting.settle()
        assert timed.betting.backlog().age_ms == 0


@pytest.mark.req("3.8")
@pytest.mark.case("C045")
def test_nobody_else_ends_the_hold_of_a_bet(book: Ledger) -> None:
    """Its stake is neither released nor captured past the settlement, and no other hold gets that owner."""
    bet(book, "b", "ana")
    for call in (
        lambda: book.release(key="r", hold="bet:b"),
        lambda: book.capture(key="c", hold="bet:b", credit=HOUSE, kind="theft"),
    ):
        with pytest.raises(InvalidInput, match="the stake of a bet"):
            call()
    with pytest.raises(InvalidInput, match="kept for the stakes of bets"):
        book.place_hold(
            key="h",
            account="ana",
            currency=CURRENCY,
            amount=1,
            owner="betting",
            expires_at=datetime(2099, 1, 1, tzinfo=UTC),
        )
    assert book.hold("bet:b").state == "open"


def test_an_overdue_bet_goes_to_its_owner(ledger: Ledger, server_url: str) -> None:
    """
    Past its deadline nothing is given back in silence: the expirer leaves it, it is listed and noted once, and settled
    when its result comes.
    """
    clock = Clock(START)
    with lastro.connect(server_url, ledger=ledger._operations.ledger, clock=clock) as timed:
        players(timed, "ana")
        market(timed, settle_by=START + HOUR)
        placed = bet(timed, "b")
        clock.set(START + HOUR)
        assert timed.expire_holds().holds == 0
        assert timed.betting.overdue() == [placed.bet]
        assert [hold.key for hold in timed.overdue_holds(owner="betting")] == ["bet:b"]
        assert [timed.betting.settle().overdue for _ in range(2)] == [1, 0]
        assert kinds(timed, "b") == ["overdue"]
        result(timed)
        assert timed.betting.settle().settled == 1
        assert (kinds(timed, "b"), timed.betting.overdue()) == (["overdue", "settled"], [])


@pytest.mark.case("C060")
def test_a_bet_that_cant_be_settled_stops_no_other(book: Ledger) -> None:
    """One of many is put aside with its reason, the others are settled once; tried again, it alone is done."""
    for number in range(9):
        bet(book, f"b{number}", ("ana", "bea", "eva")[number % 3], stake=10)
    # Somebody took the key of an entry that is to come; another one even posted what it would have said.
    book.post(key="bet:5:stake:1", kind="other", debit="world", credit="eva", amount=3, currency=CURRENCY)
    same = {"kind": "bet_stake", "debit": "bea", "credit": HOUSE, "amount": 10, "cause": "bet:8", "source": "betting"}
    book.post(key="bet:8:stake:1", currency=CURRENCY, **same)
    result(book)
    done = book.betting.settle()
    assert (done.settled, done.stuck, done.blocked) == (7, 2, 0)
    stuck, twin = book.betting.stuck()
    assert (twin.key, twin.code) == ("b7", "transfer_conflict")
    assert (stuck.key, stuck.market, stuck.code) == ("b4", "match", "transfer_conflict")
    assert (book.betting.bet("b4").state, kinds(book, "b4")) == ("stuck", ["stuck"])
    assert book.betting.settle() == Settlement()
    assert book.betting.try_again("b4") == 1
    assert book.betting.settle().stuck == 1
    # Voided by a correction it needs no entry any more.
    book.betting.void("match")
    assert book.betting.try_again() == 2
    done = book.betting.settle()
    assert (done.voided, done.corrected, done.stuck) == (2, 7, 0)
    assert nothing_is_held(book, "ana", "bea", "eva")
    assert kinds(book, "b4") == ["stuck", "stuck", "voided"]
    # What that one posted is nobody's stake, until it is undone.
    with pytest.raises(AssertionError, match="entry bet:8:stake:1: expected none"):
        assert_balanced(book)
    book.reverse("bet:8:stake:1", "undone by hand")


@pytest.mark.case("C060")
def test_a_correction_that_cant_be_made_stops_no_other(book: Ledger) -> None:
    """The return of one bet was reversed by hand: its correction is put aside, that of the other is made."""
    bet(book, "a")
    bet(book, "b", "bea")
    result(book)
    book.betting.settle()
    book.reverse("bet:1:return:1", "by hand")
    result(book, winner="away", version=2)
    done = book.betting.settle()
    assert (done.corrected, done.stuck) == (1, 1)
    assert [(stuck.key, stuck.code) for stuck in book.betting.stuck()] == [("a", "already_reversed")]
    assert book.betting.backlog().results == 0
    assert (book.betting.bet("b").returned, book.betting.bet("a").version) == (0, 1)


@pytest.mark.case("C047")
def test_a_hold_that_was_released_by_hand_is_settled_all_the_same(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is owed doesn't depend on who set the stake free past this library's guard: it is taken, below the floor."""
    bet(book, "b")
    with monkeypatch.context() as unguarded:
        unguarded.setattr("lastro.plans.holds.BETTING_OWNER", "nobody")
        book.release(key="by hand", hold="bet:b")
    book.post(key="out", kind="pay", debit="ana", credit="world", amount=1_000, currency=CURRENCY)
    result(book, winner="away")
    book.betting.settle()
    assert (money(book, "ana"), book.betting.bet("b").state) == ((-100, 0), "settled")


@pytest.mark.req("3.5")
def test_a_market_that_meets_a_fault_holds_up_no_other(book: Ledger, server_url: str, session: Any) -> None:
    """Its account is locked by somebody: the other market is settled, this one in a later round."""
    market(book, "second")
    bet(book, "a")
    bet(book, "b", "bea", market="second")
    result(book)
    result(book, "second")
    one = session()
    book.within(one).post(key="p", kind="pay", debit="ana", credit="world", amount=1, currency=CURRENCY)
    with lastro.connect(server_url, ledger=book._operations.ledger, lock_timeout_ms=50) as hasty:
        done = hasty.betting.settle()
        assert (done.settled, done.blocked, done.batches) == (1, 1, 1)
        one.commit()
        assert hasty.betting.settle().settled == 1


def test_players_of_every_keeping(books: Ledger) -> None:
    """Hot and summed accounts bet, win, lose and are corrected like the others."""
    market(books)
    for keeping in ("direct", "hot", "summed"):
        players(books, keeping, keeping=keeping)
        for number, selection in enumerate(("home", "away")):
            odds = {"home": "2.05", "away": "4.00"}[selection]
            bet(books, f"{keeping}:{number}", keeping, selection=selection, odds=odds)
    result(books)
    books.betting.settle()
    assert {money(books, keeping) for keeping in ("direct", "hot", "summed")} == {(1_005, 0)}
    result(books, winner="away", version=2)
    books.consolidate()
    books.betting.settle()
    assert {money(books, keeping) for keeping in ("direct", "hot", "summed")} == {(1_200, 0)}
    assert money(books, HOUSE) == (-600, 0)


def test_a_house_that_is_kept_direct(books: Ledger) -> None:
    """Whoever opens the house's account on other terms gets what they asked for, locked in the order of all others."""
    books.open_account(HOUSE, CURRENCY, keeping="direct", floor=None)
    players(books, "ana")
    market(books)
    bet(books, "b")
    result(books)
    assert books.betting.settle().settled == 1
    assert money(books, HOUSE) == (-105, 0)


def test_settling_needs_transactions_of_its_own(book: Ledger, session: Any) -> None:
    """A caller's transaction takes results and places bets; the round is the ledger's own."""
    held = book.within(session())
    assert not hasattr(held.betting, "settle")
    with pytest.raises(LastroError):
        book.betting.settle(bets_max=501)
