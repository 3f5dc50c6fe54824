"""
Client processes that place and end holds, and log it, until they are killed: `python -m tests.support.hold_clients …`.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import lastro
from lastro import Ledger
from tests.support.acknowledged import ClientLog, Wanted
from tests.support.money import CURRENCY

ROOT = Path(__file__).resolve().parents[2]
ACCOUNTS = ("ada", "platform", "sum")
HELD = 100


def end_holds_for_ever(url: str, ledger_name: str, directory: str, name: str) -> None:
    """Place holds, and end each in one of the ways that there are, until killed."""
    log, choice = ClientLog(Path(directory), name), random.Random(name)
    with lastro.connect(url, ledger=ledger_name) as ledger:
        for number in count():
            hold, account = f"{name}:{number}", choice.choice(ACCOUNTS)
            for what in ("place", *choice.choice([("part", "rest"), ("part", "release"), ("release",), ("expire",)])):
                wanted = Wanted(f"{what}:{hold}", what, account, HELD)
                log.intends(wanted)
                do(ledger, wanted, short=what == "place" and number % 4 == 0)
                log.heard(wanted)


def do(ledger: Ledger, wanted: Wanted, *, short: bool = False) -> None:
    """Do one thing, or do it again under its key."""
    what, _, hold = wanted.key.partition(":")
    match what:
        case "place":
            ahead = timedelta(seconds=1) if short else timedelta(days=1)
            ledger.place_hold(
                key=hold,
                account=wanted.credit,
                currency=CURRENCY,
                amount=wanted.amount,
                owner="clients",
                expires_at=datetime.now(UTC) + ahead,
                group=hold,
            )
        case "expire":
            ledger.expire_holds()
        case "part" | "rest" | "release":
            with contextlib.suppress(lastro.HoldClosed):
                if what == "release":
                    ledger.release_group(key=wanted.key, group=hold)
                else:
                    amount = HELD // 3 if what == "part" else None
                    ledger.capture(
                        key=wanted.key, hold=hold, credit="shop", kind="sale", amount=amount, final=what == "rest"
                    )


@contextlib.contextmanager
def hold_client(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run a client process; it is killed at the end of the block if it still runs."""
    command = [sys.executable, "-m", "tests.support.hold_clients", *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


if __name__ == "__main__":
    end_holds_for_ever(*sys.argv[1:])
