"""Through PgBouncer in transaction mode, with two connections to the server for everybody: all of it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine

import lastro
from lastro import InsufficientFunds, Ledger, Posted
from lastro.testing import assert_balanced
from tests.support.migrations import MIGRATIONS
from tests.support.money import CURRENCY, fund, posted, transfer
from tests.support.pgbouncer import pgbouncer_before
from tests.support.schemas import names_on
from tests.support.sessions import together

POOL_SIZE = 2
CLIENTS = 6
PAYMENTS = 15


@pytest.fixture(scope="module")
def pooled_url(server_url: str, need: Callable[[str], Path]) -> Iterator[str]:
    """The URL through a PgBouncer that has two connections to the server."""
    with pgbouncer_before(server_url, need("pgbouncer"), pool_size=POOL_SIZE) as url:
        yield url


@pytest.fixture
def name(server_url: str) -> Iterator[str]:
    """The name of a ledger that isn't there yet."""
    with names_on(server_url) as name:
        yield name()


@pytest.fixture
def pooled(pooled_url: str, name: str) -> Iterator[Ledger]:
    """A ledger that is migrated and used through the pooler."""
    with lastro.connect(pooled_url, ledger=name, prepared=False, pool_max=4) as ledger:
        ledger.migrate()
        yield ledger
        assert_balanced(ledger)


@pytest.mark.case("C093")
def test_migrators_strand_no_lock(pooled_url: str, name: str) -> None:
    """Several migrators at once do each migration once, between them: the lock is the transaction's and stays nowhere."""

    def migrate() -> list[str]:
        with lastro.connect(pooled_url, ledger=name, prepared=False) as ledger:
            return ledger.migrate()

    applied = together([migrate] * 3)
    assert sorted(name for names in applied if isinstance(names, list) for name in names) == MIGRATIONS, applied
    assert migrate() == []


@pytest.mark.req("0.2")
@pytest.mark.case("C003")
def test_more_clients_than_connections(pooled: Ledger, pooled_url: str, name: str) -> None:
    """Clients that outnumber the pooler's connections credit, spend, post batches and fold: nothing lost or overdrawn."""
    fund(pooled, "platform", 0, "hot")
    fund(pooled, "shop", 100)

    def work(number: int) -> int:
        spent = 0
        with lastro.connect(pooled_url, ledger=name, prepared=False, pool_max=1) as ledger:
            for payment in range(PAYMENTS):
                ledger.post(**transfer(f"in:{number}:{payment}", "world", "platform", 2))
                ledger.post_many([transfer(f"m:{number}:{payment}:{n}", "world", "platform", 1) for n in range(3)])
                try:
                    spent += not ledger.post(**transfer(f"out:{number}:{payment}", "shop", "platform", 7)).replayed
                except InsufficientFunds:
                    continue
                finally:
                    ledger.consolidate()
        return spent

    spent = together([partial(work, number) for number in range(CLIENTS)])
    assert sum(map(int, spent)) == 100 // 7, spent  # type: ignore[call-overload]
    assert posted(pooled, "platform") == CLIENTS * PAYMENTS * 5 + 7 * (100 // 7)
    assert posted(pooled, "shop") == 100 % 7


@pytest.mark.req("0.2")
@pytest.mark.case("C016")
def test_one_key_from_many(pooled: Ledger) -> None:
    """The same transfer from many at once is posted once."""
    fund(pooled, "platform", 0)
    answers = together([partial(pooled.post, **transfer("k", "world", "platform", 5))] * CLIENTS)
    assert [answer.replayed for answer in answers if isinstance(answer, Posted)].count(False) == 1
    assert len([answer for answer in answers if isinstance(answer, Posted)]) == CLIENTS


def test_inside_the_callers_transaction(pooled: Ledger, pooled_url: str) -> None:
    """`within()` by the driver and by SQLAlchemy, refusals and rollbacks included."""
    fund(pooled, "shop", 50)
    with psycopg.connect(pooled_url, prepare_threshold=None) as connection:
        held = pooled.within(connection)
        held.post(**transfer("1", "shop", "world", 20))
        with pytest.raises(InsufficientFunds):
            held.post(**transfer("2", "shop", "world", 31))
        held.post_many([transfer(f"3:{n}", "shop", "world", 1) for n in range(10)])
        connection.commit()
        held.post(**transfer("4", "shop", "world", 20))
        connection.rollback()
    engine = create_engine(
        pooled_url.replace("postgresql://", "postgresql+psycopg://"), connect_args={"prepare_threshold": None}
    )
    with engine.begin() as connected:
        pooled.within(connected).reverse("1", "undo")
    engine.dispose()
    assert posted(pooled, "shop") == 40


def test_a_change_of_keeping(pooled: Ledger) -> None:
    """An account is kept otherwise, and back, with what is in its tail."""
    fund(pooled, "platform", 70, "hot")
    for keeping in ("direct", "summed", "hot"):
        assert pooled.keep("platform", CURRENCY, keeping).keeping == keeping  # type: ignore[arg-type]
        pooled.post(**transfer(f"as {keeping}", "platform", "world", 10))
    assert posted(pooled, "platform") == 40


@pytest.mark.case("C094")
def test_no_setting_leaks_to_the_next_client(pooled: Ledger, pooled_url: str, server_url: str) -> None:
    """Whatever was done through them, the server's connections are set as those of a client that never came by."""
    fund(pooled, "platform", 70, "hot")
    fund(pooled, "shop", 70)
    pooled.post(**transfer("1", "shop", "platform", 30))
    pooled.post_many([transfer(f"{n}", "platform", "shop", 1) for n in range(2, 30)])
    with pytest.raises(InsufficientFunds):
        pooled.post(**transfer("no", "shop", "world", 1_000))
    pooled.reverse("1", "undo")
    pooled.bump("orders")
    pooled.consolidate()
    pooled.keep("platform", CURRENCY, "direct")
    with ExitStack() as stack:
        clients = [stack.enter_context(psycopg.connect(pooled_url, prepare_threshold=None)) for _ in range(POOL_SIZE)]
        fresh = stack.enter_context(psycopg.connect(server_url))
        _, expected = settings_of(fresh)
        # Each holds one of the pooler's connections in its transaction.
        found = [settings_of(client) for client in clients]
        assert len({pid for pid, _ in found}) == POOL_SIZE
        for _, settings in found:
            assert dict(settings.items() ^ expected.items()) == {}


def settings_of(connection: psycopg.Connection[tuple[object, ...]]) -> tuple[int, dict[str, str]]:
    """Return who serves this session and every setting of it, but for what a client says of itself when it connects."""
    own = "('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'transaction_isolation')"
    # A language that a migration has used brings settings of its own; a socket has no keepalives, the pooler's line has.
    of_the_server = f"name NOT IN {own} AND name NOT LIKE 'plpgsql.%' AND name NOT LIKE 'tcp_keepalives%'"
    rows = connection.execute(f"SELECT name, setting FROM pg_settings WHERE {of_the_server}".encode()).fetchall()
    ((pid,),) = connection.execute("SELECT pg_backend_pid()").fetchall()
    return int(str(pid)), {str(name): str(setting) for name, setting in rows}


def test_prepared_statements_are_said_to_be_the_trouble(pooled: Ledger, pooled_url: str, name: str) -> None:
    """Without prepared=False a statement is prepared here and asked for there: an error that says what to do."""
    fund(pooled, "platform", 0, "hot")
    with ExitStack() as stack:
        prepared = stack.enter_context(lastro.connect(pooled_url, ledger=name, pool_max=1))
        for number in range(20):
            prepared.post(**transfer(f"{number}", "world", "platform", 1))
        # The pooler gives the connection used last to whoever comes first, so hold that one and leave the other.
        blocker = stack.enter_context(psycopg.connect(pooled_url, prepare_threshold=None))
        blocker.execute("SELECT 1")
        with pytest.raises(lastro.Refusal, match=r"prepared=False") as caught:
            prepared.post(**transfer("elsewhere", "world", "platform", 1))
        assert caught.value.sqlstate == "26000"
        blocker.rollback()
    assert pooled.transfer("elsewhere") is None
    assert posted(pooled, "platform") == 20
