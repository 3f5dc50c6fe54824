"""What `lastro.testing` promises to the tests of others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

import lastro
from lastro import Ledger
from lastro.testing import Clock, assert_balanced, temporary_ledger


def test_a_server_of_its_own_and_nothing_left() -> None:
    """Without a URL there is a ledger on a server of its own, and nothing of it afterwards."""
    with temporary_ledger() as ledger:
        ledger.open_account("till", "BRL", keeping="hot")
        ledger.post(key="k", kind="sale", debit="world", credit="till", amount=5, currency="BRL")
        assert ledger.balance("till", "BRL").posted == 5
        assert_balanced(ledger)
        directory = Path(ledger._engine._settings.url.partition("host=")[2].partition("&")[0])  # type: ignore[attr-defined]
    with pytest.raises(lastro.Fault):
        ledger.balance("till", "BRL")
    assert not list(directory.glob(".s.PGSQL*"))


def test_a_schema_of_its_own_and_nothing_left(server_url: str) -> None:
    """With a URL there is a ledger in a schema of its own, dropped even when the test fails."""

    def schemas() -> int:
        with psycopg.connect(server_url) as connection:
            row = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'temporary%'").fetchone()
            assert row is not None
            return int(row[0])

    before = schemas()

    def fail() -> None:
        with temporary_ledger(server_url):
            assert schemas() == before + 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert schemas() == before


def test_it_drops_no_schema_that_it_did_not_make(server_url: str) -> None:
    """A schema's name is refused together with a URL: what it names might be somebody's."""
    with pytest.raises(lastro.InvalidInput, match="leave `ledger` out"), temporary_ledger(server_url, ledger="public"):
        pass


def test_the_clock_moves_by_hand_only(server_url: str) -> None:
    """A ledger on a Clock records the moment that the test has set."""
    clock = Clock(datetime(2026, 3, 1, tzinfo=UTC))
    with temporary_ledger(server_url, clock=clock) as ledger:
        ledger.open_account("till", "BRL")
        first = ledger.post(key="1", kind="sale", debit="world", credit="till", amount=5, currency="BRL")
        clock.advance(timedelta(days=1), seconds=3)
        second = ledger.post(key="2", kind="sale", debit="world", credit="till", amount=5, currency="BRL")
        clock.set(datetime(2025, 1, 1, tzinfo=UTC))
    assert first.transfer.recorded_at == datetime(2026, 3, 1, tzinfo=UTC)
    assert second.transfer.recorded_at == datetime(2026, 3, 2, 0, 0, 3, tzinfo=UTC)
    assert clock() == datetime(2025, 1, 1, tzinfo=UTC)
    with pytest.raises(lastro.InvalidInput, match="time zone"):
        clock.set(datetime(2026, 1, 1))  # noqa: DTZ001


def _busy(ledger: Ledger) -> None:
    for name, keeping in (("direct", "direct"), ("hot", "hot"), ("summed", "summed")):
        ledger.open_account(name, "BRL", keeping=keeping)  # type: ignore[arg-type]
    ledger.post(key="1", kind="in", debit="world", credit="direct", amount=100, currency="BRL")
    ledger.post(key="2", kind="move", debit="direct", credit="hot", amount=60, currency="BRL")
    ledger.post(key="3", kind="move", debit="hot", credit="summed", amount=20, currency="BRL")
    ledger.consolidate()
    ledger.post(key="4", kind="move", debit="direct", credit="hot", amount=7, currency="BRL")
    ledger.reverse("2", "5", amount=10)


# rule, what breaks it by raw SQL; triggers and checks are out of the way so that it can be broken at all
BROKEN = [
    ("currency_sums", "UPDATE base SET amount = amount + 1 WHERE keeping = 'direct'"),
    ("balances", "UPDATE base SET amount = amount + 1 WHERE keeping = 'hot'"),
    ("balances", "UPDATE base SET amount = amount + 1 WHERE keeping = 'summed' AND floor IS NOT NULL"),
    ("balances", "DELETE FROM tail"),
    ("entry_sums", "UPDATE account SET currency = 'EUR' WHERE name = 'direct'"),
    ("account_rows", "DELETE FROM base WHERE keeping = 'hot'"),
    ("account_rows", "DELETE FROM account WHERE name = 'hot'"),
    ("account_rows", "UPDATE account SET currency = 'EUR' WHERE name = 'direct'"),
    ("chains", "UPDATE transfer SET debit_before = debit_before + 1, debit_after = debit_after + 1 WHERE key = '2'"),
    ("last_balances", "UPDATE base SET amount = amount + 1 WHERE keeping = 'direct'"),
    ("tails", "UPDATE tail SET transfer_id = transfer_id + 1000"),
    ("tails", "UPDATE base SET keeping = 'direct' WHERE keeping = 'hot'"),
    ("keys", "DELETE FROM transfer_key WHERE key = '3'"),
    ("keys", "DELETE FROM transfer WHERE key = '3'"),
    ("keys", "UPDATE transfer_key SET transfer_id = transfer_id + 100 WHERE key = '3'"),
    ("reversals", "UPDATE reversal SET already = 1"),
    ("reversals", "UPDATE reversal SET amount = 9"),
    ("reversals", "UPDATE transfer SET reverses = '1' WHERE key = '5'"),
]


def test_a_busy_ledger_is_balanced(ledger: Ledger) -> None:
    """Books in order pass, with a tail and without."""
    _busy(ledger)
    assert_balanced(ledger)
    ledger.consolidate()
    assert_balanced(ledger)


@pytest.mark.parametrize(("rule", "breaking"), BROKEN)
def test_what_is_not_balanced_is_named(
    ledger: Ledger, connection: psycopg.Connection[object], rule: str, breaking: str
) -> None:
    """Each rule notices what breaks it, and the message names the rule."""
    _busy(ledger)
    connection.execute("SET session_replication_role = replica")
    assert connection.execute(breaking).rowcount > 0
    connection.commit()
    with pytest.raises(AssertionError, match=rf"\b{rule}: .*expected .*, found "):
        assert_balanced(ledger)
