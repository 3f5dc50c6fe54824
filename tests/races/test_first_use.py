"""A ledger that threads share: its connections are opened once, within their limit, and replaced when they die."""

from __future__ import annotations

from functools import partial

import pytest

import lastro
from lastro import Balance, Ledger
from tests.support.money import CURRENCY, fund, posted, transfer
from tests.support.sessions import Observer, together

THREADS = 16
POOL_MAX = 3


def test_many_threads_open_one_pool(ledger: Ledger, server_url: str, ledger_name: str, observer: Observer) -> None:
    """Threads that all come first at the same moment share one pool: never more connections than `pool_max`."""
    fund(ledger, "shop", 100)
    url = f"{server_url}{'&' if '?' in server_url else '?'}application_name=first_use_{ledger_name}"
    with lastro.connect(url, ledger=ledger_name, pool_max=POOL_MAX) as fresh:
        answers = together([partial(fresh.balance, "shop", CURRENCY)] * THREADS)
        assert set(answers) == {Balance("shop", CURRENCY, 100, 0, 100)}
        opened = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
        assert 1 <= observer.value(opened, f"first_use_{ledger_name}") <= POOL_MAX


@pytest.mark.parametrize("dead", [1, 4, 10])
def test_a_pool_of_dead_connections(ledger: Ledger, server_url: str, observer: Observer, dead: int) -> None:
    """When the server ended every idle connection, the next call of each kind still succeeds."""
    fund(ledger, "shop", 100)
    url = f"{server_url}{'&' if '?' in server_url else '?'}application_name=dead_{ledger._operations.ledger}"
    with lastro.connect(url, ledger=ledger._operations.ledger, pool_max=dead) as idle:
        idle.balance("shop", CURRENCY)
        pool = idle._engine._pool  # type: ignore[attr-defined]
        taken = [pool.getconn() for _ in range(dead)]
        for connection in taken:
            pool.putconn(connection)
        ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = %s"
        name = f"dead_{ledger._operations.ledger}"
        assert observer.value(ended, name) == dead
        observer.until(
            lambda: observer.value("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", name) == 0,
            "the connections to end",
        )
        idle.post(**transfer("k", "shop", "world", 40))
        assert posted(ledger, "shop") == 60
