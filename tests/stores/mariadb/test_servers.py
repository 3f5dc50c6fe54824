"""Servers that aren't fit, ways in that are shut, and rights that are missing: each a typed error that says what to do."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

import lastro
from lastro import Ledger
from lastro.schema.migrations import migrations
from tests.stores.mariadb.conftest import Connect, rows_of
from tests.support.money import CURRENCY, fund, posted, transfer
from tests.support.sessions import Background

WANTED = transfer("k", "world", "a", 5)


@pytest.fixture
def setting(connect: Connect) -> Iterator[Callable[[str, Any], None]]:
    """Change a setting of the whole server until the test is over."""
    admin = connect(autocommit=True)
    before: dict[str, Any] = {}

    def change(name: str, value: Any) -> None:
        ((before[name],),) = rows_of(admin, f"SELECT @@global.{name}")
        rows_of(admin, f"SET GLOBAL {name} = %s", value)

    yield change
    for name, value in before.items():
        rows_of(admin, f"SET GLOBAL {name} = %s", value)


@pytest.fixture
def role(connect: Connect, name: str, mariadb_url: str) -> Iterator[Callable[..., str]]:
    """Make a login with some rights and return the URL with which it comes in."""
    admin = connect(autocommit=True)
    login = f"guest_{name}"[:60]

    def make(*rights: str, password: str = "x") -> str:
        rows_of(admin, f"CREATE USER {login}@'%%' IDENTIFIED BY 'x'")
        for right in rights:
            rows_of(admin, f"GRANT {right} TO {login}@'%%'".replace("{name}", name))
        return mariadb_url.replace(
            urlsplit(mariadb_url).netloc.rpartition("@")[0], f"{login}:{quote(password, safe='')}", 1
        )

    yield make
    rows_of(admin, f"DROP USER IF EXISTS {login}@'%%'")


@pytest.mark.req("1.4")
@pytest.mark.parametrize(
    ("name_of", "value", "words"),
    [
        ("sql_mode", "NO_ENGINE_SUBSTITUTION", "add STRICT_TRANS_TABLES"),
        ("default_storage_engine", "Aria", "set it to InnoDB"),
    ],
)
def test_an_unfit_server_is_refused(
    mariadb_url: str, setting: Callable[[str, Any], None], name_of: str, value: str, words: str
) -> None:
    """Where callers' values would be cut to size, or their tables survive a rollback, no ledger is made."""
    setting(name_of, value)
    with (
        lastro.connect(mariadb_url, ledger="never_made") as book,
        pytest.raises(lastro.InvalidInput, match=f"isn't fit.*{words}"),
    ):
        book.migrate()


async def test_mysql_and_mariadb_are_one_scheme(mariadb_url: str, name: str, ledger: Ledger) -> None:
    """A URL may begin with mysql:// or mariadb://, blocking and awaited: the same engine, the same ledger."""
    fund(ledger, "a", 10)
    url = mariadb_url.replace("mariadb://", "mysql://", 1)
    with lastro.connect(url, ledger=name) as book:
        assert posted(book, "a") == 10
        assert type(book._engine) is type(ledger._engine)
    async with await lastro.connect_async(url, ledger=name) as awaited:
        assert (await awaited.balance("a", CURRENCY)).posted == 10


def test_every_table_rolls_back(name: str, connect: Connect) -> None:
    """All tables of a ledger are InnoDB's."""
    engines = rows_of(
        connect(),
        f"SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = '{name}' AND table_type = 'BASE TABLE'",
    )
    assert engines == [("InnoDB",)]


def test_a_migration_that_broke_off_is_run_again(mariadb_url: str, name: str, ledger: Ledger, connect: Connect) -> None:
    """DDL commits by itself, so a migration may end halfway: the next one finishes it, and harms nothing."""
    fund(ledger, "a", 10)
    rows_of(admin := connect(autocommit=True), f"DELETE FROM {name}.migration")
    for gone in ("VIEW {}.entry", "TRIGGER {}.transfer_not_updated", "TABLE {}.counter"):
        rows_of(admin, f"DROP {gone.format(name)}")
    with lastro.connect(mariadb_url, ledger=name) as book:
        assert book.migrate() == [f"{one.number:04}_{one.name}" for one in migrations("mysql", name)]
        book.bump("c")
    assert ledger.balance("a", CURRENCY).posted == 10


@pytest.mark.case("C091")
def test_a_migration_gives_way_to_traffic(
    mariadb_url: str, name: str, ledger: Ledger, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle transaction that has read the tables doesn't stop the writers behind a migration that waits for it."""
    monkeypatch.setattr("lastro.schema.migrate.LOCK_TIMEOUT_MS", 1_000)
    monkeypatch.setattr("lastro.schema.migrate.MIGRATION_TRIES_MAX", 2)
    fund(ledger, "a", 0, "hot")
    admin, idle = connect(autocommit=True), connect()
    rows_of(idle, f"SELECT count(*) FROM {name}.transfer")
    rows_of(admin, f"DELETE FROM {name}.migration")
    with lastro.connect(mariadb_url, ledger=name) as other:
        going = Background(other.migrate)
        number = 0
        while not going.done:
            number += 1
            ledger.post(**transfer(f"{number}", "world", "a", 1))
        with pytest.raises(lastro.LockTimeout):
            going.result()
        assert posted(ledger, "a") == number > 0
        idle.rollback()
        assert other.migrate()[0] == "0001_core"


def test_history_refuses_changes(ledger: Ledger, name: str, connect: Connect) -> None:
    """UPDATE and DELETE of what is history are refused by the database, whoever asks."""
    fund(ledger, "a", 10)
    ledger.reverse("fund:a:0", "undo")
    caller = connect()
    for statement in (
        "UPDATE {}.transfer SET amount = 1", "DELETE FROM {}.transfer",
        "UPDATE {}.transfer_key SET debit_id = 7", "DELETE FROM {}.transfer_key",
        "UPDATE {}.reversal SET amount = 1", "DELETE FROM {}.reversal",
        "DELETE FROM {}.account", "DELETE FROM {}.base",
    ):  # fmt: skip
        with pytest.raises(Exception, match="refused"):
            rows_of(caller, statement.format(name))
    caller.rollback()


def test_nobody_listens(name: str) -> None:
    """ConnectionLost at once, nothing stored, and no password in any text of the error; by port and by socket."""
    with socket.socket() as taken:
        # Bound and not listening: nobody else can come and answer on this port meanwhile.
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for url in (
            f"mariadb://someone:s3cret-word@127.0.0.1:{port}/",
            "mysql://someone:s3cret-word@localhost/?unix_socket=/nowhere/at/all",
        ):
            with lastro.connect(url, ledger=name) as book:
                for call in (book.migrate, lambda: book.post(**WANTED), lambda: book.balance("a", CURRENCY)):
                    with pytest.raises(lastro.ConnectionLost, match="can't be reached; nothing was stored") as caught:
                        call()
                    assert caught.value.committed == "no"
                    assert "s3cret-word" not in f"{caught.value} {caught.value.__cause__}"


async def test_nobody_listens_awaiting(name: str) -> None:
    """The same from asyncio."""
    url = "mariadb://someone:s3cret-word@localhost/?unix_socket=/nowhere/at/all"
    async with await lastro.connect_async(url, ledger=name) as book:
        with pytest.raises(lastro.ConnectionLost, match="can't be reached; nothing was stored"):
            await book.post(**WANTED)


def test_a_wrong_password(name: str, role: Callable[..., str]) -> None:
    """A login that the server refuses is a typed error with the server's reason; no password in it."""
    with lastro.connect(role(password="wr@ng/s3cret"), ledger=name) as book:
        with pytest.raises(lastro.Refusal, match="refused the login") as caught:
            book.post(**WANTED)
        assert "s3cret" not in f"{caught.value} {caught.value.__cause__}"


def test_a_database_that_is_not_there(name: str, mariadb_url: str) -> None:
    """A database of that name doesn't exist: a typed error that names it."""
    url = (
        mariadb_url.replace("/?", "/no_such_database?", 1) if "/?" in mariadb_url else f"{mariadb_url}/no_such_database"
    )
    with lastro.connect(url, ledger=name) as book, pytest.raises(lastro.Refusal, match="no_such_database"):
        book.post(**WANTED)


def test_a_server_that_takes_no_writes(
    ledger: Ledger, name: str, role: Callable[..., str], setting: Callable[[str, Any], None]
) -> None:
    """On a read-only server reads work; each write is a fault that points to the primary, with nothing stored."""
    fund(ledger, "a", 10)
    url = role("ALL ON {name}.*")
    setting("read_only", 1)
    with lastro.connect(url, ledger=name) as book:
        assert book.balance("a", CURRENCY).posted == 10
        for call in (lambda: book.post(**WANTED), lambda: book.open_account("b", CURRENCY), lambda: book.bump("c")):
            with pytest.raises(lastro.ServerUnavailable, match="takes no writes") as caught:
                call()
            assert caught.value.committed == "no"


def test_a_role_that_may_only_read(ledger: Ledger, name: str, role: Callable[..., str]) -> None:
    """What it may read it reads; a posting is refused by a typed error."""
    fund(ledger, "a", 10)
    with lastro.connect(role("SELECT ON {name}.*"), ledger=name) as book:
        assert book.balance("a", CURRENCY).posted == 10
        with pytest.raises(lastro.Refusal, match="lacks a right"):
            book.post(**WANTED)


def test_a_role_without_process_may_do_all_but_turn_accounts(
    ledger: Ledger, name: str, role: Callable[..., str]
) -> None:
    """Changing the keeping of an account that is hot needs PROCESS, to see whom to wait for; without it nothing changes."""
    fund(ledger, "a", 10, "hot")
    with lastro.connect(role("ALL ON {name}.*"), ledger=name) as book:
        assert book.migrate() == []
        assert not book.post(**WANTED).replayed
        assert book.consolidate().rows == 2
        with pytest.raises(lastro.Refusal, match="PROCESS"):
            book.keep("a", CURRENCY, "direct")
        book.post(**transfer("k2", "a", "world", 15))
    assert ledger.keep("a", CURRENCY, "direct").keeping == "direct"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mariadb://u:s3cret@h:port/d", "no number"),
        ("mysql://u:s3cret@h/d?charset=latin1", "the option 'charset'"),
        ("mariadb://u:s3cret@h/d?connect_timeout=soon", "no number"),
    ],
)
def test_a_url_that_means_nothing(url: str, words: str) -> None:
    """A port or an option that can't be meant is refused when connecting, without the password."""
    with pytest.raises(lastro.InvalidInput, match=words) as caught:
        lastro.connect(url)
    assert "s3cret" not in str(caught.value)
