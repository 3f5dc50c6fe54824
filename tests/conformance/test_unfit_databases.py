"""A database that isn't fit: no ledger, an older or newer one, no server, no way in, no writing."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

import lastro
from lastro import Ledger
from tests.conformance.conftest import Raw

# A migration that this code doesn't know yet.
LATER = 9_000
WANTED: dict[str, Any] = {
    "key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 5, "currency": "BRL",
}  # fmt: skip


def every_call(book: Ledger) -> list[Callable[[], Any]]:
    """Each method of a ledger that needs its tables."""
    return [
        lambda: book.open_account("a", "BRL"),
        lambda: book.account("a", "BRL"),
        book.accounts,
        lambda: book.post(**WANTED),
        lambda: book.post_many([WANTED]),
        lambda: book.post_many([WANTED], partial=True),
        lambda: book.reverse("k", "u"),
        lambda: book.transfer("k"),
        lambda: book.balance("a", "BRL"),
        lambda: book.balance("a", "BRL", at=datetime.now(UTC)),
        lambda: book.entries("a", "BRL"),
        lambda: book.bump("c"),
        lambda: book.count("c"),
        lambda: book.keep("a", "BRL", "hot"),
        lambda: book.close_account("a", "BRL"),
        book.consolidate,
        book.partitions,
        book.keep_partitions,
        lambda: book.retire_partition("transfer_p1"),
    ]


def test_a_ledger_that_is_missing(reopen: Callable[..., Ledger]) -> None:
    """Each call on a database without the ledger says that it isn't there and how to make it."""
    book = reopen(name="nothing_here")
    for call in every_call(book):
        with pytest.raises(lastro.SchemaOutdated, match="lastro migrate"):
            call()


@pytest.mark.stores("postgres")
def test_a_missing_ledger_leaves_the_transaction_usable(server_url: str, raw: Raw) -> None:
    """Inside the caller's transaction a missing ledger is a refusal as well: the caller's work is committed."""
    raw("CREATE TABLE {s}.orders (id integer)")
    with lastro.connect(server_url, ledger="nothing_here") as book, psycopg.connect(server_url) as connection:
        connection.execute(f"INSERT INTO {raw.schema}.orders VALUES (1)".encode())
        with pytest.raises(lastro.SchemaOutdated, match="lastro migrate"):
            book.within(connection).post(**WANTED)
        connection.commit()
    assert raw("SELECT id FROM {s}.orders") == [(1,)]


def test_a_ledger_that_is_older(reopen: Callable[..., Ledger], raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that needs a later migration refuses the ledger with both numbers and what to do."""
    monkeypatch.setattr("lastro.ledger.running.latest", lambda *_: LATER)
    monkeypatch.setattr("lastro.ledger.running_async.latest", lambda *_: LATER)
    before = raw.written()
    book = reopen()
    newest = max(number for number, *_ in raw("SELECT * FROM {s}.migration"))
    for call in every_call(book):
        with pytest.raises(
            lastro.SchemaOutdated, match=f"is at version {newest} and this code needs {LATER}: run `lastro mig"
        ) as old:
            call()
        assert (old.value.found, old.value.expected) == (newest, LATER)
    assert raw.written() == before


def test_a_newer_ledger_that_serves_this_code(reopen: Callable[..., Ledger], raw: Raw) -> None:
    """A ledger migrated by a later release works as long as that release says that this code is still served."""
    raw(f"INSERT INTO {{s}}.migration SELECT {LATER}, 'later', 1, 'c', min(applied_at) FROM {{s}}.migration")
    book = reopen()
    book.open_account("a", "BRL")
    assert not book.post(**WANTED).replayed
    assert book.migrate() == []


def test_a_newer_ledger_that_does_not(reopen: Callable[..., Ledger], raw: Raw) -> None:
    """A ledger that this code is too old for is refused with what to do; nothing is written."""
    raw(f"INSERT INTO {{s}}.migration SELECT {LATER}, 'later', {LATER}, 'c', min(applied_at) FROM {{s}}.migration")
    before = raw.written()
    book = reopen()
    for call in every_call(book):
        with pytest.raises(
            lastro.SchemaOutdated, match=rf"serves code from version {LATER} on.*install a newer lastro"
        ):
            call()
    assert raw.written() == before


@pytest.mark.stores("postgres")
def test_a_database_that_refuses_connections(reopen: Callable[..., Ledger]) -> None:
    """Nobody listens: ConnectionLost at once, nothing stored, and no password in any text of the error."""
    with socket.socket() as taken:
        # Bound and not listening: nobody else can come and answer on this port meanwhile.
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        book = reopen(url=f"postgresql://someone:s3cret-word@127.0.0.1:{port}/lastro")
        for call in (book.migrate, lambda: book.post(**WANTED), lambda: book.balance("a", "BRL")):
            with pytest.raises(lastro.ConnectionLost, match="can't be reached; nothing was stored") as caught:
                call()
            assert caught.value.committed == "no"
            assert_keeps_silent(caught.value, "s3cret-word")


@pytest.mark.stores("postgres")
def test_a_wrong_password(reopen: Callable[..., Ledger], server_url: str, raw: Raw) -> None:
    """A login that the server refuses is a typed error with the server's reason; no password in it, right or wrong."""
    role = f"guest_{raw.schema}"
    raw(f"CREATE ROLE {role} LOGIN PASSWORD 'right-one'")
    try:
        with psycopg.connect(server_url) as connection:
            port, database = connection.info.port, connection.info.dbname
        wrong = quote("wr@ng/s3cret", safe="")
        book = reopen(url=f"postgresql://{role}:{wrong}@127.0.0.1:{port}/{database}")
        with pytest.raises(lastro.LastroError) as caught:
            book.post(**WANTED)
        assert type(caught.value) is not lastro.LastroError
        for secret in ("wr@ng", wrong, "s3cret", "right-one"):
            assert_keeps_silent(caught.value, secret)
    finally:
        raw(f"DROP ROLE {role}")


@pytest.mark.stores("postgres")
def test_a_database_that_is_not_there(reopen: Callable[..., Ledger], server_url: str) -> None:
    """A database of that name doesn't exist: a typed error that names it."""
    book = reopen(url=server_url.replace("/lastro", "/no_such_database", 1))
    with pytest.raises(lastro.LastroError, match="no_such_database") as caught:
        book.post(**WANTED)
    assert type(caught.value) is not lastro.LastroError


@pytest.mark.stores("postgres")
def test_a_server_that_takes_no_writes(reopen: Callable[..., Ledger], ledger_name: str, store_url: str) -> None:
    """On a read-only server reads work; each write is a fault that points to the primary, with nothing stored."""
    reopen().open_account("a", "BRL")
    separator = "&" if "?" in store_url else "?"
    book = reopen(url=f"{store_url}{separator}options=-c%20default_transaction_read_only%3Don", name=ledger_name)
    assert book.balance("a", "BRL").posted == 0
    assert book.transfer("k") is None
    for call in (
        lambda: book.post(**WANTED),
        lambda: book.post_many([WANTED]),
        lambda: book.open_account("b", "BRL"),
        lambda: book.bump("c"),
    ):
        with pytest.raises(lastro.ServerUnavailable, match="takes no writes") as caught:
            call()
        assert caught.value.committed == "no"
    assert reopen().transfer("k") is None


@pytest.mark.stores("postgres")
def test_a_role_without_rights(reopen: Callable[..., Ledger], server_url: str, raw: Raw) -> None:
    """A role that may not write is refused by a typed error; what it may read it reads."""
    role = f"reader_{raw.schema}"
    reopen().open_account("a", "BRL")
    raw(f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA {{s}} TO {role}")
    raw(f"GRANT SELECT ON ALL TABLES IN SCHEMA {{s}} TO {role}")
    try:
        with psycopg.connect(server_url) as connection:
            port, database = connection.info.port, connection.info.dbname
        book = reopen(url=f"postgresql://{role}:x@127.0.0.1:{port}/{database}")
        assert book.balance("a", "BRL").posted == 0
        with pytest.raises(lastro.Refusal, match="lacks a right"):
            book.post(**WANTED)
        book.close()
    finally:
        raw(f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "begins with its scheme"),
        ("lastro", "begins with its scheme"),
        ("nosuch://u:s3cret@h/d", "postgresql:// and embedded://"),
        ("oracle+cx_oracle://u:s3cret@h/d", "driver"),
        ("u:s3cret@h/d", "begins with its scheme"),
    ],
)
def test_a_url_that_cannot_be_served(reopen: Callable[..., Ledger], url: str, words: str) -> None:
    """A URL of another database, or none, is refused when connecting, without its password."""
    with pytest.raises(lastro.InvalidInput, match=words) as caught:
        reopen(url=url)
    if "://" in url:
        assert_keeps_silent(caught.value, "s3cret")


def test_a_url_that_is_no_text(reopen: Callable[..., Ledger]) -> None:
    """None (an environment variable that isn't set) is refused in words."""
    with pytest.raises(lastro.InvalidInput, match="URL"):
        reopen(url=None)


def assert_keeps_silent(error: BaseException | None, secret: str) -> None:
    """Neither the error nor what caused it says the secret."""
    seen = 0
    while error is not None:
        assert secret not in str(error)
        assert secret not in repr(error)
        error = error.__cause__ or error.__context__
        seen += 1
    assert seen
