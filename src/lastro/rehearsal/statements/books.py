"""
What the database says after the statements were merged and matched: merged lines, groups, and an untouched history.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from lastro.matching import MatchRun
from lastro.rehearsal.stage import Stage
from lastro.rehearsal.statements.planting import Difference

# By its own numbers and texts, so that a row more, less or otherwise makes another.
_HISTORY = """
SELECT count(*) AS transfers, md5(coalesce(string_agg(transfer::text, '|' ORDER BY transfer.id), '')) AS digest
FROM {ledger}.transfer AS transfer
"""

_MOVEMENTS = "SELECT movement, reference, moved_on, amount, kind FROM {ledger}.sheet_movements"
_BILLING = "SELECT invoice, reference, billed_on, amount, description FROM {ledger}.sheet_billing"

_DIFFERENCES = """
SELECT outcome, coalesce(reference, '') AS reference, difference::bigint AS cents
FROM {ledger}.match_group
WHERE run_id = %(run)s AND outcome <> 'matched'
ORDER BY number
"""

_ITEMS = """
SELECT
    count(*) FILTER (WHERE item.is_line) AS lines,
    count(*) FILTER (WHERE NOT item.is_line) AS transfers,
    coalesce(sum(item.amount) FILTER (WHERE item.is_line), 0)::bigint AS said,
    coalesce(sum(item.amount) FILTER (WHERE NOT item.is_line), 0)::bigint AS booked
FROM {ledger}.match_item AS item
WHERE item.run_id = %(run)s
"""


class History(NamedTuple):
    """
    The ledger's transfers: how many, and a digest of all that is stored of them.
    """

    transfers: int
    digest: str


class Items(NamedTuple):
    """
    What a run's groups hold, counted and in cents.
    """

    lines: int
    transfers: int
    said: int
    booked: int


class Matched(NamedTuple):
    """
    One run, what its groups hold, and which of them differ.
    """

    run: MatchRun
    items: Items
    differences: tuple[Difference, ...]


class Found(NamedTuple):
    """
    Everything that the proofs judge. `lines`: the merged ones by sheet and key, with all that they say.
    """

    lines: dict[tuple[str, ...], tuple[Any, ...]]
    matched: tuple[Matched, ...]
    before: History
    after: History


def read_history(connection: psycopg.Connection[Any], stage: Stage) -> History:
    """
    Read the ledger's transfers.
    """
    (row,) = connection.execute(sql.SQL(_HISTORY).format(**stage.names()))
    return History(*row)


def read_found(connection: psycopg.Connection[Any], stage: Stage, runs: Sequence[MatchRun], before: History) -> Found:
    """
    Read what was merged and matched.
    """
    names = stage.names()

    def read(statement: str, **given: object) -> list[tuple[Any, ...]]:
        return connection.execute(sql.SQL(statement).format(**names), given).fetchall()

    lines: dict[tuple[str, ...], tuple[Any, ...]] = {
        ("movements", number): (number, *more) for number, *more in read(_MOVEMENTS)
    }
    lines |= {
        ("billing", invoice, reference): (invoice, reference, *more) for invoice, reference, *more in read(_BILLING)
    }
    matched = tuple(
        Matched(
            run,
            Items(*read(_ITEMS, run=run.id)[0]),
            tuple(Difference(run.spec, *row) for row in read(_DIFFERENCES, run=run.id)),
        )
        for run in runs
    )
    return Found(lines, matched, before, read_history(connection, stage))
