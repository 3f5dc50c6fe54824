"""On a real MariaDB: who waits for which account behind whom, and what that server has no views of is no trouble."""

from __future__ import annotations

from collections.abc import Iterator

import pymysql
import pytest

from lastro import Ledger
from lastro.doctor.findings import find
from lastro.doctor.taking import Readings
from lastro.testing import temporary_ledger
from tests.support.mariadb import arguments_of
from tests.support.money import CURRENCY, fund, transfer
from tests.support.sessions import Background, observer_of

SAMPLES = 3


@pytest.fixture
def books(mariadb_url: str) -> Iterator[Ledger]:
    """A migrated ledger of this test's own."""
    with temporary_ledger(mariadb_url) as ledger:
        yield ledger


@pytest.mark.req("3.15")
def test_a_quiet_ledger(books: Ledger, mariadb_url: str) -> None:
    """Sessions, backlogs and counters are read; nothing is found, and nothing is in trouble."""
    fund(books, "platform", 100, "hot")
    with Readings(mariadb_url, ledger=books._operations.ledger) as readings:
        samples = [readings.take() for _ in range(SAMPLES)]
    assert samples[-1].troubles == ()
    assert samples[-1].number("tail_age", f"platform {CURRENCY}") is not None
    assert samples[-1].number("holds_overdue_age") == 0
    assert samples[-1].number("open_incidents") == 0
    assert samples[-1].number("connections")
    assert (samples[-1].number("commits") or 0) > 0
    # The server counts since it began, so those of other tests too.
    assert samples[-1].number("deadlocks") == samples[0].number("deadlocks")
    assert find(samples) == ()


def test_who_waits_for_which_account(books: Ledger, mariadb_url: str) -> None:
    """A post that waits is seen waiting for its account, behind the session that holds the row and idles."""
    fund(books, "ana", 100)
    name = books._operations.ledger
    with pymysql.connect(**arguments_of(mariadb_url), autocommit=False) as holder, observer_of(mariadb_url) as observer:
        books.within(holder).post(**transfer("first", "ana", "world", 10))
        waiting = Background(lambda: books.post(**transfer("second", "ana", "world", 10)))
        observer.until_anyone_waits_for(holder.thread_id())
        with Readings(mariadb_url, ledger=name) as readings:
            sample = readings.take()
        holder.commit()
        waiting.result()
    [wait] = sample.named("lock_waits")
    assert (wait.value, wait.subject) == (1, f"account ana {CURRENCY}")
    assert wait.detail["keeping"] == "direct"
    [blocker] = wait.detail["blockers"]
    assert blocker["state"] == "idle in transaction"
    assert str(holder.thread_id()) in blocker["session"]
    [blocking] = sample.named("blocking")
    assert blocking.subject == blocker["session"]
