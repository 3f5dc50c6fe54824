"""Closing a period on MariaDB: who posts into it is waited for, and an old snapshot doesn't pass the closing by."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pymysql
import pytest

from lastro import Ledger, LockTimeout, PeriodClosed
from tests.stores.mariadb.conftest import Connect, rows_of
from tests.support.money import fund, posted, transfer
from tests.support.sessions import Background

OCTOBER_ENDS = datetime(2025, 11, 1, tzinfo=UTC)


def dated_back(key: str) -> dict[str, Any]:
    """A transfer that occurred in October."""
    return transfer(key, "world", "shop", 5, occurred_at=OCTOBER_ENDS - timedelta(days=1))


def test_a_closing_waits_for_who_posts_into_the_period(
    ledger: Ledger, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transfer under way, in the server's own REPEATABLE READ, holds the closing up until it is committed."""
    fund(ledger, "shop", 0)
    caller = connect()
    ledger.within(caller).post(**dated_back("under way"))
    with monkeypatch.context() as briefly:
        briefly.setattr("lastro.plans.closed_periods.LOCK_TIMEOUT_MS", 1_000)
        briefly.setattr("lastro.plans.closed_periods.giving_way", _once)
        with pytest.raises(LockTimeout):
            ledger.close_period(until=OCTOBER_ENDS)
    assert ledger.period_closings() == []
    closing = Background(lambda: ledger.close_period(until=OCTOBER_ENDS))
    caller.commit()
    assert closing.result().closed_until == OCTOBER_ENDS
    with pytest.raises(PeriodClosed):
        ledger.post(**dated_back("late"))
    assert posted(ledger, "shop") == 5


def test_an_old_snapshot_doesnt_pass_the_closing_by(ledger: Ledger, connect: Connect) -> None:
    """A caller in REPEATABLE READ whose snapshot is from before the closing is refused."""
    fund(ledger, "shop", 0)
    caller = connect()
    rows_of(caller, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
    ledger.close_period(until=OCTOBER_ENDS)
    with pytest.raises(PeriodClosed):
        ledger.within(caller).post(**dated_back("old"))
    caller.commit()
    assert posted(ledger, "shop") == 0


def test_no_writer_with_an_old_snapshot_passes_it_by(ledger: Ledger, connect: Connect, name: str) -> None:
    """Past the library too: the database reads what is closed now, whatever the writer's snapshot shows."""
    fund(ledger, "shop", 0)
    writer = connect()
    rows_of(writer, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
    ids = dict(rows_of(writer, f"SELECT name, id FROM {name}.account"))
    ledger.close_period(until=OCTOBER_ENDS)
    assert rows_of(writer, f"SELECT closed_until FROM {name}.closed_period") == [(None,)], "the snapshot is an old one"
    plant = (
        f"INSERT INTO {name}.transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, `key`, kind) "
        "VALUES (900, %s, %s, 5, '2025-10-20', utc_timestamp(6), 'planted', 'pay')"
    )
    with pytest.raises(pymysql.MySQLError, match="period closed"):
        rows_of(writer, plant, ids["world"], ids["shop"])
    writer.rollback()
    # A session may set its own clock back, and what it writes then looks like the present of those days.
    rows_of(writer, "SET timestamp = unix_timestamp('2025-10-20')")
    with pytest.raises(pymysql.MySQLError, match="period closed"):
        rows_of(writer, plant, ids["world"], ids["shop"])
    writer.rollback()


def _once(make: Any) -> Any:
    from lastro.plans.patience import giving_way

    return giving_way(make, tries_max=1)
