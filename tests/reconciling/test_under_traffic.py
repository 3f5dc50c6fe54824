"""No false drift: an hour's traffic in miniature with everything going on, and a reconciler that never pauses."""

from __future__ import annotations

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lastro import LastroError, Ledger, Reconciled
from lastro.model.account import Keeping
from lastro.plans import reconciling
from lastro.testing import assert_balanced, temporary_ledger
from tests.reconciling.planting import Hands
from tests.support.stores import connected, transaction

pytestmark = [pytest.mark.req("2.7"), pytest.mark.case("C072"), pytest.mark.case("C075")]

CLIENTS = 4
# So many postings a store in `make test`; the soak has the hundred thousand that were promised.
POSTINGS = {"postgres": 1_600, "mariadb": 600, "sqlite": 600}
POSTINGS_SOAK = 100_000
# How often each worker comes, and how often an account is kept otherwise.
EVERY_S, KEEPING_EVERY_S = 0.03, 0.2
KEEPINGS: tuple[Keeping, ...] = ("direct", "hot", "summed", "direct", "hot", "direct")
ACCOUNTS = tuple(f"{keeping} {number}" for number, keeping in enumerate(KEEPINGS))
FAR = datetime(2100, 1, 1, tzinfo=UTC)


class Client:
    """
    One of those who post, hold, capture, release, reverse and post in transactions of their own, at random by a seed.
    """

    def __init__(self, ledger: Ledger, url: str, seed: int) -> None:
        self.ledger, self.url, self.seed = ledger, url, seed
        self.random = random.Random(seed)
        self.keys: list[str] = []
        self.done: Counter[str] = Counter()

    def run(self, postings: int) -> Counter[str]:
        """Do so many operations, most of them postings."""
        operations = (self.post, self.post, self.post, self.post_many, self.hold, self.reverse, self.within)
        with closing(connected(self.url)) as own:
            self.own = own
            for number in range(postings):
                operation = self.random.choice(operations)
                # Refused, or timed out on a busy machine: nothing was written, which is what the books must say too.
                with suppress(LastroError):
                    operation(f"{self.seed}:{number}")
                    self.done[operation.__name__] += 1
        return self.done

    def wanted(self, key: str) -> dict[str, Any]:
        """A transfer between two of the accounts, or in from the world; some are dated back."""
        debit, credit = self.random.sample((*ACCOUNTS, "world", "world", "world"), 2)
        if debit == credit:
            debit = ACCOUNTS[0]
        back = timedelta(days=self.random.choice((0, 0, 0, 1, 40)))
        self.keys.append(key)
        return {
            "key": key, "kind": "move", "debit": debit, "credit": credit, "amount": self.random.randint(1, 50),
            "currency": "BRL", "occurred_at": datetime.now(UTC) - back,
        }  # fmt: skip

    def post(self, key: str) -> None:
        """One transfer."""
        self.ledger.post(**self.wanted(key))

    def post_many(self, key: str) -> None:
        """A batch."""
        self.ledger.post_many([self.wanted(f"{key}:{n}") for n in range(self.random.choice((2, 5, 60)))], partial=True)

    def hold(self, key: str) -> None:
        """A hold, and its end in parts or not at all."""
        account = self.random.choice(ACCOUNTS)
        self.ledger.place_hold(key=key, account=account, currency="BRL", amount=20, owner="o", expires_at=FAR)
        if self.random.random() < 0.7:
            self.ledger.capture(key=f"{key}:c", hold=key, credit="world", kind="sale", amount=7, final=False)
        if self.random.random() < 0.5:
            self.ledger.release(key=f"{key}:r", hold=key)

    def reverse(self, key: str) -> None:
        """A transfer from before, wholly or in part."""
        if self.keys:
            self.ledger.reverse(self.random.choice(self.keys), f"{key}:u", amount=self.random.choice((None, 1)))

    def within(self, key: str) -> None:
        """Postings in a transaction that lasts, and that is rolled back now and then."""
        try:
            with transaction(self.own):
                held = self.ledger.within(self.own)
                held.post(**self.wanted(f"{key}:a") | {"debit": "world", "credit": "hot 1"})
                self.ledger.balance("hot 1", "BRL")
                held.post(**self.wanted(f"{key}:b") | {"debit": "world", "credit": "summed 2"})
                if self.random.random() < 0.2:
                    raise LookupError
        except LookupError:
            self.done["rolled back"] += 1


def traffic(hands: Hands, url: str, postings: int) -> tuple[Counter[str], list[Reconciled]]:
    """Let all of it go on at once; return what was done and what each round of the reconciler said."""
    for name, keeping in zip(ACCOUNTS, KEEPINGS, strict=True):
        hands.ledger.open_account(name, "BRL", keeping=keeping, floor=0 if keeping == "direct" else None)
        hands.credit(name, 500)
    over = threading.Event()
    rounds: list[Reconciled] = []

    def again_and_again(work: Any) -> None:
        while not over.is_set():
            with suppress(LastroError):
                work()
            over.wait(EVERY_S)

    def keep_otherwise() -> None:
        for keeping in ("hot", "direct", "summed", "direct"):
            if over.wait(KEEPING_EVERY_S):
                return
            hands.ledger.keep("direct 5", "BRL", keeping)

    workers = (
        hands.ledger.consolidate,
        lambda: rounds.append(hands.ledger.reconcile(rest=0)),
        lambda: rounds.append(hands.ledger.reconcile(full=len(rounds) % 5 == 0, on_drift="adjust", rest=0)),
        keep_otherwise,
    )
    with ThreadPoolExecutor(CLIENTS + len(workers)) as pool:
        at_work = [pool.submit(again_and_again, work) for work in workers]
        clients = [Client(hands.ledger, url, seed) for seed in range(CLIENTS)]
        posting = [pool.submit(client.run, postings // CLIENTS) for client in clients]
        try:
            done = sum((future.result() for future in posting), Counter())
        finally:
            over.set()
        for future in at_work:
            future.result()
    return done, rounds


def prove(hands: Hands, url: str, postings: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Nothing was found while it went on, nothing afterwards, and the books balance.

    Not even by a first look, which a second one would have had to take back.
    """
    doubted: list[Any] = []
    monkeypatch.setattr(reconciling, "_confirm", lambda suspects, _: doubted.append(suspects))
    done, rounds = traffic(hands, url, postings)
    assert doubted == []
    assert len(rounds) > 5
    assert done["post"] > 0
    assert done["hold"] > 0
    assert done["reverse"] > 0
    assert done["within"] > 0
    assert [each for each in rounds if each.opened or each.drifted or each.adjusted] == []
    hands.ledger.consolidate()
    assert hands.found(full=True) == set()
    assert hands.found() == set()
    assert hands.ledger.incidents(open=False) == []
    assert_balanced(hands.ledger)
    print(f"{hands.store}: {dict(done)}, {len(rounds)} rounds, 0 incidents")  # noqa: T201


def test_nothing_is_reported_while_everything_goes_on(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of postings, holds, reversals, late and rolled back ones, consolidation, changes of keeping."""
    url = f"sqlite:///{hands.url}" if hands.store == "sqlite" else hands.url
    prove(hands, url, POSTINGS[hands.store], monkeypatch)


@pytest.mark.soak
def test_nothing_is_reported_in_an_hours_traffic_in_miniature(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same over a hundred thousand postings, on PostgreSQL."""
    with temporary_ledger(server_url) as ledger, closing(Hands(ledger, "postgres", server_url)) as hands:
        prove(hands, server_url, POSTINGS_SOAK, monkeypatch)
