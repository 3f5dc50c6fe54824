"""Running a Django project's manage.py in a process of its own, on a database of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.django_connections import database

TIMEOUT_S = 170
PROJECT = Path(__file__).parent / "project"


def manage(
    *arguments: str, folder: Path, environment: dict[str, str], settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of Django's with warnings as errors, and return it when it is done."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "django", *arguments, "--settings", settings],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)} | environment,
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip


def databases(url: str, folder: Path, name: str) -> str:
    """DATABASES of the test project as JSON: `default` and `other`, each with a test database of its own."""
    return json.dumps({alias: _entry(url, folder, f"{name}_{alias}") for alias in ("default", "other")})


def _entry(url: str, folder: Path, name: str) -> dict[str, Any]:
    if url.startswith("sqlite:"):
        # In a file, as in production: one in memory has neither rivals nor threads.
        file = str(folder / f"{name}.sqlite3")
        options = {"init_command": "PRAGMA journal_mode=WAL"}
        return database(f"sqlite:///{file}", TEST={"NAME": f"{file}.test"}, OPTIONS=options)
    # MariaDB has a NAME of the settings beside that of the tests, and needs neither to be there.
    entry = database(url, TEST={"NAME": name})
    return entry | ({"NAME": "books"} if url.startswith("mariadb") else {})
