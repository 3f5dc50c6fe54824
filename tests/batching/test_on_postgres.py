"""Batchers on a real PostgreSQL: once-only, floors, faults and poison, from threads and from tasks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

import lastro
from lastro import (
    AsyncLedger,
    InsufficientFunds,
    LastroError,
    Ledger,
    LockTimeout,
    Posted,
    TransferConflict,
    UnknownAccount,
)
from lastro.model.limits import BATCH_TRANSFERS_MAX
from lastro.sql.catalogue import catalogue
from lastro.telemetry import listen
from lastro.testing import assert_balanced
from tests.batching.gated import WAIT_S, order
from tests.support.sessions import observer_of, sessions_of

POISONED = """
CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.kind = 'poison' THEN RAISE EXCEPTION 'poison'; END IF;
    RETURN new;
END $$;
CREATE TRIGGER poison BEFORE INSERT ON transfer FOR EACH ROW EXECUTE FUNCTION refuse_poison();
"""
Wanted = dict[str, Any]


@pytest.fixture
def accounts(ledger: Ledger) -> Ledger:
    """A ledger with a hot platform and two direct accounts, one of them with 100."""
    ledger.open_account("platform", "BRL", keeping="hot")
    ledger.open_account("rich", "BRL")
    ledger.open_account("poor", "BRL")
    ledger.post(**order("funds", credit="rich", amount=100))
    return ledger


def outcomes_of_threads(ledger: Ledger, wanted: Sequence[Wanted]) -> list[Posted | BaseException]:
    """Post each from a thread of its own, all at once, and return what each heard."""
    barrier = threading.Barrier(len(wanted))

    def post(one: Wanted) -> Posted | BaseException:
        barrier.wait(WAIT_S)
        try:
            return batcher.post(**one)
        except LastroError as error:
            return error

    with ThreadPoolExecutor(len(wanted)) as pool, ledger.batching() as batcher:
        return list(pool.map(post, wanted, timeout=WAIT_S))


async def outcomes_of_tasks(ledger: AsyncLedger, wanted: Sequence[Wanted]) -> list[Posted | BaseException]:
    """The same with tasks."""
    async with ledger.batching() as batcher:
        return await asyncio.gather(*(batcher.post(**one) for one in wanted), return_exceptions=True)


def judge_mixture(outcomes: list[Posted | BaseException]) -> None:
    """Check what the callers of MIXTURE heard."""
    created = [one for one in outcomes[0:2] if isinstance(one, Posted) and not one.replayed]
    replayed = [one for one in outcomes[0:2] if isinstance(one, Posted) and one.replayed]
    assert len(created) == len(replayed) == 1
    assert created[0].transfer == replayed[0].transfer
    conflicts = [one for one in outcomes[2:4] if isinstance(one, TransferConflict)]
    assert len(conflicts) == 1
    assert set(conflicts[0].fields) == {"amount"}
    assert isinstance(outcomes[4], UnknownAccount)
    assert sum(isinstance(one, InsufficientFunds) for one in outcomes[5:8]) == 1
    assert isinstance(outcomes[8], Posted)


MIXTURE = [
    order("same"),
    order("same"),
    order("contested", amount=1),
    order("contested", amount=2),
    order("nobody", credit="nobody"),
    order("debit:1", debit="rich", credit="poor", amount=40),
    order("debit:2", debit="rich", credit="poor", amount=40),
    order("debit:3", debit="rich", credit="platform", amount=40),
    order("fine"),
]


@pytest.mark.req("2.3")
def test_each_thread_hears_its_own(accounts: Ledger) -> None:
    """Once-only, conflicts, floors and unknown accounts are judged for each caller, and harm no neighbour."""
    judge_mixture(outcomes_of_threads(accounts, MIXTURE))
    assert accounts.balance("rich", "BRL").posted == 20
    assert_balanced(accounts)


@pytest.mark.req("2.3")
async def test_each_task_hears_its_own(accounts: Ledger, async_ledger: AsyncLedger) -> None:
    """The same from tasks, where all of them certainly share one batch."""
    judge_mixture(await outcomes_of_tasks(async_ledger, MIXTURE))
    assert accounts.balance("rich", "BRL").posted == 20
    assert_balanced(accounts)


def test_poison_harms_nobody_else(accounts: Ledger, connection: psycopg.Connection[Any]) -> None:
    """A row that the database refuses for a reason of its own is that caller's error; all others are posted."""
    connection.execute(POISONED.encode())
    connection.commit()
    wanted = [order(str(number), kind="poison" if number == 13 else "commission") for number in range(40)]
    outcomes = outcomes_of_threads(accounts, wanted)
    assert [number for number, one in enumerate(outcomes) if not isinstance(one, Posted)] == [13]
    assert isinstance(outcomes[13], LastroError)
    assert accounts.balance("platform", "BRL").posted == 39 * 5
    assert_balanced(accounts)


async def test_poison_harms_nobody_else_awaited(
    accounts: Ledger, async_ledger: AsyncLedger, connection: psycopg.Connection[Any]
) -> None:
    """The same from tasks."""
    connection.execute(POISONED.encode())
    connection.commit()
    wanted = [order(str(number), kind="poison" if number == 13 else "commission") for number in range(40)]
    outcomes = await outcomes_of_tasks(async_ledger, wanted)
    assert [number for number, one in enumerate(outcomes) if not isinstance(one, Posted)] == [13]
    assert accounts.balance("platform", "BRL").posted == 39 * 5


def test_a_lock_that_is_not_granted_is_a_fault_for_the_batch(
    accounts: Ledger, ledger_name: str, server_url: str
) -> None:
    """Callers whose batch could not get a lock hear LockTimeout (not "insufficient"), and may try the same keys again."""
    impatient = lastro.connect(server_url, ledger=ledger_name, lock_timeout_ms=100)
    wanted = [order(str(number), debit="rich", credit="poor", amount=1) for number in range(5)]
    with impatient, sessions_of(server_url) as session:
        holder = session()
        holder.execute(f"SELECT 1 FROM {ledger_name}.base ORDER BY account_id FOR NO KEY UPDATE".encode())
        assert {type(one) for one in outcomes_of_threads(impatient, wanted)} == {LockTimeout}
        holder.rollback()
        assert {type(one) for one in outcomes_of_threads(impatient, wanted)} == {Posted}
    assert accounts.balance("rich", "BRL").posted == 95


def test_a_terminated_connection_costs_nobody_a_transfer(accounts: Ledger, server_url: str, ledger_name: str) -> None:
    """The batch's session is ended by the server while it waits for a lock: the batch is posted once all the same."""
    wanted = [order(str(number), debit="rich", credit="poor", amount=1) for number in range(5)]
    with sessions_of(server_url) as session, observer_of(server_url) as observer, ThreadPoolExecutor(1) as pool:
        holder = session()
        holder.execute(f"SELECT 1 FROM {ledger_name}.base ORDER BY account_id FOR NO KEY UPDATE".encode())
        outcomes = pool.submit(outcomes_of_threads, accounts, wanted)
        [waiting, *_] = observer.until_anyone_waits_for(holder.info.backend_pid)
        observer.value("SELECT pg_terminate_backend(%s)", waiting)
        holder.rollback()
        assert [type(one) for one in outcomes.result(WAIT_S)] == [Posted] * 5
    assert accounts.balance("poor", "BRL").posted == 5
    assert_balanced(accounts)


def test_many_callers_share_few_commits(accounts: Ledger, server_url: str) -> None:
    """What 64 threads post takes far fewer transactions than posts, and every post is there once."""
    batches: list[float] = []
    stop = listen(lambda name, value, _: batches.append(value) if name == "lastro_batch_transfers" else None)

    def post_repeatedly(caller: int) -> None:
        for number in range(10):
            batcher.post(**order(f"{caller}:{number}", credit="poor"))

    try:
        with ThreadPoolExecutor(64) as pool, accounts.batching() as batcher:
            list(pool.map(post_repeatedly, range(64), timeout=2 * WAIT_S))
    finally:
        stop()
    assert sum(batches) == 640
    assert len(batches) < 320
    assert accounts.balance("poor", "BRL").posted == 640 * 5
    assert_balanced(accounts)


def test_a_big_batch_reads_no_history_from_end_to_end(
    accounts: Ledger, ledger_name: str, connection: psycopg.Connection[Any]
) -> None:
    """Looking up the keys of the largest batch probes an index for each, although `= ANY` would be planned as a scan."""
    for batch in range(2):
        accounts.post_many([order(f"{batch}:{number}") for number in range(BATCH_TRANSFERS_MAX)])
    connection.execute("ANALYZE transfer_key, transfer, account")
    statement = catalogue("postgres", ledger_name)["batch.find_keys"].text
    keys = [str(number) for number in range(BATCH_TRANSFERS_MAX)]
    plan = connection.execute(b"EXPLAIN " + statement.encode(), {"keys": keys}).fetchall()
    scans = [str(line[0]) for line in plan if "Seq Scan on" in str(line[0])]
    assert not [scan for scan in scans if "transfer_key" in scan or "transfer_p1 " in scan], plan
