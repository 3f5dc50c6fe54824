"""Erasing a member: the name is gone everywhere, nothing else has changed, and nobody can post under it any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import lastro
from lastro import AccountClosed, Ledger, UnknownAccount, UnknownMember
from lastro.testing import assert_balanced
from tests.conformance.eyes import Raw
from tests.points.members import CURRENCY, REWARD, Club, caller_of
from tests.support.sessions import together


@pytest.fixture
def elsewhere(store_url: str, ledger_name: str, club: Club) -> Iterator[Ledger]:
    """Another process's ledger, which remembers what it has learnt."""
    with lastro.connect(store_url, ledger=ledger_name, clock=club.clock) as other:
        yield other


@pytest.mark.req("1.13")
def test_the_name_is_gone_everywhere_and_the_sums_stay(club: Club, ledger: Ledger, raw: Raw) -> None:
    """No text of any table holds the name; balances, entries and the currency's sum are what they were."""
    ledger.open_account("ana", "BRL", metadata={"email": "ana@example.com"})
    ledger.post(key="deposit", kind="deposit", debit="world", credit="ana", amount=500, currency="BRL")
    club.earn("ana", 30, days=9)
    club.spend("ana", 10)
    club.give("ana", "ben", 5)
    before = {(name, currency): ledger.balance(name, currency).posted for name, currency in open_names(ledger)}
    entries = [entry._replace(account="") for entry in ledger.entries("ana", CURRENCY)]

    erased = club.points.erase("ana")

    assert erased.accounts == 2
    assert texts_with(raw, "ana") == []
    after = {(name, currency): ledger.balance(name, currency).posted for name, currency in open_names(ledger)}
    renamed = {(erased.pseudonym if name == "ana" else name, currency): one for (name, currency), one in before.items()}
    assert after == renamed
    assert [entry._replace(account="") for entry in ledger.entries(erased.pseudonym, CURRENCY)] == entries
    assert all(ledger.account(erased.pseudonym, currency).metadata is None for currency in ("BRL", CURRENCY))
    assert raw.one("SELECT count(*) FROM {s}.open_lot") == 1, "only ben's"


@pytest.mark.req("1.13")
def test_once_and_for_good(club: Club, ledger: Ledger) -> None:
    """A second erasure finds nobody; a later member of the name is another one, with an account of their own."""
    club.earn("ana", 30)
    first = club.points.erase("ana")
    with pytest.raises(UnknownMember):
        club.points.erase("ana")
    with pytest.raises(UnknownAccount):
        ledger.balance("ana", CURRENCY)
    club.earn("ana", 7)
    assert (club.posted("ana"), club.posted(first.pseudonym)) == (7, 30)
    second = club.points.erase("ana")
    assert second.pseudonym != first.pseudonym
    assert club.posted(second.pseudonym) == 7


def test_whoever_never_had_points_is_no_member(club: Club, ledger: Ledger) -> None:
    """An account of the books isn't erased by its name."""
    ledger.open_account("shop", "BRL")
    with pytest.raises(UnknownMember, match="shop"):
        club.points.erase("shop")
    assert ledger.account("shop", "BRL").closed_at is None


@pytest.mark.req("1.13")
def test_nobody_posts_to_an_erased_member(club: Club, ledger: Ledger) -> None:
    """By the pseudonym every operation is refused: it is closed."""
    activity = club.earn("ana", 30)
    spend = club.spend("ana", 10)
    pseudonym = club.points.erase("ana").pseudonym
    with pytest.raises(AccountClosed):
        ledger.post(key="p", kind="bonus", debit="world", credit=pseudonym, amount=1, currency=CURRENCY)
    with pytest.raises(AccountClosed):
        club.refund(spend)
    with pytest.raises(AccountClosed):
        club.points.cancel(activity)
    with pytest.raises(UnknownAccount):
        club.spend("ana", 1)


CALLS: dict[str, Callable[[Ledger], Any]] = {
    "earn": lambda ledger: ledger.points.earn("late", activity="lasting", member="ana", units=3),
    "give": lambda ledger: ledger.points.give(key="late", giver="ben", receiver="ana", amount=3, currency=CURRENCY),
}


@pytest.mark.req("1.13")
@pytest.mark.parametrize("call", CALLS)
def test_a_process_that_still_believes_the_name_meets_the_new_member(club: Club, elsewhere: Ledger, call: str) -> None:
    """What another process remembers of the name's account doesn't reach the erased one: a new member is opened."""
    for ledger in (club.ledger, elsewhere):
        ledger.points.earn(f"first:{id(ledger)}", activity=lasting(club), member="ana", units=30)
    club.earn("ben", 10)
    pseudonym = club.points.erase("ana").pseudonym
    CALLS[call](elsewhere)
    assert (club.posted("ana"), club.posted(pseudonym)) == (3, 60)
    assert club.lots("ana") == [(3, None)]


@pytest.mark.req("1.13")
def test_a_process_that_still_believes_the_name_spends_nothing(club: Club, elsewhere: Ledger) -> None:
    """A spend by the old name is refused, as nobody is called so."""
    elsewhere.points.earn("first", activity=lasting(club), member="ana", units=30)
    pseudonym = club.points.erase("ana").pseudonym
    with pytest.raises(UnknownAccount):
        elsewhere.points.spend(key="late", member="ana", amount=3, currency=CURRENCY, reward=REWARD)
    assert club.posted(pseudonym) == 30


@pytest.mark.req("1.13")
def test_earnings_and_erasures_at_once(club: Club, elsewhere: Ledger) -> None:
    """Whatever order they come in: each earning is the erased member's or a new one's, and no name stays on what was erased."""
    lasting(club)
    earned = 0
    for turn in range(12):
        club.points.earn(f"start:{turn}", activity="lasting", member="ana", units=1)

        calls: list[Callable[[], Any]] = [partial(club.points.erase, "ana")]
        calls += [
            partial(elsewhere.points.earn, f"race:{turn}:{number}", activity="lasting", member="ana", units=1)
            for number in range(3)
        ]
        outcomes = together(calls)
        assert [one for one in outcomes if isinstance(one, BaseException)] == []
        earned += 4
    sums = [
        club.posted(name) for name, currency in open_names(club.ledger) if is_members(name) and currency == CURRENCY
    ]
    assert sum(sums) == earned
    assert_balanced(club.ledger)


def test_an_erasure_that_is_rolled_back_has_not_happened(club: Club, store: str, store_url: str) -> None:
    """Inside a caller's transaction it is the caller's to keep."""
    club.earn("ana", 30)
    with caller_of(store, store_url) as connection:
        club.ledger.within(connection).points.erase("ana")
        connection.rollback()
    club.spend("ana", 10)
    assert club.lots("ana") == [(20, None)]


def lasting(club: Club) -> str:
    """Define the plain rule, and return its activity."""
    club.earn("nobody in particular", 1)
    return "lasting"


def is_members(name: str) -> bool:
    """Whether an account is called as ana is or was."""
    return name == "ana" or name.startswith("erased:")


def open_names(ledger: Ledger) -> list[tuple[str, str]]:
    """Every account."""
    return [(account.name, account.currency) for account in ledger.accounts(limit=1_000)]


def texts_with(raw: Raw, word: str) -> list[str]:
    """The tables that hold a row which says the word."""
    return [
        table
        for table in raw.tables()
        for row in raw(f'SELECT * FROM {{s}}."{table}"')
        if any(word in str(value).split(":") or f"{word}@" in str(value) for value in row)
    ]
