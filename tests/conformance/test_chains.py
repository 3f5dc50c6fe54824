"""The entries of an account kept direct form one unbroken chain, and the query of the documents finds where it breaks."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from lastro import PREPAID, Ledger
from tests.conformance.conftest import Raw
from tests.house.checkout import ROOT

pytestmark = pytest.mark.stores(without=("firebird",))

CLIENT = "customer:42"
ARTICLES_COLUMNS = {"kind", "amount", "balance_before", "balance_after", "key", "source", "actor"}

# What is done to the rows past the library, and the keys at which the chain then breaks.
BREAKS = [
    ("UPDATE {s}.transfer SET credit_before = credit_before + 7, credit_after = credit_after + 7 WHERE id = 3", {3, 4}),
    ("UPDATE {s}.transfer SET debit_before = debit_before - 1, debit_after = debit_after - 1 WHERE id = 5", {5}),
    ("DELETE FROM {s}.transfer WHERE id = 3", {4}),
    ("UPDATE {s}.transfer SET credit_before = 1, credit_after = credit_after + 1 WHERE id = 1", {1, 2}),
    ("UPDATE {s}.base SET amount = amount + 25 WHERE keeping = 'direct' AND amount <> 0", {5}),
]


def chain(raw: Raw) -> list[tuple[str, str, str, int, int]]:
    """What the documents' query returns."""
    text = (ROOT / "docs" / "reference-sql.md").read_text("utf-8")
    found = re.search(r"<!-- checked: chain -->\n```sql\n(.*?)```", text, re.DOTALL)
    assert found
    query = re.sub(r"\b(FROM|JOIN) (entry|balance)\b", r"\1 {s}.\2", found[1]).rstrip().rstrip(";")
    # Without a schema of its own, SQLite's views have the ledger's prefix, and columns are said with the short name.
    query = re.sub(r"FROM \{s\}\.entry\n", "FROM {s}.entry AS entry\n", query)
    query = query.replace("JOIN {s}.balance ON", "JOIN {s}.balance AS balance ON")
    return [tuple(row) for row in raw(query)]  # type: ignore[misc]


@pytest.fixture
def five(ledger: Ledger) -> Ledger:
    """A client with five entries, whose third is dated back; and accounts kept otherwise, which have no chain."""
    ledger.open_account(CLIENT, "USD")
    ledger.open_account("platform", "USD", keeping="hot")
    ledger.open_account("club", "USD", keeping="summed")
    ledger.register_kinds(PREPAID)
    yesterday = datetime.now(UTC) - timedelta(days=1)
    ledger.credit(CLIENT, "USD", amount=1_000, key="1", source="payment:1", actor="webhook")
    ledger.debit(CLIENT, "USD", amount=10, key="2", source="job:1", actor="charger")
    ledger.credit(CLIENT, "USD", amount=50, key="3", kind="bonus", occurred_at=yesterday)
    ledger.debit(CLIENT, "USD", amount=20, key="4")
    ledger.debit(CLIENT, "USD", amount=30, key="5", kind="refund")
    ledger.credit("platform", "USD", amount=5, key="6")
    ledger.credit("club", "USD", amount=5, key="7")
    return ledger


@pytest.mark.req("2.3")
@pytest.mark.req("2.4")
@pytest.mark.case("C075")
def test_a_chain_is_whole(five: Ledger, raw: Raw) -> None:
    """Each balance before is the balance after of the entry recorded before it, one that is dated back included."""
    assert chain(raw) == []
    entries = five.entries(CLIENT, "USD")
    assert [(entry.balance_before, entry.balance_after) for entry in entries] == [
        (0, 1_000), (1_000, 990), (990, 1_040), (1_040, 1_020), (1_020, 990),
    ]  # fmt: skip
    assert entries[2].occurred_at < entries[0].occurred_at
    assert entries[2].recorded_at >= entries[1].recorded_at
    assert five.balance(CLIENT, "USD").posted == 990


@pytest.mark.req("2.8")
def test_an_entry_has_the_articles_columns(five: Ledger, raw: Raw) -> None:
    """Type (kind), amount, balance before and after, key, source and actor stand in the view `entry`."""
    del five
    assert set(raw.columns("entry")) >= ARTICLES_COLUMNS


@pytest.mark.req("2.3")
@pytest.mark.parametrize(("breaking", "keys"), BREAKS)
def test_a_break_is_found_where_it_is(five: Ledger, raw: Raw, breaking: str, keys: set[int]) -> None:
    """A balance that was changed, a row that is gone, a beginning from nowhere, a stored balance of its own."""
    del five
    raw.disarm("transfer")
    raw(breaking)
    assert {int(key) for _, _, key, _, _ in chain(raw)} == keys


def test_a_time_kept_otherwise_is_no_break(five: Ledger, raw: Raw) -> None:
    """While an account was kept hot its entries say no balance; the chain goes on behind them."""
    five.keep(CLIENT, "USD", "hot")
    five.credit(CLIENT, "USD", amount=1, key="8")
    five.consolidate()
    five.keep(CLIENT, "USD", "direct")
    five.credit(CLIENT, "USD", amount=1, key="9")
    five.credit(CLIENT, "USD", amount=1, key="10")
    assert chain(raw) == []
