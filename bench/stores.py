"""
MariaDB and SQLite, each beside its own limit: a bare one-row INSERT by the same driver with the same durability.

MariaDB: a real server with its default durability (every commit flushed), through its socket, a consolidator at work.
SQLite: one writer, WAL, synchronous = FULL, as the ledger sets it; a consolidator would be a second writer.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import lastro
from bench.books import CURRENCY, consolidating_at
from bench.figures import Run, in_process
from bench.loads import Load, alternate
from bench.store_tables import (
    LEDGER,
    MARIADB_COPIES,
    MARIADB_TABLES,
    SQLITE_TABLES,
    copy_sqlite_tables,
    mariadb_connection,
    sqlite_connection,
)
from lastro.model.account import Keeping
from tests.support.mariadb import mariadb_server

KEEPINGS: tuple[Keeping, ...] = ("hot", "direct", "summed")
MARIADB_CLIENTS = (1, 8, 32)
ONE_ROW_CLIENTS = 32
CALLERS = 256
BATCHED_BESIDE = {"sqlite": 1, "mariadb": 32}
# Many, as sellers are many: one account kept direct is one row, which is measured by the naive line.
DIRECT_ACCOUNTS = 50
PLACES = ("/usr/sbin", "/usr/local/sbin")
# What the package's own configuration says; the tests' server flushes once a second.
SETTINGS = {"innodb-flush-log-at-trx-commit": "1", "innodb-buffer-pool-size": "256M"}
NOT_INSTALLED = "mariadbd and mariadb-install-db are not installed: `make services`"


@dataclass(frozen=True, kw_only=True)
class Store:
    """A store under measurement: its ledger's URL, where its bare table is, and how to read what a server has spent."""

    name: str
    url: str
    bare_url: str
    spent: Callable[[], Mapping[str, float]]


def measure(run: Run) -> None:
    """All lines of both stores."""
    with sqlite_store() as store:
        _beside_limit(run, store, (1,))
    servers = _installed()
    if servers is None:
        run.not_measured["the MariaDB store"] = NOT_INSTALLED
        run.say(f"stores.mariadb: {NOT_INSTALLED}")
        return
    with mariadb_store(*servers) as store, consolidating_at(store.url, LEDGER):
        _beside_limit(run, store, MARIADB_CLIENTS)
        _beside_naive(run, store)


@contextmanager
def sqlite_store() -> Iterator[Store]:
    """A file of its own, on the disk that the other stores are measured on."""
    folder = Path(tempfile.mkdtemp(prefix="lastro-bench-"))
    try:
        url, bare_url = f"sqlite:///{folder}/ledger.db", f"sqlite:///{folder}/bare.db"
        bare = sqlite_connection(bare_url)
        bare.execute(SQLITE_TABLES)
        bare.close()
        _open_accounts(url)
        copy_sqlite_tables(url, bare_url)
        yield Store(name="sqlite", url=url, bare_url=bare_url, spent=dict)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def mariadb_store(mariadbd: Path, installer: Path) -> Iterator[Store]:
    """A server of its own."""
    with mariadb_server(mariadbd, installer, SETTINGS) as url:
        connection = mariadb_connection(url, autocommit=True)
        with connection.cursor() as cursor:
            for statement in MARIADB_TABLES:
                cursor.execute(statement)
            cursor.execute("SELECT @@pid_file, @@innodb_flush_log_at_trx_commit")
            pid_file, flushed = cursor.fetchone()
        assert flushed == 1, "every commit is flushed"
        _open_accounts(url)
        with connection.cursor() as cursor:
            for statement in MARIADB_COPIES:
                cursor.execute(statement.format(ledger=LEDGER))
        pid = int(Path(pid_file).read_text(encoding="ascii"))
        yield Store(name="mariadb", url=url, bare_url=url, spent=lambda: _spent_by(connection, pid))
        connection.close()


def _installed() -> tuple[Path, Path] | None:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *PLACES))
    found = [shutil.which(name, path=path) for name in ("mariadbd", "mariadb-install-db")]
    return (Path(found[0]), Path(found[1])) if found[0] and found[1] else None


def _open_accounts(url: str) -> None:
    with lastro.connect(url, ledger=LEDGER) as ledger:
        ledger.migrate()
        for keeping in KEEPINGS:
            for name in _accounts(keeping):
                ledger.open_account(name, CURRENCY, keeping=keeping)


def _accounts(keeping: str) -> list[str]:
    return [f"direct:{n}" for n in range(DIRECT_ACCOUNTS)] if keeping == "direct" else [keeping]


def _beside_limit(run: Run, store: Store, numbers: tuple[int, ...]) -> None:
    for clients in numbers:
        limits: list[Load] = []

        def limit(clients: int = clients, limits: list[Load] = limits) -> Load:
            limits.append(_load(run, store, f"{store.name} limit", clients))
            return limits[-1]

        subjects: dict[str, Callable[[], Load]] = {
            keeping: partial(_load, run, store, "post", clients, _accounts(keeping)) for keeping in KEEPINGS
        }
        subjects["floor"] = partial(_load, run, store, f"{store.name} floor", clients)
        for name, subject in subjects.items():
            values = asdict(alternate(limit, subject, rounds=run.scale.rounds))
            more = values.pop("more")
            run.note(f"stores.{store.name}.{name}.{clients}", **values, **more)
        _batched(run, store, limit, clients)
        more = {name: median(load.more[name] for load in limits) for name in limits[0].more}
        run.note(f"stores.{store.name}.limit.{clients}", per_s=median(load.per_s for load in limits), **more)


def _batched(run: Run, store: Store, limit: Callable[[], Load], clients: int) -> None:
    """The batcher, one process, beside the limit of the most clients: what posts that stand alone should go through."""
    if clients != BATCHED_BESIDE[store.name]:
        return
    for keeping in KEEPINGS:
        order = {
            "url": store.url, "ledger": LEDGER, "way": "batcher", "callers": CALLERS, "seconds": run.scale.subject_s,
            "account": _accounts(keeping)[0], "currency": CURRENCY,
        }  # fmt: skip

        def subject(order: dict[str, Any] = order) -> Load:
            posted = _posted(store)
            done = in_process("bench.client", order | {"seed": run.next_seed()})
            _check_posted(store, posted, done["posts"])
            more = {"client_cpu_us": done["client_cpu_us"], "mean_batch": done["mean_batch"]}
            return Load(per_s=done["per_s"], p50_ms=done["p50_ms"], p99_ms=done["p99_ms"], more=more)

        values = asdict(alternate(limit, subject, rounds=run.scale.rounds))
        more = values.pop("more")
        run.note(f"stores.{store.name}.{keeping}.batcher.{CALLERS}", limit_clients=clients, **values, **more)


def _beside_naive(run: Run, store: Store) -> None:
    compared = alternate(
        lambda: _load(run, store, f"{store.name} naive", ONE_ROW_CLIENTS),
        lambda: _load(run, store, "post", ONE_ROW_CLIENTS, _accounts("hot")),
        rounds=run.scale.rounds,
    )
    run.note(
        f"stores.{store.name}.hot_over_naive_one_row.{ONE_ROW_CLIENTS}",
        times=compared.ratio,
        ratios=compared.ratios,
        per_s=compared.per_s,
        naive_per_s=compared.limit_per_s,
        p99_ms=compared.p99_ms,
        naive_p99_ms=compared.limit_p99_ms,
    )


def _load(run: Run, store: Store, what: str, clients: int, accounts: list[str] | None = None) -> Load:
    posts = what == "post"
    posted = _posted(store) if posts else 0
    before = store.spent()
    done = in_process(
        "bench.store_client",
        {
            "what": what, "url": store.url if posts else store.bare_url, "ledger": LEDGER, "accounts": accounts or [],
            "currency": CURRENCY, "clients": clients, "seconds": run.scale.subject_s if posts else run.scale.limit_s,
            "seed": run.next_seed(),
        },
    )  # fmt: skip
    after = store.spent()
    if posts:
        _check_posted(store, posted, done["count"])
    spent = {name: (after[name] - before[name]) / (done["count"] + done["warmed"]) for name in before}
    more = {"client_cpu_us": done["client_cpu_us"], **spent}
    return Load(per_s=done["per_s"], p50_ms=done["p50_ms"], p99_ms=done["p99_ms"], more=more)


def _check_posted(store: Store, before: int, counted: int) -> None:
    there = _posted(store) - before
    if there < counted:
        raise RuntimeError(f"{store.name}: {counted} posts counted, but only {there} transfers are there")


def _posted(store: Store) -> int:
    if store.name == "sqlite":
        connection: Any = sqlite_connection(store.url)
        ((count,),) = connection.execute(f"SELECT count(*) FROM {LEDGER}_transfer").fetchall()
    else:
        connection = mariadb_connection(store.url, autocommit=True)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {LEDGER}.transfer_key")
            ((count,),) = cursor.fetchall()
    connection.close()
    return int(count)


def _spent_by(connection: Any, pid: int) -> Mapping[str, float]:
    names = {"Questions": "statements", "Bytes_received": "bytes_in", "Bytes_sent": "bytes_out"}
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS WHERE Variable_name IN %s", (tuple(names),))
        spent = {names[name]: float(value) for name, value in cursor.fetchall()}
    ticks = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
    return spent | {"server_cpu_us": sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") * 1_000_000}
