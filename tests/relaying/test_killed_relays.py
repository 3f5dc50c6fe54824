"""Relays that are killed between any two steps, and started again: nothing is lost, and no key is out of order."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lastro import Ledger
from tests.conftest import Counted
from tests.house.checkout import ROOT
from tests.relaying.taking import Taken, emit, in_order

pytestmark = [pytest.mark.req("3.13"), pytest.mark.case("C068"), pytest.mark.case("C065")]

TOGETHER = 2
STARTS_MAX, TIMEOUT_S = 300, 120
# events, keys, steps within which a relay is killed
SHORT, LONG = (80, 8, 60), (2_000, 40, 60)


def killed_until_done(ledger: Ledger, url: str, path: Path, size: tuple[int, int, int], counted: Counted) -> None:
    """Start relays, two at a time, until both end well; then judge what was received."""
    count, keys, steps = size
    choice = random.Random(count)
    events = [(f"e{number}", f"k{choice.randrange(keys)}") for number in range(count)]
    emit(ledger, *events)
    schema, ends = ledger._operations.ledger, Counter[str]()
    for seed in range(0, STARTS_MAX, TOGETHER):
        command = [sys.executable, "-m", "tests.relaying.relay_process", url, schema, str(path)]
        running = [
            subprocess.Popen([*command, str(seed + part), str(steps)], cwd=ROOT, stderr=subprocess.PIPE)
            for part in range(TOGETHER)
        ]
        for process in running:
            _, said = process.communicate(timeout=TIMEOUT_S)
            assert process.returncode in (0, -signal.SIGKILL), said.decode()
            ends["killed" if process.returncode else "done"] += 1
        if not ledger.outbox.standing().waiting:
            break
    lines = path.read_text("utf-8").splitlines()
    taken = [Taken(*line.split(" ", 1)) for line in lines]
    assert in_order(taken, events)
    standing = ledger.outbox.standing()
    assert (standing.waiting, standing.published, standing.keys_waiting) == (0, count, 0)
    assert ends["killed"] > 0
    counted(
        f"{count} events, 0 lost, each key in order; {ends['killed']} relays killed; "
        f"{len(taken) - count} came again with their own ids"
    )


def test_killed_relays_lose_nothing(ledger: Ledger, server_url: str, tmp_path: Path, counted: Counted) -> None:
    """Two at a time, killed before any statement, before and behind any event: each event arrives, in its key's order."""
    killed_until_done(ledger, server_url, tmp_path / "taken", SHORT, counted)


@pytest.mark.soak
def test_killed_relays_lose_nothing_for_long(ledger: Ledger, server_url: str, tmp_path: Path, counted: Counted) -> None:
    """The same over two thousand events."""
    killed_until_done(ledger, server_url, tmp_path / "taken", LONG, counted)
