"""Balance rows are updated in place: no index holds what a posting changes, and their pages have room for a new version."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from lastro import Ledger

POSTINGS = 200
LOOKS_MAX = 200
INDEXED = """
    SELECT column_of.attname
    FROM pg_index AS index_of
    INNER JOIN pg_attribute AS column_of
        ON index_of.indrelid = column_of.attrelid AND column_of.attnum = ANY (index_of.indkey)
    WHERE index_of.indrelid = 'base'::regclass
"""
OPTION = "SELECT option_value FROM pg_options_to_table((SELECT reloptions FROM pg_class WHERE oid = 'base'::regclass))"
UPDATES = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'base'::regclass"


@pytest.mark.req("3.10")
def test_no_index_holds_a_balance(connection: psycopg.Connection[Any]) -> None:
    """The table of balances is indexed by the account alone, and its pages are filled less than the usual."""
    assert connection.execute(INDEXED).fetchall() == [("account_id",)]
    [(fillfactor,)] = connection.execute(f"{OPTION} WHERE option_name = 'fillfactor'".encode()).fetchall()
    assert int(fillfactor) < 100


@pytest.mark.req("3.10")
def test_the_updates_of_postings_are_hot(ledger: Ledger, ledger_name: str, server_url: str) -> None:
    """Postings to direct accounts write new versions of their rows on the same page, without touching an index."""
    with psycopg.connect(server_url, autocommit=True, options=f"-c search_path={ledger_name}") as connection:
        for n in range(4):
            ledger.open_account(f"seller:{n}", "BRL")
        updated_before, hot_before = connection.execute(UPDATES).fetchone()  # type: ignore[misc]
        for n in range(POSTINGS):
            ledger.post(
                key=f"sale:{n}", kind="sale", debit="world", credit=f"seller:{n % 4}", amount=1 + n, currency="BRL"
            )
        # What a session has counted reaches the statistics when it ends.
        ledger.close()
        for _ in range(LOOKS_MAX):
            updated, hot = connection.execute(UPDATES).fetchone()  # type: ignore[misc]
            if updated - updated_before >= POSTINGS:
                break
            connection.execute("SELECT pg_sleep(0.05)")
    assert updated - updated_before >= POSTINGS
    assert hot - hot_before >= 0.95 * (updated - updated_before)
