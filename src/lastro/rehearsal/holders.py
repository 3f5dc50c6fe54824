"""
The accounts that the arrivals of a rehearsal touch: opened with more money than they can spend, and which arrival
touches which of them.
"""

from __future__ import annotations

from collections.abc import Callable

from lastro.rehearsal.programme import Programme
from lastro.rehearsal.stage import Stage

CURRENCY = "BRL"
FUNDS = 1_000_000_000
OPENED_AT_ONCE = 1_000
# Multiplied by a prime, numbers that follow one another spread over the accounts.
SPREAD = 7_919


def open_holders(stage: Stage, programme: Programme, name_of: Callable[[int], str], *, kind: str) -> None:
    """
    Open the programme's accounts, a bounded number in one transaction, each with money from the world.
    """
    with stage.open_ledger() as ledger, stage.connect() as connection:
        for start in range(0, programme.accounts, OPENED_AT_ONCE):
            names = [name_of(n) for n in range(start, min(start + OPENED_AT_ONCE, programme.accounts))]
            with connection.transaction():
                held = ledger.within(connection)
                for name in sorted(names):
                    held.open_account(name, CURRENCY)
                held.post_many(
                    [
                        {
                            "key": f"deposit:{name}",
                            "kind": kind,
                            "debit": "world",
                            "credit": name,
                            "amount": FUNDS,
                            "currency": CURRENCY,
                        }
                        for name in names
                    ]
                )


def holder_of(programme: Programme, arrival: int) -> int:
    """
    Return the number of the account that an arrival touches.
    """
    return (arrival * SPREAD + programme.seed) % programme.accounts


def arrival_key(arrival: int) -> str:
    """
    Return the key of what an arrival does.
    """
    return f"arrival:{arrival}"
