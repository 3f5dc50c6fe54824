"""Clients and consolidators that are killed at any moment leave whole transactions or none."""

from __future__ import annotations

import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from lastro import Ledger
from lastro.testing import assert_balanced
from tests.support.acknowledged import intents, judge
from tests.support.clients import ACCOUNTS, FOLD_ROWS_MAX, client, until_acked, until_gone
from tests.support.money import fund, posted, transfer
from tests.support.sessions import Observer
from tests.support.stores import on_every_store, rows_of

CLIENTS = 2
SHORT_ROUNDS, LONG_ROUNDS = 2, 25
ACKED_A_ROUND_MAX = 60


@pytest.fixture
def accounts(ledger: Ledger) -> None:
    """Accounts of every keeping that may go below zero, so that no order of events is refused."""
    for name, keeping in zip(ACCOUNTS, ("hot", "direct", "direct", "summed"), strict=True):
        fund(ledger, name, 0, keeping, floor=None)  # type: ignore[arg-type]


def kill_rounds(*, ledger: Ledger, url: str, observer: Observer, directory: Path, rounds: int) -> None:
    """Kill clients and a consolidator again and again; judge each time, and resubmit everything at the end."""
    name, choice = ledger._operations.ledger, random.Random(rounds)
    for number in range(rounds):
        before = observer.sessions()
        with ExitStack() as stack:
            running = [
                stack.enter_context(client("post", url, name, directory, f"{number}-{part}")) for part in range(CLIENTS)
            ]
            running.append(stack.enter_context(client("consolidate", url, name)))
            until_acked(observer, directory, choice.randint(1, ACKED_A_ROUND_MAX))
            theirs = observer.sessions() - before
            for process in running:
                process.kill()
                process.wait()
        until_gone(observer, theirs)
        between = judge(directory, url, name)
        assert not between.lost
        assert not between.invented
        assert_balanced(ledger)
    verdict = judge(directory, url, name)
    again = [ledger.post(**transfer(*wanted)) for wanted in intents(directory).values()]
    assert sum(not outcome.replayed for outcome in again) == verdict.intended - verdict.acked - verdict.unanswered
    assert_balanced(ledger)
    print(  # noqa: T201
        f"{rounds} runs x {CLIENTS + 1} kills: {verdict.acked} acked, 0 lost, 0 invented, "
        f"{verdict.unanswered} stored without an answer, all resolved by their keys"
    )


@on_every_store
@pytest.mark.req("1.4")
@pytest.mark.case("C110")
@pytest.mark.usefixtures("accounts")
def test_killed_clients(ledger: Ledger, store_url: str, observer: Observer, tmp_path: Path) -> None:
    """SIGKILL in the middle of anything: what was acknowledged is there, nothing else is, and retries are exact."""
    kill_rounds(ledger=ledger, url=store_url, observer=observer, directory=tmp_path, rounds=SHORT_ROUNDS)


@pytest.mark.soak
@on_every_store
@pytest.mark.usefixtures("accounts")
def test_killed_clients_for_long(ledger: Ledger, store_url: str, observer: Observer, tmp_path: Path) -> None:
    """The same, over a hundred kills."""
    kill_rounds(ledger=ledger, url=store_url, observer=observer, directory=tmp_path, rounds=LONG_ROUNDS)


@on_every_store
@pytest.mark.req("0.4")
@pytest.mark.case("C020")
def test_a_consolidator_killed_with_a_batch_in_hand(ledger: Ledger, store_url: str, observer: Observer) -> None:
    """A consolidator that dies between its statement and its commit gives the whole batch back."""
    fund(ledger, "platform", 0, "hot")
    for number in range(3 * FOLD_ROWS_MAX):
        ledger.post(**transfer(f"credit:{number}", "world", "platform", 2))
    name = ledger._operations.ledger
    ((account_id,),) = rows_of(store_url, "SELECT id FROM {s}account WHERE name = 'platform'", name)
    with client("hold", store_url, name, account_id) as process:
        assert process.stdout is not None
        word, rows, pid = process.stdout.readline().split()
        assert (word, int(rows)) == ("holding", FOLD_ROWS_MAX)
        assert posted(ledger, "platform") == 6 * FOLD_ROWS_MAX
        process.kill()
    until_gone(observer, {int(pid)})
    assert rows_of(store_url, "SELECT count(*) FROM {s}tail", name) == [(3 * FOLD_ROWS_MAX,)]
    assert ledger.consolidate().rows == 3 * FOLD_ROWS_MAX
    assert posted(ledger, "platform") == 6 * FOLD_ROWS_MAX
    assert_balanced(ledger)
