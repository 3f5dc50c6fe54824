"""
Faults injected on a real server while it posts, and what the doctor finds then: the benchmark and the tests use the same.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

import lastro
from bench.replica import paused_replica
from lastro import Ledger
from lastro.doctor.findings import Finding, find
from lastro.doctor.readings import Sample
from lastro.doctor.taking import Readings
from tests.support.pgbouncer import pgbouncer_before

CURRENCY: Final = "BRL"
PLAYERS: Final = 64
FUNDS: Final = 1_000_000_000
CLIENTS: Final = 6
CONTENDERS: Final = 12
BATCH_TRANSFERS: Final = 50
WAL_MESSAGE_BYTES: Final = 1_000_000
PATIENCE_S: Final = 30.0
LOOK_EVERY_S: Final = 0.2
HEALTHY: Final = "healthy"
WAL_SEGMENTS_KEPT: Final = 6
DEAD_ROWS: Final = 30_000
DEAD_BETS: Final = 120_000
FINISHED_WITHIN_S: Final = 20.0
# For the doctor, and for traffic that has its connections already.
CONNECTIONS_LEFT: Final = 3

Traffic = Callable[[Ledger, int, int], object]
Terms = dict[str, Any]


@dataclass
class Ground:
    """A server and a ledger on it with an account that everybody credits, kept hot, and players kept direct."""

    url: str
    name: str
    pgbouncer: Path | None = None
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = lastro.connect(self.url, ledger=self.name, pool_max=CLIENTS + CONTENDERS)
        self.ledger.migrate()
        self.ledger.open_account("platform", CURRENCY, keeping="hot")
        self.ledger.open_account("house", CURRENCY, floor=None)
        for number in range(PLAYERS):
            self.ledger.open_account(player(number), CURRENCY)
        self.ledger.post_many([_fund(number) for number in range(PLAYERS)])
        self.ledger.consolidate()
        self._keys = itertools.count()

    def key(self) -> str:
        """A key that no transfer of this ground had."""
        return f"{self.name}:{next(self._keys)}"

    def connected(self, application: str, **more: Any) -> psycopg.Connection[Any]:
        """A session with the ledger's tables in its search path."""
        return psycopg.connect(
            self.url, options=f"-c search_path={self.name},public", application_name=application, **more
        )

    def execute(self, *statements: str) -> None:
        """Execute SQL, each statement committing itself."""
        with self.connected("injection", autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def close(self) -> None:
        """Drop the ledger."""
        self.ledger.close()
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self.name)))


@dataclass(frozen=True)
class Injection:
    """
    A fault: the code that the doctor must name first (None: nothing at all), how it is made, and how long to look.

    What it yields goes to `Readings`. `traffic` runs beside it in `clients` threads.
    """

    name: str
    code: str | None
    inject: Callable[[Ground], AbstractContextManager[Terms]]
    seconds: float = 0.4
    clients: int = CLIENTS
    needs_pgbouncer: bool = False


@dataclass(frozen=True)
class Diagnosis:
    """What was found, and from what."""

    findings: tuple[Finding, ...]
    samples: tuple[Sample, ...]

    @property
    def first(self) -> str | None:
        """The code of the first finding."""
        return self.findings[0].code if self.findings else None


def diagnose(ground: Ground, injection: Injection) -> Diagnosis:
    """Inject the fault beside traffic, take samples for as long as it says, and return what was found."""
    with (
        traffic(ground.ledger, ground, clients=injection.clients),
        injection.inject(ground) as terms,
        Readings(ground.url, ledger=ground.name, **terms) as readings,
    ):
        samples = [readings.take()]
        until_s = time.monotonic() + injection.seconds
        while time.monotonic() < until_s:
            time.sleep(LOOK_EVERY_S)
            samples.append(readings.take())
    return Diagnosis(find(samples), tuple(samples))


@contextmanager
def traffic(ledger: Ledger, ground: Ground, *, clients: int, work: Traffic | None = None) -> Iterator[None]:
    """Post in so many threads until the block ends; whatever goes wrong there is raised here, but a wait that was too long."""
    stop, errors = threading.Event(), list[BaseException]()
    posting = work or _shopping(ground)

    def run(client: int) -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            try:
                posting(ledger, client, number)
            except (lastro.LockTimeout, lastro.ConnectionLost):
                continue  # what the fault makes of a client
            except BaseException as error:  # noqa: BLE001 - told where the block ends
                errors.append(error)
                return

    threads = [threading.Thread(target=run, args=(client,), daemon=True) for client in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(FINISHED_WITHIN_S)
    if errors:
        raise errors[0]


def player(number: int) -> str:
    """The name of a player's account."""
    return f"player:{number % PLAYERS:02}"


def _fund(number: int) -> dict[str, Any]:
    return _transfer(f"fund:{number}", "world", player(number), FUNDS)


def _transfer(key: str, debit: str, credit: str, amount: int = 1) -> dict[str, Any]:
    return {"key": key, "kind": "bet", "debit": debit, "credit": credit, "amount": amount, "currency": CURRENCY}


def _shopping(ground: Ground) -> Traffic:
    """Each client pays from players of its own to the platform, and the platform's tail is folded in now and then."""

    def work(ledger: Ledger, client: int, number: int) -> None:
        own = client + CLIENTS * (number % (PLAYERS // CLIENTS))
        ledger.post(**_transfer(ground.key(), player(own), "platform"))
        if client == 0 and number % BATCH_TRANSFERS == 0:
            ledger.consolidate()

    return work


@contextmanager
def nothing(_: Ground) -> Iterator[Terms]:
    """No fault."""
    yield {}


@contextmanager
def long_transaction(ground: Ground) -> Iterator[Terms]:
    """A report that reads, and idles in its transaction."""
    with ground.connected("report") as connection:
        connection.execute("SELECT count(*) FROM base")
        yield {}
        connection.rollback()


@contextmanager
def stalled_client(ground: Ground) -> Iterator[Terms]:
    """A client that posted to a player and went for lunch inside its transaction: others wait behind it."""
    with ground.connected("stalled shop") as connection:
        ground.ledger.within(connection).post(**_transfer(ground.key(), player(0), "platform"))
        yield {}
        connection.rollback()


@contextmanager
def direct_hot_account(ground: Ground) -> Iterator[Terms]:
    """Everybody credits the house, which is kept direct, inside transactions with work of their own."""
    with ExitStack() as stack:
        theirs = [stack.enter_context(ground.connected("checkout")) for _ in range(CONTENDERS)]

        def checkout(ledger: Ledger, client: int, _: int) -> None:
            with theirs[client].transaction():
                ledger.within(theirs[client]).post(**_transfer(ground.key(), "world", "house"))
                theirs[client].execute("SELECT pg_sleep(0.003)")

        with traffic(ground.ledger, ground, clients=CONTENDERS, work=checkout):
            yield {}


@contextmanager
def settlement_in_one_transaction(ground: Ground) -> Iterator[Terms]:
    """A settlement pays everybody in one transaction, batch by batch, and commits at the very end."""
    stop = threading.Event()

    def settle() -> None:
        with ground.connected("settlement") as connection:
            held = ground.ledger.within(connection)
            while not stop.is_set():
                for first in range(0, PLAYERS, BATCH_TRANSFERS // 5):
                    players = range(first, min(first + BATCH_TRANSFERS // 5, PLAYERS))
                    held.post_many([_transfer(ground.key(), "world", player(number)) for number in players])
                # The work that it does for the rest of its bets while it holds these.
                connection.execute("SELECT pg_sleep(0.05)")
                if time.monotonic() - began_s > PATIENCE_S:
                    return
            connection.commit()

    began_s = time.monotonic()
    thread = threading.Thread(target=settle, daemon=True)
    thread.start()
    try:
        yield {}
    finally:
        stop.set()
        thread.join(PATIENCE_S)


@contextmanager
def starved_pool(ground: Ground) -> Iterator[Terms]:
    """Twelve threads share a pool of one connection."""
    ledger = lastro.connect(ground.url, ledger=ground.name, pool_max=1)
    with ledger, traffic(ledger, ground, clients=CONTENDERS):
        yield {"pools": {"placement": ledger}}


@contextmanager
def pooler_of_one(ground: Ground) -> Iterator[Terms]:
    """Twelve clients go through a PgBouncer that has one connection to the server."""
    assert ground.pgbouncer is not None
    with pgbouncer_before(ground.url, ground.pgbouncer, pool_size=1) as url:
        ledger = lastro.connect(url, ledger=ground.name, pool_max=CONTENDERS, prepared=False)
        with ledger, traffic(ledger, ground, clients=CONTENDERS):
            yield {"pooler": console_of(url), "prepared": False}


@contextmanager
def pooler_without_prepared_statements(ground: Ground) -> Iterator[Terms]:
    """A PgBouncer that loses prepared statements stands before connections that use them."""
    assert ground.pgbouncer is not None
    with pgbouncer_before(ground.url, ground.pgbouncer, pool_size=4) as url:
        yield {"pooler": console_of(url)}


def console_of(url: str) -> str:
    """The console of the PgBouncer that *url* leads through."""
    head, _, options = url.partition("?")
    return f"{head.rpartition('/')[0]}/pgbouncer?{options}"


@contextmanager
def autovacuum_switched_off(ground: Ground) -> Iterator[Terms]:
    """Somebody switched autovacuum off for the base rows, and thousands of them are dead."""
    ground.execute(
        "ALTER TABLE base SET (autovacuum_enabled = off)",
        *["UPDATE base SET changed_at = now()"] * (DEAD_ROWS // PLAYERS // 100),
    )
    yield {}
    ground.execute("ALTER TABLE base RESET (autovacuum_enabled)")


@contextmanager
def small_wal(ground: Ground) -> Iterator[Terms]:
    """The WAL has hardly room, and a burst forces checkpoints one after the other."""
    stop = threading.Event()

    def burst() -> None:
        with ground.connected("burst", autocommit=True) as connection:
            while not stop.is_set():
                connection.execute(
                    "SELECT pg_logical_emit_message(false, 'burst', repeat('x', %s))", [WAL_MESSAGE_BYTES]
                )

    ground.execute(
        "ALTER SYSTEM SET max_wal_size = '32MB'", "ALTER SYSTEM SET wal_compression = 'off'", "SELECT pg_reload_conf()"
    )
    thread = threading.Thread(target=burst, daemon=True)
    thread.start()
    try:
        yield {}
    finally:
        stop.set()
        thread.join(PATIENCE_S)
        ground.execute(
            "ALTER SYSTEM RESET max_wal_size", "ALTER SYSTEM RESET wal_compression", "SELECT pg_reload_conf()"
        )


@contextmanager
def stuck_slot(ground: Ground) -> Iterator[Terms]:
    """A replication slot that nobody reads keeps segment after segment."""
    ground.execute("SELECT pg_create_physical_replication_slot('stuck', true)")
    for _ in range(WAL_SEGMENTS_KEPT):
        ground.execute("SELECT pg_logical_emit_message(false, 'x', 'x')", "SELECT pg_switch_wal()")
    try:
        yield {}
    finally:
        ground.execute("SELECT pg_drop_replication_slot('stuck')")


@contextmanager
def replica_at_rest(ground: Ground) -> Iterator[Terms]:
    """A replica receives everything and applies nothing."""
    with paused_replica(ground.url):
        ground.execute("SELECT pg_logical_emit_message(false, 'x', repeat('x', 3000000))")
        yield {}


@contextmanager
def invalid_unique_index(ground: Ground) -> Iterator[Terms]:
    """CREATE UNIQUE INDEX CONCURRENTLY failed on duplicates and left its index behind."""
    ground.execute("INSERT INTO counter (name, slice, value) VALUES ('twice', 0, 7), ('twice', 1, 7)")
    try:
        ground.execute("CREATE UNIQUE INDEX CONCURRENTLY counter_value_once ON counter (value) WHERE name = 'twice'")
    except psycopg.errors.UniqueViolation:
        pass
    else:
        raise AssertionError("the index was made")
    yield {}
    ground.execute("DROP INDEX counter_value_once", "DELETE FROM counter WHERE name = 'twice'")


@contextmanager
def no_partition_ahead(ground: Ground) -> Iterator[Terms]:
    """Nobody kept partitions, and the ids have all but reached the last one's end."""
    end = ground.ledger.partitions()[-1].to_id
    with ground.connected("injection", autocommit=True) as connection:
        row = connection.execute("SELECT nextval('transfer_id')").fetchone()
        assert row is not None
        connection.execute("SELECT setval('transfer_id', %s)", [end - 1_000_000])
    yield {}
    ground.ledger.keep_partitions()


@contextmanager
def drifted_balance(ground: Ground) -> Iterator[Terms]:
    """Somebody changed a balance by hand, and a round of reconciliation saw it."""
    change = "UPDATE base SET amount = amount {} 7 WHERE account_id = (SELECT id FROM account WHERE name = 'house')"
    ground.execute(change.format("+"))
    ground.ledger.reconcile(full=True)
    yield {}
    ground.execute(change.format("-"))
    for incident in ground.ledger.incidents():
        ground.ledger.explain(incident.id, explanation="injected", actor="bench")


@contextmanager
def hot_for_nothing(ground: Ground) -> Iterator[Terms]:
    """An account is hot since yesterday, and everybody debits it."""
    ground.ledger.open_account("prizes", CURRENCY, keeping="hot", floor=None)
    ground.execute("UPDATE account SET opened_at = now() - interval '1 day' WHERE name = 'prizes'")
    ground.ledger.post_many([_transfer(ground.key(), "prizes", player(number)) for number in range(PLAYERS)] * 1)
    ground.ledger.consolidate()
    yield {}
    ground.ledger.keep("prizes", CURRENCY, "direct")


@contextmanager
def counter_of_the_host(ground: Ground) -> Iterator[Terms]:
    """Every client counts in one row of the application's own."""
    ground.execute("CREATE TABLE visits (id int PRIMARY KEY, n bigint)", "INSERT INTO visits VALUES (1, 0)")
    with ExitStack() as stack:
        theirs = [stack.enter_context(ground.connected("counting")) for _ in range(CONTENDERS)]

        def visit(_: Ledger, client: int, __: int) -> None:
            with theirs[client].transaction():
                theirs[client].execute("UPDATE visits SET n = n + 1 WHERE id = 1")
                theirs[client].execute("SELECT pg_sleep(0.003)")

        with traffic(ground.ledger, ground, clients=CONTENDERS, work=visit):
            yield {}
    ground.execute("DROP TABLE visits")


@contextmanager
def nobody_settles(ground: Ground) -> Iterator[Terms]:
    """A result came in minutes ago, and no settler runs."""
    ground.ledger.betting.open_market("final", CURRENCY, odds={"home": "2.00", "away": "2.00"})
    ground.ledger.betting.result("final", {"home": "won"}, others="lost")
    ground.execute("UPDATE open_result SET opened_at = now() - interval '5 minutes'")
    yield {}
    ground.ledger.betting.settle()


@contextmanager
def autovacuum_asleep(ground: Ground) -> Iterator[Terms]:
    """Autovacuum is on and looks once a day; a hundred thousand bets came and went."""
    ground.execute("ALTER SYSTEM SET autovacuum_naptime = '1d'", "SELECT pg_reload_conf()")
    ground.execute(
        f"INSERT INTO open_bet SELECT 1, n FROM generate_series(1, {DEAD_BETS}) AS n",
        "DELETE FROM open_bet WHERE market_id = 1",
        "SELECT pg_stat_force_next_flush()",
    )
    yield {}
    ground.execute("VACUUM open_bet", "ALTER SYSTEM RESET autovacuum_naptime", "SELECT pg_reload_conf()")


@contextmanager
def no_connections_left(ground: Ground) -> Iterator[Terms]:
    """Connections that do nothing take all that the server has."""
    with ExitStack() as stack:
        with ground.connected("counting", autocommit=True) as connection:
            row = connection.execute(
                "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int "
                "- (SELECT sum(numbackends) FROM pg_stat_database)"
            ).fetchone()
            assert row is not None
        for _ in range(int(row[0]) - CONNECTIONS_LEFT):
            stack.enter_context(ground.connected("idler", autocommit=True))
        yield {}


INJECTIONS: Final = (
    Injection(HEALTHY, None, nothing, seconds=2.0),
    Injection("long transaction", "oldest_transaction", long_transaction, seconds=2.5),
    Injection("stalled client", "oldest_transaction", stalled_client, seconds=2.5),
    Injection("direct hot account", "hot_account_direct", direct_hot_account, seconds=2.0, clients=2),
    Injection("settlement in one transaction", "settlement_batch", settlement_in_one_transaction, seconds=2.5),
    Injection("starved pool", "pool_starved", starved_pool, seconds=1.2, clients=1),
    Injection("PgBouncer with a pool of one", "pool_starved", pooler_of_one, seconds=1.2, clients=1, needs_pgbouncer=True),
    Injection(
        "PgBouncer without prepared statements", "prepared_statements_lost", pooler_without_prepared_statements,
        clients=2, needs_pgbouncer=True,
    ),
    Injection("autovacuum off", "autovacuum_off", autovacuum_switched_off, clients=2),
    Injection("small WAL", "checkpoint_storm", small_wal, seconds=2.5, clients=2),
    Injection("stuck slot", "slot_fills_disk", stuck_slot, clients=2),
    Injection("paused replica", "replica_lag", replica_at_rest, seconds=1.0, clients=2),
    Injection("invalid unique index", "invalid_index", invalid_unique_index, clients=2),
    Injection("no partition ahead", "partition_missing", no_partition_ahead, clients=2),
    Injection("drift", "drift", drifted_balance, clients=2),
    Injection("hot for nothing", "hot_without_need", hot_for_nothing, clients=2),
    Injection("counter of the host's", "shared_rows", counter_of_the_host, seconds=1.2, clients=2),
    Injection("nobody settles", "backlog_stands", nobody_settles, clients=2),
    Injection("autovacuum asleep", "autovacuum_behind", autovacuum_asleep, clients=2),
    Injection("no connections left", "connections", no_connections_left, clients=2),
)  # fmt: skip
