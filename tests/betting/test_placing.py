"""Placing bets: once, in order, refused in words, and never more than the money there is."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
import pytest

import lastro
from lastro import (
    AccountBarred,
    AccountClosed,
    BetConflict,
    BetInProgress,
    CurrencyMismatch,
    InsufficientFunds,
    InvalidInput,
    LastroError,
    Ledger,
    LiabilityExceeded,
    LockTimeout,
    MarketClosed,
    MarketConflict,
    OddsChanged,
    StakeOutOfRange,
    UnknownAccount,
    UnknownBet,
    UnknownMarket,
)
from lastro.model.bet import PlacedBet
from lastro.telemetry import listen
from lastro.testing import Clock
from tests.betting.betting_books import CURRENCY, ODDS, bet, market, money, players
from tests.support.hold_races import START
from tests.support.sessions import Background, Observer, Sessions, together

HOUR = timedelta(hours=1)
Connection = psycopg.Connection[Any]


@pytest.fixture
def book(books: Ledger) -> Ledger:
    """A ledger with a market and a player."""
    players(books, "ana")
    market(books)
    return books


@pytest.mark.req("3.1")
@pytest.mark.req("3.4")
@pytest.mark.req("3.13")
@pytest.mark.case("C044")
def test_a_bet_sets_its_stake_aside(book: Ledger, connection: Connection) -> None:
    """Bet, hold, exposure and event are there together; the answer carries the bet as it is read afterwards."""
    placed = bet(book, "b", stake=100, metadata={"app": "ios"}, actor="web")
    assert placed == PlacedBet(book.betting.bet("b"), replayed=False)
    assert (placed.bet.potential_return, placed.bet.state, placed.bet.version) == (205, "open", 0)
    assert money(book, "ana") == (1_000, 100)
    assert book.hold("bet:b").overdue == "list"
    exposed = book.betting.exposure("match")[0]
    assert (exposed.bets, exposed.stakes, exposed.returns, exposed.liability) == (1, 100, 205, 105)
    assert connection.execute("SELECT event_id, payload ->> 'bet' FROM outbox").fetchall() == [("bet:b:placed", "b")]
    assert book.betting.open_bets("ana", CURRENCY) == book.betting.open_bets(market="match") == [placed.bet]


@pytest.mark.req("3.1")
def test_the_stake_is_set_aside_last(book: Ledger) -> None:
    """The statements of a placement, in order: looks without a transaction, the bet, its event, last the hold."""
    bet(book, "first")
    steps = []
    engine = book._engine

    class Watched:
        dialect = engine.dialect

        def run(self, make: Any, effect: Any) -> Any:
            def watched() -> Any:
                plan, answer = make(), None
                while True:
                    try:
                        step = plan.send(answer)
                    except StopIteration as done:
                        return done.value
                    steps.append(step.statement)
                    answer = yield step

            return engine.run(watched, effect)

    betting = book.betting
    betting._engine = Watched()  # type: ignore[assignment]
    betting.place(key="b", account="ana", currency="BRL", stake=1, market="match", selection="home", odds="2.05")
    assert steps == [
        "betting_placing.look", "together", "betting_placing.record", "outbox.emit", "placing.place_direct",
    ]  # fmt: skip


@pytest.mark.req("3.2")
def test_a_retry_gets_the_first_answer(book: Ledger) -> None:
    """Accepted or refused, whatever has changed since: odds, funds, the market's end."""
    first = bet(book, "yes")
    with pytest.raises(InsufficientFunds) as refused:
        bet(book, "no", stake=901)
    book.post(key="more", kind="fund", debit="world", credit="ana", amount=5_000, currency=CURRENCY)
    book.betting.close("match")
    assert bet(book, "yes", actor="another worker") == PlacedBet(first.bet, replayed=True)
    with pytest.raises(InsufficientFunds) as again:
        bet(book, "no", stake=901)
    assert (str(again.value), again.value.needed) == (str(refused.value), 901)
    assert (refused.value.replayed, again.value.replayed) == (False, True)
    assert money(book, "ana") == (6_000, 100)


OTHER_BETS: list[tuple[dict[str, Any], str]] = [
    ({"stake": 99}, "stake"),
    ({"account": "bea"}, "account"),
    ({"selection": "away", "odds": "4.00"}, "legs"),
    ({"odds": "2.04"}, "legs"),
    ({"tolerance": "0.01"}, "tolerance"),
]


@pytest.mark.req("3.2")
def test_another_bet_under_a_key_is_refused(book: Ledger) -> None:
    """Whether the first was accepted or refused: the fields that differ are named, with what is stored and was given."""
    bet(book, "accepted")
    book.betting.suspend("match")
    with pytest.raises(MarketClosed):
        bet(book, "refused")
    book.betting.resume("match")
    for kept in ("accepted", "refused"):
        for changed, field in OTHER_BETS:
            with pytest.raises(BetConflict) as conflict:
                bet(book, kept, **changed)
            assert list(conflict.value.fields) == [field]
    assert money(book, "ana") == (1_000, 100)


REFUSALS: list[tuple[dict[str, Any], type[LastroError], dict[str, Any]]] = [
    ({"market": "other"}, UnknownMarket, {"market": "other", "selection": None}),
    ({"selection": "nobody"}, UnknownMarket, {"selection": "nobody"}),
    ({"selection": "draw", "odds": "3.30"}, MarketClosed, {"state": "suspended"}),
    ({"market": "paused"}, MarketClosed, {"state": "suspended"}),
    ({"market": "shut"}, MarketClosed, {"state": "closed"}),
    ({"market": "over"}, MarketClosed, {"state": "closed"}),
    ({"market": "done"}, MarketClosed, {"state": "settled"}),
    ({"market": "off"}, MarketClosed, {"state": "void"}),
    ({"account": "gone"}, AccountClosed, {"account": "gone"}),
    ({"odds": "2.06"}, OddsChanged, {"asked": "2.06", "offered": "2.05"}),
    ({"odds": "2.50", "tolerance": "0.449"}, OddsChanged, {"asked": "2.50"}),
    ({"stake": 9}, StakeOutOfRange, {"stake_min": 10}),
    ({"stake": 501}, StakeOutOfRange, {"stake_max": 500}),
    ({"account": "nobody"}, UnknownAccount, {"account": "nobody"}),
    ({"account": "usd"}, CurrencyMismatch, {"currencies": ["USD"]}),
    ({"account": "barred"}, AccountBarred, {"account": "barred"}),
    ({"account": "poor", "stake": 50}, InsufficientFunds, {"available": 49}),
    ({"selection": "away", "odds": "4.00", "stake": 300}, LiabilityExceeded, {"limit": 800, "win": 900}),
]


@pytest.mark.req("3.1")
def test_each_refusal_has_its_name(books: Ledger) -> None:
    """Refused with its numbers, stored, nothing set aside and no trace in the books."""
    players(books, "ana", "barred")
    players(books, "poor", amount=49)
    books.open_account("usd", "USD")
    market(books, stake_min=10, stake_max=500, liability_max=800)
    for name in ("paused", "shut", "done", "off"):
        market(books, name)
    market(books, "over", closes_at=START - HOUR)
    books.betting.suspend("paused")
    books.betting.close("shut")
    books.betting.result("done", {"home": "won"}, others="lost")
    books.betting.void("off")
    books.open_account("gone", CURRENCY)
    books.close_account("gone", CURRENCY)
    books.betting.withdraw("match", "draw")
    books.betting.bar("barred", reason="asked for it")
    for number, (asked, error, details) in enumerate(REFUSALS):
        for replayed in (False, True):
            with pytest.raises(error) as refused:
                bet(books, f"k{number}", **asked)
            assert details.items() <= refused.value.details.items()
            assert refused.value.replayed is replayed
        with pytest.raises(UnknownBet):
            books.betting.bet(f"k{number}")
    assert [exposed.bets for exposed in books.betting.exposure("match")] == [0, 0, 0]
    assert books.betting.let_in("barred") is True
    assert bet(books, "b", account="barred").replayed is False


NO_BETS: list[tuple[dict[str, Any], str]] = [
    ({"stake": 0}, "stake"), ({"stake": -1}, "stake"), ({"stake": 1.0}, "stake"), ({"stake": True}, "stake"),
    ({"stake": 10**12 + 1}, "stake"), ({"odds": "1"}, "odds"), ({"odds": "0.5"}, "odds"), ({"odds": "-2"}, "odds"), ({"odds": "NaN"}, "odds"),
    ({"odds": "Infinity"}, "odds"), ({"stake": "5"}, "stake"), ({"stake": None}, "stake"), ({"odds": 2.05}, "odds"),
    ({"odds": None}, "odds"), ({"key": ""}, "key"), ({"key": "k" * 397}, "key"), ({"legs": []}, "legs"),
    ({"legs": [("match", "home")]}, "legs"), ({"legs": "match"}, "legs"), ({"legs": [("m", "h", "2")] * 2}, "legs"),
    ({"legs": [(f"m{n}", "h", "2") for n in range(21)]}, "legs"), ({"tolerance": 0.1}, "tolerance"),
]  # fmt: skip


@pytest.mark.case("C043")
def test_what_is_no_bet_is_refused_before_any_sql(book: Ledger) -> None:
    """Refused by name, and the key isn't used up."""
    for asked, argument in NO_BETS:
        given = {"key": "k", "market": "match", "selection": "home", "odds": "2.05"} | asked
        if "legs" in asked:
            given = {"key": "k", "legs": asked["legs"]}
        with pytest.raises(InvalidInput) as refused:
            book.betting.place(**({"account": "ana", "currency": CURRENCY, "stake": 100} | given))
        assert refused.value.argument == argument
    assert bet(book, "k").replayed is False


@pytest.mark.case("C054")
def test_no_bet_from_the_close_on(ledger: Ledger, server_url: str) -> None:
    """The moment of closing is the first that takes none, by the ledger's clock; a market closed by hand takes none."""
    clock = Clock(START)
    with lastro.connect(server_url, ledger=ledger._operations.ledger, clock=clock) as timed:
        players(timed, "ana")
        market(timed, closes_at=START + HOUR)
        assert bet(timed, "early").bet.settle_by == START + 25 * HOUR
        clock.set(START + HOUR)
        with pytest.raises(MarketClosed) as late:
            bet(timed, "late")
        assert late.value.state == "closed"
        assert bet(timed, "early").replayed
        timed.betting.close("match")
        for change in (timed.betting.resume, timed.betting.suspend):
            with pytest.raises(MarketClosed):
                change("match")


@pytest.mark.case("C054")
def test_a_callers_old_transaction_meets_the_close(book: Ledger, session: Sessions) -> None:
    """The clock that closes a market is the one on the wall, not the moment at which the caller's transaction began."""
    one = session()
    ((began,),) = one.execute("SELECT now()")
    market(book, "soon", closes_at=began)
    market(book, "later", closes_at=began + timedelta(days=1))
    with pytest.raises(MarketClosed):
        bet(book.within(one), "late", market="soon")
    placed = bet(book.within(one), "early", market="later")
    assert placed.bet.placed_at > began
    one.commit()


def test_the_odds_on_offer_count(book: Ledger) -> None:
    """Within the tolerance a lower offer is taken, a higher one always; bets that are placed keep their odds."""
    first = bet(book, "first")
    book.betting.offer("match", {"home": "2.00"})
    assert bet(book, "lower", tolerance="0.05").bet.legs[0].odds == "2.00"
    book.betting.offer("match", {"home": "3.00", "abandoned": "100"})
    assert bet(book, "higher").bet.potential_return == 300
    assert book.betting.bet("first") == first.bet
    assert [found.name for found in book.betting.market("match").selections] == [*ODDS, "abandoned"]


def test_a_market_opens_once(book: Ledger) -> None:
    """On equal terms it may be opened again; on others it is a conflict that names them."""
    assert market(book) == book.betting.market("match")
    with pytest.raises(MarketConflict) as conflict:
        market(book, stake_min=5)
    assert conflict.value.fields == {"stake_min": (1, 5)}
    with pytest.raises(MarketConflict):
        market(book, odds={"nobody": "2"})
    market(book, "another")
    assert [found.name for found in book.betting.markets()] == ["another", "match"]
    assert book.betting.markets(state="closed") == []


@pytest.mark.req("3.1")
@pytest.mark.case("C009")
def test_many_place_at_once_what_is_there(book: Ledger) -> None:
    """Fifty clients with money for ten bets: exactly ten are accepted, the others refused for funds."""
    answers = together([partial(bet, book, f"b{number}") for number in range(50)])
    # Whoever waited too long for the connection pool or the row asks again, with the same key.
    answers = [
        bet_again(book, f"b{number}") if isinstance(answer, LockTimeout) else answer
        for number, answer in enumerate(answers)
    ]
    assert sum(isinstance(answer, PlacedBet) for answer in answers) == 10
    assert {type(answer) for answer in answers} == {PlacedBet, InsufficientFunds}
    assert money(book, "ana") == (1_000, 1_000)
    exposed = book.betting.exposure("match")[0]
    assert (exposed.bets, exposed.stakes) == (10, 1_000)


def bet_again(ledger: Ledger, key: str) -> PlacedBet | LastroError:
    """The answer to the same bet once more."""
    try:
        return bet(ledger, key)
    except LastroError as error:
        return error


@pytest.mark.req("3.2")
def test_one_submission_by_many_at_once(book: Ledger) -> None:
    """One is accepted, all others hear the same answer or that it is being placed; the stake is set aside once."""
    answers = together([partial(bet, book, "b")] * 12)
    placed = [answer for answer in answers if isinstance(answer, PlacedBet)]
    assert {type(answer) for answer in answers} <= {PlacedBet, BetInProgress}
    assert [answer.replayed for answer in placed].count(False) == 1
    assert {answer.bet for answer in placed} == {book.betting.bet("b")} or len({repr(p.bet) for p in placed}) == 1
    assert money(book, "ana") == (1_000, 100)


@pytest.mark.req("3.2")
def test_still_running_is_told_apart(book: Ledger, session: Sessions) -> None:
    """While another transaction places the same submission, the answer is a fault of its own, counted, at once."""
    counted: list[str] = []
    stop = listen(lambda name, _, labels: counted.append(labels["code"]) if "placement" in name else None)
    one = session()
    bet(book.within(one), "b")
    with pytest.raises(BetInProgress) as fault:
        bet(book, "b")
    stop()
    assert (fault.value.committed, counted) == ("no", ["bet_in_progress"] * 3)
    one.commit()
    assert bet(book, "b").replayed


@pytest.mark.req("3.1")
def test_a_lock_timeout_is_counted_and_tried_again(
    book: Ledger, server_url: str, session: Sessions, observer: Observer
) -> None:
    """Contention is no refusal: three tries under one key, each counted, nothing stored; later the same key places."""
    counted: list[str] = []
    stop = listen(lambda name, _, labels: counted.append(labels["code"]) if "placement" in name else None)
    one = session()
    book.within(one).post(key="p", kind="pay", debit="ana", credit="world", amount=1, currency=CURRENCY)
    with lastro.connect(server_url, ledger=book._operations.ledger, lock_timeout_ms=20) as hasty:
        with pytest.raises(LockTimeout):
            bet(hasty, "b")
        stop()
        assert counted == ["lock_timeout"] * 3
        one.commit()
        assert bet(hasty, "b").replayed is False
    assert money(book, "ana") == (999, 100)


@pytest.mark.req("3.9")
def test_bets_on_one_market_wait_for_no_row_of_each_other(book: Ledger, session: Sessions) -> None:
    """Two bets in open transactions, of other players in other slices, hold nothing that the other one waits for."""
    players(book, "bea")
    one, two = session(), session()
    with_slice(book, one, "a", "ana", 3)
    with_slice(book, two, "b", "bea", 7)
    two.commit()
    one.commit()
    assert book.betting.exposure("match")[0].bets == 2


def with_slice(ledger: Ledger, connection: Connection, key: str, account: str, number: int) -> None:
    """Place a bet that draws this slice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lastro.betting.placing.random.randrange", lambda _: number)
        bet(ledger.within(connection), key, account)


@pytest.mark.req("3.9")
def test_the_exposure_is_spread_over_a_fixed_set_of_rows(book: Ledger, connection: Connection) -> None:
    """Sixteen slices a selection, made with it; bets add to several of them and make none."""
    for number in range(30):
        bet(book, f"b{number}", stake=1)
    rows = connection.execute("SELECT count(*), count(*) FILTER (WHERE bets > 0), sum(bets) FROM exposure").fetchone()
    assert rows is not None
    assert (rows[0], rows[2]) == (48, 30)
    assert rows[1] > 4


def test_the_liability_may_be_passed_only_by_those_at_the_same_moment(book: Ledger, session: Sessions) -> None:
    """Each sees what is committed: two at once may both come in, a third one afterwards doesn't."""
    market(book, "limited", liability_max=200)
    players(book, "bea", "eva")
    on = {"market": "limited", "selection": "home", "odds": "2.05"}
    one, two = session(), session()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lastro.betting.placing.random.randrange", lambda _: 0)
        bet(book.within(one), "a", "ana", **on)
        # In the slice of the first one it would wait for its commit, and see it.
        patch.setattr("lastro.betting.placing.random.randrange", lambda _: 1)
        bet(book.within(two), "b", "bea", **on)
    one.commit()
    two.commit()
    with pytest.raises(LiabilityExceeded) as refused:
        bet(book, "c", "eva", **on)
    assert refused.value.liability == 210


@pytest.mark.case("C037")
def test_a_placed_bet_is_seen_at_once_from_everywhere(book: Ledger, session: Sessions) -> None:
    """What was acknowledged is committed: another connection reads and settles it without delay."""
    placed = bet(book, "b")
    assert book.within(session()).betting.bet("b") == placed.bet
    book.betting.void("match")
    book.betting.settle()
    assert book.betting.bet("b").state == "void"


def test_a_refusal_leaves_the_callers_transaction_usable(book: Ledger, session: Sessions) -> None:
    """In a transaction of the caller's a refusal undoes itself and is stored with the caller's own work, or not at all."""
    one = session()
    held = book.within(one)
    with pytest.raises(InsufficientFunds):
        bet(held, "no", stake=1_001)
    bet(held, "yes")
    one.commit()
    with pytest.raises(InsufficientFunds) as again:
        bet(book, "no", stake=1_001)
    assert again.value.replayed
    two = session()
    with pytest.raises(OddsChanged):
        bet(book.within(two), "undone", odds="9")
    two.rollback()
    with pytest.raises(OddsChanged) as anew:
        bet(book, "undone", odds="9")
    assert anew.value.replayed is False


def test_a_multiple_has_a_leg_a_market(book: Ledger) -> None:
    """Its potential return is the product, rounded down once; it counts whole on each of its selections."""
    market(book, "second", odds={"yes": "1.333", "no": "3"})
    legs = [("match", "home", "2.05"), ("second", "yes", "1.333")]
    placed = bet(book, "m", stake=101, legs=legs)
    assert placed.bet.potential_return == 101 * 2050 * 1333 // 10**6 == 275
    assert [leg.market for leg in placed.bet.legs] == ["match", "second"]
    assert [book.betting.exposure(name)[0].returns for name in ("match", "second")] == [275, 275]
    assert bet(book, "m", stake=101, legs=legs).replayed


def test_multiples_over_the_same_markets_dont_deadlock(book: Ledger) -> None:
    """Legs in either order, many at once: slices are locked in one order."""
    players(book, *(f"p{number}" for number in range(12)))
    market(book, "second")
    legs = [("match", "home", "2.05"), ("second", "home", "2.05")]
    answers = together(
        [
            partial(bet, book, f"m{number}", f"p{number}", legs=legs if number % 2 else legs[::-1])
            for number in range(12)
        ]
    )
    assert {type(answer) for answer in answers} == {PlacedBet}


def test_a_stale_name_takes_no_bet_apart(book: Ledger, server_url: str) -> None:
    """A process that believes of a name what is true no more places nothing on an account that isn't the bet's."""
    with lastro.connect(server_url, ledger=book._operations.ledger) as other:
        bet(other, "warm", stake=1)
        other.betting.void("match")
        other.betting.settle()
    market(book, "second")
    book.post(key="out", kind="pay", debit="ana", credit="world", amount=1_000, currency=CURRENCY)
    book.close_account("ana", CURRENCY)
    with pytest.raises(lastro.AccountClosed):
        bet(book, "closed", market="second")


def test_betting_in_the_background(book: Ledger, session: Sessions, observer: Observer) -> None:
    """A placement waits for another one of its account, and is judged by what that one left."""
    one = session()
    bet(book.within(one), "a", stake=950)
    going = Background(partial(bet, book, "b"))
    observer.until_anyone_waits_for(one.info.backend_pid)
    one.commit()
    assert isinstance(going.error(), InsufficientFunds)
    assert money(book, "ana") == (1_000, 950)
