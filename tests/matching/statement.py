"""
A statement written short: lines of the merged sheet `movements`, and transfers with their cause and their day.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import psycopg

from lastro import Ledger
from lastro.ledger import HeldLedger
from lastro.matching import MatchGroup, MatchSpec

PERIOD = "2026-11"
# The reference, the amount and the day of November (or a whole date) of a line; its key is its number.
Line = tuple[str, int, int | str]

_ADD_LINE = """
INSERT INTO sheet_movements (movement, reference, moved_on, amount, currency, file_id, row_number, written_at)
VALUES (%(movement)s, %(reference)s, %(moved_on)s, %(amount)s, %(currency)s, 1, 1, '2026-11-30Z')
"""


def spec(**settings: Any) -> MatchSpec:
    """The ready spec of movements, with other settings."""
    return MatchSpec(
        **{"name": "movements", "accounts": ("world",), "side": "debit", "date": "moved_on", **settings}  # type: ignore[arg-type]
    )


def add_lines(
    connection: psycopg.Connection[Any], lines: Iterable[Line], *, currency: str = "BRL", begin: int = 1
) -> None:
    """Put lines into the merged sheet and commit them."""
    with connection.cursor() as cursor:
        cursor.executemany(
            _ADD_LINE,
            [
                {
                    "movement": f"m{number:05}",
                    "reference": reference,
                    "amount": amount,
                    "moved_on": day_of(day),
                    "currency": currency,
                }
                for number, (reference, amount, day) in enumerate(lines, begin)
            ],
        )
    connection.commit()


def day_of(day: int | str) -> str:
    """A day of November 2026, or the date that is given."""
    return f"{PERIOD}-{day:02}" if isinstance(day, int) else day


def pay_in(ledger: HeldLedger, key: str, amount: int, day: int | str, **more: Any) -> None:
    """Post money from the world to an account, with the key's beginning as its cause: `o1:a` is for `o1`."""
    ledger.post(
        **{
            "key": key,
            "kind": "sale",
            "debit": "world",
            "credit": "shop",
            "amount": amount,
            "currency": "BRL",
            "cause": key.partition(":")[0],
            "occurred_at": datetime.fromisoformat(f"{day_of(day)}T12:00:00+00:00").astimezone(UTC),
            **more,
        }  # type: ignore[arg-type]
    )


def found(
    ledger: Ledger, run: int, *, matched: bool = False
) -> list[tuple[str, str | None, list[str], list[str], int]]:
    """What a run found: outcome, reference, keys of the lines and of the transfers, difference."""
    return [said(group) for group in ledger.matching.each_group(run, matched=matched)]


def said(group: MatchGroup) -> tuple[str, str | None, list[str], list[str], int]:
    """A group in short."""
    return (
        group.outcome,
        group.reference,
        [line.id for line in group.lines],
        [transfer.id for transfer in group.transfers],
        group.difference,
    )
