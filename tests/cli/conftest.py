"""Commands in this process, and commands as processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from lastro.cli.app import app

# The script that the package installs, beside the interpreter that runs the tests.
SCRIPT = Path(sys.executable).with_name("lastro")
WAIT_S = 60


class Answer(NamedTuple):
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Read what it said for machines."""
        return json.loads(self.out)

    def error(self) -> Any:
        """Read the error it told machines; nothing may stand on stdout then."""
        assert self.out == ""
        return json.loads(self.err)["error"]


Run = Callable[..., Answer]


@pytest.fixture
def environment(server_url: str, ledger_name: str) -> dict[str, str]:
    """The variables that point the commands to this test's ledger."""
    return {"LASTRO_DATABASE_URL": server_url, "LASTRO_LEDGER": ledger_name}


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    """Run a command in this process: `run("balance", "platform", "BRL")`."""

    def run(*arguments: str, env: dict[str, str | None] | None = None) -> Answer:
        done = CliRunner().invoke(app, list(arguments), env={**environment, **(env or {})})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Answer(done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def script(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the installed `lastro` as a process; it is killed after the test if it still runs."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(SCRIPT), *arguments],
            env={**os.environ, **environment, **(env or {})},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=WAIT_S)
