"""Voiding one bet by hand: once, for good, whatever results came before it, come at the same moment, or later."""

from __future__ import annotations

from functools import partial

import psycopg
import pytest

from lastro import AccountClosed, AsyncLedger, InvalidInput, Ledger, UnknownBet
from lastro.betting import rounds
from lastro.betting.rounds import Settlement
from lastro.betting.settling import BatchRefused
from lastro.model.bet import VoidedBet
from lastro.plans.plan import Effect
from tests.betting.betting_books import HOUSE, bet, market, money, nothing_is_held, players, result
from tests.betting.test_races import settle_within
from tests.support.sessions import Background, Observer, Sessions, together

WHY = {"reason": "wrong price", "actor": "ana"}
MATCH = 1


@pytest.fixture
def book(books: Ledger) -> Ledger:
    """A ledger with a bet on the home side and another one beside it."""
    players(books, "ana", "bea")
    market(books)
    bet(books, "b")
    bet(books, "beside", "bea")
    return books


def void(ledger: Ledger, key: str = "b") -> VoidedBet:
    """Void a bet."""
    return ledger.betting.void_bet(key, **WHY)


def kinds(ledger: Ledger, key: str = "b") -> list[tuple[str, str | None]]:
    """What became of a bet, and why."""
    return [(event.kind, event.reason) for event in ledger.betting.bet_events(key)]


@pytest.mark.req("3.7")
@pytest.mark.req("3.8")
@pytest.mark.req("3.17")
@pytest.mark.case("C051")
def test_a_voided_bet_stays_void(book: Ledger) -> None:
    """Its stake is free at once and nothing moves; results and corrections settle the other bet and leave it alone."""
    voided = void(book)
    assert (voided.replayed, voided.bet.state, voided.bet.version, voided.bet.returned) == (False, "void", 1, 100)
    assert (money(book, "ana"), money(book, "bea")) == ((1_000, 0), (1_000, 100))
    assert [found.key for found in book.betting.open_bets(market="match")] == ["beside"]
    again = book.betting.void_bet("b", reason="another reason", actor="eva")
    assert again == VoidedBet(voided.bet, replayed=True)
    for version, winner in enumerate(("home", "away", "home"), 1):
        result(book, winner=winner, version=version)
        book.betting.settle()
        assert book.betting.bet("b") == voided.bet
    assert (money(book, "ana"), money(book, "bea")) == ((1_000, 0), (1_105, 0))
    assert kinds(book) == [("voided", "wrong price")]
    events = [event for event in book.outbox.waiting(limit=1_000) if event.event_id.startswith("bet:b:")]
    assert [event.event_id for event in events] == ["bet:b:placed", "bet:b:voided:1"]
    assert events[-1].payload["reason"] == "wrong price"


@pytest.mark.req("3.6")
@pytest.mark.case("C053")
def test_a_settled_bet_is_voided_by_its_next_version(book: Ledger) -> None:
    """What was settled is reversed, whatever balance that leaves, and no later result brings it back."""
    result(book)
    book.betting.settle()
    book.post(key="out", kind="pay", debit="ana", credit="world", amount=1_105, currency="BRL")
    voided = void(book)
    assert (voided.bet.state, voided.bet.version, voided.bet.returned) == ("void", 2, 100)
    assert (money(book, "ana"), money(book, HOUSE)) == ((-105, 0), (-105, 0))
    assert kinds(book) == [("settled", None), ("corrected", "wrong price")]
    assert book.betting.bet_events("b")[1].shortfall == 105
    assert void(book).replayed
    result(book, winner="away", version=2)
    assert book.betting.settle().corrected == 1
    assert book.betting.bet("b") == voided.bet


def test_a_bet_that_is_void_already_has_no_new_version(book: Ledger) -> None:
    """Voided by its market's result nothing is left to do, but a correction doesn't bring it back."""
    book.betting.void("match")
    book.betting.settle()
    assert (void(book).replayed, book.betting.bet("b").version) == (False, 1)
    result(book, version=2)
    assert book.betting.settle().corrected == 1
    assert (book.betting.bet("b").state, money(book, "ana")) == ("void", (1_000, 0))


@pytest.mark.case("C050")
def test_a_multiple_is_voided_whole(book: Ledger) -> None:
    """Also where one of its markets is decided and the other isn't: no market looks for it any more."""
    market(book, "second")
    bet(book, "m", legs=[("match", "home", "2.05"), ("second", "home", "2.05")])
    result(book)
    book.betting.settle()
    assert void(book, "m").bet.legs[1].outcome == "void"
    result(book, "second")
    assert book.betting.settle().bets == 0
    assert nothing_is_held(book, "ana", "bea")


@pytest.mark.case("C060")
def test_a_bet_that_is_stuck_is_voided(book: Ledger) -> None:
    """Whoever can't be settled can be let go, and is in nobody's way any more."""
    stolen = {"kind": "x", "debit": "bea", "credit": HOUSE, "amount": 1, "currency": "BRL"}
    book.post(key="bet:1:stake:1", **stolen)
    result(book)
    assert book.betting.settle().stuck == 1
    assert void(book).bet.state == "void"
    assert (book.betting.stuck(), book.betting.try_again()) == ([], 0)
    assert book.betting.settle() == Settlement()


def test_a_bet_that_is_voided_meanwhile_is_not_put_aside(book: Ledger) -> None:
    """A settler that was refused puts the bet aside in a following transaction: by then it may be void."""
    void(book)
    refused = BatchRefused("r", market_id=MATCH, bet_ids=[1], refusal=UnknownBet("r"))
    terms = book._operations.terms()
    book._engine.run(lambda: rounds._set_aside(refused, terms), Effect.KEYED)
    assert (book.betting.stuck(), kinds(book)) == ([], [("voided", "wrong price")])


def test_money_that_cant_be_moved_voids_nothing(book: Ledger) -> None:
    """The account was closed since the bet was lost: refused by name, and the bet stands as it was."""
    result(book, winner="away")
    book.betting.settle()
    book.post(key="out", kind="pay", debit="ana", credit="world", amount=900, currency="BRL")
    book.close_account("ana", "BRL")
    for _ in range(2):
        with pytest.raises(AccountClosed):
            void(book)
    assert (book.betting.bet("b").state, book.betting.bet("b").version) == ("settled", 1)


def test_what_cant_be_voided_is_refused(book: Ledger) -> None:
    """A bet that isn't there, and no reason or nobody to answer for it."""
    with pytest.raises(UnknownBet):
        void(book, "nobody's")
    for wrong in ({"reason": ""}, {"actor": ""}, {"reason": None}, {"reason": "r" * 256}, {"actor": 7}):
        with pytest.raises(InvalidInput):
            book.betting.void_bet("b", **(WHY | wrong))  # type: ignore[arg-type]
    assert book.betting.bet("b").state == "open"


@pytest.mark.req("3.5")
@pytest.mark.req("3.7")
def test_voiding_meets_a_settler(book: Ledger, session: Sessions, observer: Observer) -> None:
    """Whoever comes second sees what the first one did: settled and then reversed, or void and then left alone."""
    result(book)
    one = session()
    assert settle_within(book.within(one), MATCH) is not None
    going = Background(partial(void, book))
    (waiting,) = observer.until_anyone_waits_for(one.info.backend_pid)
    assert waiting != one.info.backend_pid
    one.commit()
    assert going.result().bet.version == 2
    assert money(book, "ana") == (1_000, 0)
    market(book, "second")
    bet(book, "late", market="second")
    result(book, "second")
    two = session()
    two_held = book.within(two)
    assert two_held.betting.void_bet("late", **WHY).bet.version == 1
    settling = Background(book.betting.settle)
    observer.until_anyone_waits_for(two.info.backend_pid)
    two.commit()
    assert settling.result().settled == 0
    assert (book.betting.bet("late").version, money(book, "ana")) == (1, (1_000, 0))


@pytest.mark.req("3.17")
def test_many_void_while_results_come(book: Ledger) -> None:
    """Eight void one bet, results are corrected and settlers run: it is voided once, and everybody hears the same."""
    for number in range(12):
        bet(book, f"b{number}", stake=10)
    result(book)

    def report() -> None:
        for version in range(2, 6):
            result(book, winner=("home", "away")[version % 2], version=version)

    voids = [partial(void, book, f"b{number % 4}") for number in range(8)]
    answers = together([*voids, report, book.betting.settle, book.betting.settle, book.betting.settle])
    said = [answer for answer in answers if isinstance(answer, VoidedBet)]
    assert sorted(answer.replayed for answer in said) == [False] * 4 + [True] * 4
    while book.betting.settle().bets:
        pass
    assert {book.betting.bet(f"b{number}").state for number in range(4)} == {"void"}
    assert {book.betting.bet(f"b{number}").state for number in range(4, 12)} == {"settled"}
    assert nothing_is_held(book, "ana", "bea")


def test_voiding_is_the_callers_to_undo(book: Ledger, connection: psycopg.Connection) -> None:
    """In a caller's transaction it goes with it."""
    held = book.within(connection)
    assert held.betting.void_bet("b", **WHY).bet.state == "void"
    connection.rollback()
    assert (book.betting.bet("b").state, money(book, "ana")) == ("open", (1_000, 100))


async def test_voiding_awaited(book: Ledger, async_ledger: AsyncLedger) -> None:
    """The awaited twin does the same."""
    assert (await async_ledger.betting.void_bet("b", **WHY)).bet == book.betting.bet("b")
