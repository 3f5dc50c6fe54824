"""The example project: made as the README says, it survives a rollback and a retry, on each store."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pymysql
import pytest
from psycopg import sql

import lastro
from tests.django.running import manage
from tests.house.checkout import ROOT
from tests.support.mariadb import arguments_of

EXAMPLE = ROOT / "examples" / "django"
DROP = "DROP DATABASE IF EXISTS {} WITH (FORCE)"
LINES_MAX = 240


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def environment(request: pytest.FixtureRequest, tmp_path: Path, worker: str) -> Iterator[dict[str, str]]:
    """What tells the example its database: an empty one of this test's own."""
    name = f"example_{worker}"
    if request.param == "sqlite":
        yield {"LASTRO_DATABASE_URL": "", "SHOP_FILE": str(tmp_path / "shop.sqlite3")}
        return
    if request.param == "mariadb":
        mariadb_url = str(request.getfixturevalue("mariadb_url"))
        with pymysql.connect(**arguments_of(mariadb_url)) as connection, connection.cursor() as cursor:
            for made in (name, f"{name}_books"):
                cursor.execute(f"DROP DATABASE IF EXISTS {made}")
            cursor.execute(f"CREATE DATABASE {name}")
            url = urlunsplit(urlsplit(mariadb_url)._replace(path=f"/{name}"))
            yield {"LASTRO_DATABASE_URL": url, "LASTRO_LEDGER": f"{name}_books"}
            for made in (name, f"{name}_books"):
                cursor.execute(f"DROP DATABASE IF EXISTS {made}")
        return
    server_url = str(request.getfixturevalue("server_url"))
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL(DROP).format(sql.Identifier(name)))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield {"LASTRO_DATABASE_URL": urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))}
        connection.execute(sql.SQL(DROP).format(sql.Identifier(name)))


@pytest.fixture
def said(environment: dict[str, str], tmp_path: Path) -> Callable[..., str]:
    """What a command of the example prints; it has to end well, without a word on stderr."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.sqlite3*"))

    def run(*command: str) -> str:
        done = manage(*command, folder=folder, environment=environment, settings="shop.settings")
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    return run


def test_it_survives_a_rollback_and_a_retry(said: Callable[..., str]) -> None:
    """An order and its money are stored once, whatever fails in between and however often it is tried."""
    assert "Bring the ledgers up to" in said("migrate", "--plan")
    assert "Applying lastro.0001_core... OK" in said("migrate")
    assert "No migrations to apply." in said("migrate")
    assert "no issues" in said("check")
    assert "No changes detected" in said("makemigrations", "--check", "--dry-run")
    assert said("checkout", "8812", "5990", "--fail") == (
        "rolled back: the printer is out of paper\norders 0, seller:42 0\n"
    )
    assert said("checkout", "8812", "5990") == "stored\norders 1, seller:42 5391\n"
    assert said("checkout", "8812", "5990") == "was stored before\norders 1, seller:42 5391\n"
    assert said("checkout", "8812", "5990", "--fail").endswith("orders 1, seller:42 5391\n")
    assert said("checkout", "8813", "12000") == "stored\norders 2, seller:42 16191\n"


def test_a_ledger_that_is_there_is_kept(said: Callable[..., str], environment: dict[str, str]) -> None:
    """Where the ledger was made before, by the library itself, `migrate` takes it as it is."""
    url = environment["LASTRO_DATABASE_URL"] or f"sqlite:///{environment['SHOP_FILE']}"
    with lastro.connect(url, ledger=environment.get("LASTRO_LEDGER", "lastro")) as ledger:
        ledger.migrate()
        ledger.open_account("seller:42", "BRL")
        ledger.post(key="before", kind="sale", debit="world", credit="seller:42", amount=7, currency="BRL")
    assert "Applying lastro.0001_core... OK" in said("migrate")
    assert said("checkout", "1", "100") == "stored\norders 1, seller:42 97\n"


def test_it_is_short() -> None:
    """All of it fits on a few screens."""
    lines = sum(path.read_text("utf-8").count("\n") for path in EXAMPLE.rglob("*.py"))
    assert lines < LINES_MAX
