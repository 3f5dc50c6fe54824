"""The example project: made as the README says, it survives a rollback and a retry, on each store."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from tests.django.running import manage
from tests.house.checkout import ROOT

EXAMPLE = ROOT / "examples" / "django"
DROP = "DROP DATABASE IF EXISTS {} WITH (FORCE)"
LINES_MAX = 220


@pytest.fixture(params=["sqlite", "postgres"])
def environment(request: pytest.FixtureRequest, tmp_path: Path, worker: str) -> Iterator[dict[str, str]]:
    """What tells the example its database: an empty one of this test's own."""
    if request.param == "sqlite":
        yield {"LASTRO_DATABASE_URL": "", "SHOP_FILE": str(tmp_path / "shop.sqlite3")}
        return
    server_url = str(request.getfixturevalue("server_url"))
    name = f"example_{worker}"
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


def test_it_is_short() -> None:
    """All of it fits on a few screens."""
    lines = sum(path.read_text("utf-8").count("\n") for path in EXAMPLE.rglob("*.py"))
    assert lines < LINES_MAX
