"""A month of many lines is matched page by page: what is held in memory doesn't grow with it."""

from __future__ import annotations

import tracemalloc
from typing import Any

import psycopg
import pytest

from lastro import Ledger
from tests.matching.statement import PERIOD

# A line for each of so many orders, of two transfers each; every hundredth line is a cent too much.
ORDERS = 100_000
MEMORY_BYTES_MAX = 64 * 2**20

_ADD_TRANSFERS = """
INSERT INTO transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind, cause)
SELECT
    nextval('transfer_id'), world.id, shop.id, 100 + part, moment, moment, 'o' || number || ':' || part, 'sale', 'o' || number
FROM generate_series(1, %(orders)s) AS number
CROSS JOIN generate_series(1, 2) AS part
CROSS JOIN LATERAL (SELECT '2026-11-01T12:00:00Z'::timestamptz + (number %% 28) * interval '1 day' AS moment) AS at
INNER JOIN account AS world ON world.name = 'world'
INNER JOIN account AS shop ON shop.name = 'shop'
"""
_ADD_LINES = """
INSERT INTO sheet_movements (movement, reference, moved_on, amount, currency, file_id, row_number, written_at)
SELECT
    'm' || number, 'o' || number, '2026-11-01'::date + (number %% 28)::integer,
    203 + CASE WHEN number %% 100 = 0 THEN 1 ELSE 0 END, 'BRL', 1, 1, now()
FROM generate_series(1, %(orders)s) AS number
"""


@pytest.mark.soak
def test_memory_does_not_grow_with_the_month(ledger: Ledger, connection: psycopg.Connection[Any]) -> None:
    """100,000 lines and twice as many transfers: each hundredth differs, in a few MiB."""
    ledger.open_account("shop", "BRL")
    connection.execute(_ADD_TRANSFERS, {"orders": ORDERS})
    connection.execute(_ADD_LINES, {"orders": ORDERS})
    connection.commit()
    tracemalloc.start()
    try:
        run = ledger.matching.match("movements", period=PERIOD)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (run.lines, run.transfers) == (ORDERS, 2 * ORDERS)
    assert (run.matched, run.amount_differs) == (ORDERS - ORDERS // 100, ORDERS // 100)
    assert peak < MEMORY_BYTES_MAX, f"{peak / 2**20:.0f} MiB"
