"""A Django project's own tests, run as its developers run them: by Django, on each store, in both kinds of time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.django.running import PROJECT, databases, manage

EVERYWHERE = ("books.cases_atomic", "books.cases_admin", "books.cases_project")
CASES = {
    "postgres": (*EVERYWHERE, "books.cases_server"),
    "mariadb": EVERYWHERE,
    "sqlite": (*EVERYWHERE, "books.cases_file"),
}
TESTS_MIN = 55


@pytest.mark.parametrize("store", ["postgres", "mariadb", "sqlite"])
@pytest.mark.parametrize("use_tz", ["1", "0"], ids=["aware", "naive"])
def test_the_projects_tests(
    store: str, use_tz: str, request: pytest.FixtureRequest, tmp_path: Path, worker: str
) -> None:
    """transaction.atomic, settings, migrations, the admin, views and threads: every test of the project passes."""
    fixture = {"postgres": "server_url", "mariadb": "mariadb_url"}.get(store)
    url = f"sqlite:///{tmp_path}" if fixture is None else str(request.getfixturevalue(fixture))
    environment = {
        "PROJECT_DATABASES": databases(url, tmp_path, f"project_{worker}_{use_tz}"),
        "PROJECT_USE_TZ": use_tz,
    }
    done = manage(
        "test", "--noinput", *CASES[store],
        folder=PROJECT, environment=environment, settings="settings",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = re.search(r"Ran (\d+) tests", done.stderr)
    assert found is not None
    assert int(found[1]) >= TESTS_MIN, done.stderr
    assert "skipped" not in done.stderr
