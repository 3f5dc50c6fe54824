"""A connection that is cut before or after the commit: what has a key is exact all the same, what has none says so."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pymysql
import pytest

import lastro
from lastro import Ledger, OutcomeUnknown
from lastro.model.account import Keeping
from lastro.testing import assert_balanced
from tests.support.money import KEEPINGS, fund, posted, transfer
from tests.support.proxy import Cut, Proxy
from tests.support.stores import MARIADB, POSTGRES, connected, on_every_server, rows_of, store_of, transaction

SHORT, LONG = 60, 1_200
CUT_SHARE = 0.35


class Cutter:
    """Decides where to cut: the next messages that contain `trigger`, in the ways that `plan` lists."""

    def __init__(self) -> None:
        self.trigger = b""
        self.plan: list[Cut] = []

    def __call__(self, message: bytes) -> Cut | None:
        """Say whether to cut at this message, and how."""
        if self.trigger and self.trigger in message and self.plan:
            return self.plan.pop(0)
        return None


@pytest.fixture
def cutter() -> Cutter:
    """Where the test's proxy cuts."""
    return Cutter()


@pytest.fixture
def proxy(store_url: str, cutter: Cutter) -> Iterator[Proxy]:
    """A proxy before the test's database."""
    proxy = Proxy(store_url, cutter)
    yield proxy
    proxy.close()


@pytest.fixture
def far(ledger: Ledger, proxy: Proxy) -> Iterator[Ledger]:
    """The test's ledger, reached through the proxy."""
    with lastro.connect(proxy.url, ledger=ledger._operations.ledger, pool_max=2) as far:
        yield far


# The end of the text that commits: not COMMITTED, as BEGIN says it. MariaDB's packets have their length before them.
COMMITS = {POSTGRES: b"COMMIT\x00", MARIADB: b"\x03COMMIT"}

WAYS: dict[str, Callable[[Ledger], list[bool]]] = {
    "post": lambda ledger: [ledger.post(**transfer("k", "shop", "world", 40)).replayed],
    "post_many": lambda ledger: [
        outcome.replayed
        for outcome in ledger.post_many([transfer("k", "shop", "world", 39), transfer("l", "shop", "world", 1)])
    ],
    "reverse": lambda ledger: [ledger.reverse("earned", "k").replayed],
}


@on_every_server
@pytest.mark.case("C020")
@pytest.mark.parametrize("keeping", KEEPINGS)
@pytest.mark.parametrize("cut", ["before", "after"])
@pytest.mark.parametrize("way", WAYS)
def test_a_keyed_call_finds_out_by_itself(
    *, store: str, ledger: Ledger, far: Ledger, proxy: Proxy, cutter: Cutter, keeping: Keeping, cut: Cut, way: str
) -> None:
    """In a transaction of our own a lost answer is asked for again under the same key: one effect, and its transfer."""
    fund(ledger, "shop", 60, keeping)
    ledger.post(**transfer("earned", "world", "shop", 40))
    far.post(**transfer("earned", "world", "shop", 40))  # from here on the accounts are known
    # A posting on a direct account is one packet that commits itself.
    alone = way == "post" and keeping == "direct"
    cutter.trigger = b"INSERT INTO" if alone else COMMITS[store]
    cutter.plan = [cut]
    outcomes = WAYS[way](far)
    assert proxy.cuts == [cut]
    assert set(outcomes) == {cut == "after"}, "the second try replays what the first one wrote, if it did"
    assert set(WAYS[way](far)) == {True}
    assert posted(ledger, "shop") == 60
    assert_balanced(ledger)


@on_every_server
@pytest.mark.req("0.8")
@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_bump_says_that_it_does_not_know(
    *, store: str, ledger: Ledger, far: Ledger, proxy: Proxy, cutter: Cutter, cut: Cut
) -> None:
    """A bump has no key: a lost answer is OutcomeUnknown and isn't tried again, so it never counts twice."""
    far.bump("orders")
    cutter.trigger, cutter.plan = b"orders" if store == POSTGRES else COMMITS[store], [cut]
    with pytest.raises(OutcomeUnknown) as caught:
        far.bump("orders")
    assert caught.value.committed == "unknown"
    assert proxy.cuts == [cut]
    assert ledger.count("orders") == (2 if cut == "after" else 1)


@on_every_server
def test_answers_that_stay_away(*, store: str, ledger: Ledger, far: Ledger, proxy: Proxy, cutter: Cutter) -> None:
    """When no try is answered the call ends as OutcomeUnknown; the same call later tells, and does no harm."""
    fund(ledger, "shop", 100, "hot")
    far.balance("shop", "BRL")
    cutter.trigger = COMMITS[store]
    cutter.plan = ["before", "before", "before", "before", "after"]
    with pytest.raises(OutcomeUnknown) as caught:
        far.post(**transfer("k", "shop", "world", 40))
    assert caught.value.committed == "unknown"
    cutter.plan.clear()
    assert far.post(**transfer("k", "shop", "world", 40)).replayed
    assert posted(ledger, "shop") == 60
    assert len(proxy.cuts) > 1


def resubmit(ledger: Ledger, url: str, cutter: Cutter, proxy: Proxy, *, keyed: int) -> None:
    """Post many transfers in transactions of the caller's, a third of whose commits are cut; resubmit until answered."""
    fund(ledger, "platform", 0, "hot")
    fund(ledger, "shop", 0)
    choice, unanswered, name = random.Random(keyed), 0, ledger._operations.ledger
    cutter.trigger = COMMITS[store_of(url)]
    with lastro.connect(url, ledger=name) as held:
        for number in range(keyed):
            cutter.plan = [choice.choice(("before", "after"))] if choice.random() < CUT_SHARE else []
            answered = False
            while not answered:
                try:
                    with closing(connected(proxy.url)) as caller, transaction(caller):
                        held.within(caller).post(
                            **transfer(f"k:{number}", "world", ("platform", "shop")[number % 2], 3)
                        )
                    answered = True
                except (psycopg.Error, pymysql.Error):
                    unanswered += 1
    assert unanswered == len(proxy.cuts) > 0
    assert rows_of(url, "SELECT count(*) FROM {s}transfer AS t WHERE t.key LIKE 'k:%'", name) == [(keyed,)]
    assert posted(ledger, "platform") + posted(ledger, "shop") == 3 * keyed
    assert_balanced(ledger)
    print(f"{keyed} keyed postings, {unanswered} commits cut ({proxy.cuts.count('after')} after): 0 lost, 0 twice")  # noqa: T201


@on_every_server
@pytest.mark.req("0.2")
def test_the_callers_own_commit(*, ledger: Ledger, store_url: str, cutter: Cutter, proxy: Proxy) -> None:
    """Whoever commits itself and gets no answer resubmits under the same key: exactly once each."""
    resubmit(ledger, store_url, cutter, proxy, keyed=SHORT)


@pytest.mark.soak
@on_every_server
def test_the_callers_own_commit_for_long(*, ledger: Ledger, store_url: str, cutter: Cutter, proxy: Proxy) -> None:
    """The same, 1,200 times."""
    resubmit(ledger, store_url, cutter, proxy, keyed=LONG)
