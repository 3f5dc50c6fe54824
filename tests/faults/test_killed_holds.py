"""Processes that are killed while they place and end holds leave each hold whole: as it was before, or as it is after."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import lastro
from lastro import Ledger
from lastro.testing import assert_balanced, temporary_ledger
from tests.support.acknowledged import acked, intents
from tests.support.hold_clients import ACCOUNTS, HELD, do, hold_client
from tests.support.money import fund, posted
from tests.support.sessions import Observer

CLIENTS = 2
SHORT_ROUNDS, LONG_ROUNDS = 2, 25
ACKED_A_ROUND_MAX = 50
FUNDS = 10_000_000
WRITING = (
    "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation "
    "WHERE relnamespace = %s::regnamespace AND mode = 'RowExclusiveLock'"
)


@pytest.fixture
def funded(server_url: str) -> Iterator[Ledger]:
    """A ledger with an account of each keeping, whose holds are covered."""
    with temporary_ledger(server_url) as ledger:
        for name, keeping in zip(ACCOUNTS, ("direct", "hot", "summed"), strict=True):
            fund(ledger, name, FUNDS, keeping)  # type: ignore[arg-type]
        ledger.open_account("shop", "BRL", keeping="hot")
        yield ledger


def kill_rounds(*, ledger: Ledger, url: str, observer: Observer, directory: Path, rounds: int) -> None:
    """Kill the clients again and again; each time every hold adds up, and what was acknowledged is there."""
    name, choice = ledger._operations.ledger, random.Random(rounds)
    for number in range(rounds):
        with ExitStack() as stack:
            running = [
                stack.enter_context(hold_client(url, name, directory, f"{number}-{part}")) for part in range(CLIENTS)
            ]
            target = len(acked(directory)) + choice.randint(5, ACKED_A_ROUND_MAX)
            observer.until(lambda target=target: len(acked(directory)) >= target, "acknowledgements")  # type: ignore[misc]
            for process in running:
                process.kill()
                process.wait()
        observer.until(lambda: observer.value(WRITING, name) == 0, "the killed sessions to end")
        assert_balanced(ledger)
        _acknowledged_is_there(ledger, directory)
    for wanted in intents(directory).values():
        if not wanted.key.startswith("place:") or _is_there(ledger, wanted.key) is None:
            do(ledger, wanted)
    assert_balanced(ledger)
    captured = sum(FUNDS - posted(ledger, account) for account in ACCOUNTS)
    assert captured == posted(ledger, "shop")
    print(f"{rounds} runs x {CLIENTS} kills: {len(acked(directory))} acked, 0 lost; {captured} captured")  # noqa: T201


def _acknowledged_is_there(ledger: Ledger, directory: Path) -> None:
    for key in acked(directory):
        found = _is_there(ledger, key)
        assert found is not None, f"{key} was acknowledged and is lost"
        what = key.partition(":")[0]
        if what in ("rest", "release"):
            assert found.left == 0
        assert found.captured + found.released + found.expired + found.left == HELD


def _is_there(ledger: Ledger, key: str) -> lastro.Hold | None:
    try:
        return ledger.hold(key.partition(":")[2])
    except lastro.UnknownHold:
        return None


@pytest.mark.case("C110")
@pytest.mark.case("C038")
def test_killed_in_the_middle_of_holds(funded: Ledger, server_url: str, observer: Observer, tmp_path: Path) -> None:
    """SIGKILL between any two steps: all of an operation or nothing of it, and its key finds out which."""
    kill_rounds(ledger=funded, url=server_url, observer=observer, directory=tmp_path, rounds=SHORT_ROUNDS)


@pytest.mark.soak
def test_killed_in_the_middle_of_holds_for_long(
    funded: Ledger, server_url: str, observer: Observer, tmp_path: Path
) -> None:
    """The same, fifty kills."""
    kill_rounds(ledger=funded, url=server_url, observer=observer, directory=tmp_path, rounds=LONG_ROUNDS)
