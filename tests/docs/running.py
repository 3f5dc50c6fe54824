"""Running a document: its blocks one after the other, in one namespace and one shell environment, as a reader would."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from lastro import AsyncLedger, Ledger
from lastro.embedded.binaries import find_binaries
from tests.docs.blocks import Block

COMMAND_TIMEOUT_S = 60
# A block that ends with one of these is stopped, as a reader would with Ctrl-C, once it says that it is at work.
SERVING = ("lastro work", "lastro up")
AT_WORK = "at work:"
ENVIRONMENT = "environment"
PSQL_OPTIONS = "-c search_path=lastro,public -c client_min_messages=warning"


class Reader:
    """
    Types a document's blocks into a shell, a Python prompt and psql, and hears what they print.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch = folder, patch
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._runner = asyncio.Runner()

    def run(self, block: Block) -> str:
        """Run a block and return what it printed."""
        return {"python": self._python, "sh": self._shell, "sql": self._sql}[block.language](block)

    def close(self) -> None:
        """Close what the document left open at its end."""
        for value in self._names.values():
            if isinstance(value, Ledger):
                value.close()
            elif isinstance(value, AsyncLedger):
                self._runner.run(value.close())
        self._runner.close()

    def _python(self, block: Block) -> str:
        # Empty lines before it make a traceback name the document's own line.
        source = "\n" * (block.line - 1) + block.body
        code: CodeType = compile(source, block.place, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if code.co_flags & inspect.CO_COROUTINE:
                self._runner.run(self._awaited(code))
            else:
                exec(code, self._names)
        return printed.getvalue()

    async def _awaited(self, code: CodeType) -> None:
        await eval(code, self._names)

    def _shell(self, block: Block) -> str:
        lines = block.body.rstrip().splitlines()
        serving = lines[-1].startswith(SERVING)
        script = "\n".join(lines[:-1] if serving else lines)
        kept = self._folder / ENVIRONMENT
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", f"{script}\nenv -0 > '{kept}'"],
            cwd=self._folder, env=_environment(), capture_output=True, text=True, check=False, timeout=COMMAND_TIMEOUT_S,
        )  # fmt: skip
        assert done.returncode == 0, f"{block.place}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        self._remember(kept)
        if serving:
            self._serve(lines[-1], block)
        return done.stdout

    def _remember(self, kept: Path) -> None:
        # What the reader exports is there for the blocks that follow, and for no other test.
        for line in kept.read_text("utf-8").split("\0"):
            name, _, value = line.partition("=")
            if name.startswith("LASTRO_"):
                self._patch.setenv(name, value)

    def _serve(self, command: str, block: Block) -> None:
        process = subprocess.Popen(
            ["/bin/bash", "-c", f"exec {command}"],
            cwd=self._folder, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        impatient = threading.Timer(COMMAND_TIMEOUT_S, process.kill)
        impatient.start()
        assert process.stderr is not None
        with process:
            said = []
            for line in process.stderr:
                said.append(line)
                if AT_WORK in line:
                    process.send_signal(signal.SIGTERM)
        impatient.cancel()
        assert process.returncode == 0, f"{block.place}: exit {process.returncode}\n{''.join(said)}"
        assert any(AT_WORK in line for line in said), f"{block.place}: it never said that it is at work"

    def _sql(self, block: Block) -> str:
        psql = find_binaries().path("psql")
        done = subprocess.run(
            [str(psql), "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", "-", os.environ["LASTRO_DATABASE_URL"]],
            input=block.body, cwd=self._folder, env=_environment() | {"PGOPTIONS": PSQL_OPTIONS},
            capture_output=True, text=True, check=False, timeout=COMMAND_TIMEOUT_S,
        )  # fmt: skip
        # An error that a document shows is part of what it prints.
        errors = "".join(_plain(done.stderr))
        assert done.returncode == 0 or block.output is not None, f"{block.place}:\n{done.stderr}"
        return done.stdout + errors


def _environment() -> dict[str, str]:
    path = os.pathsep.join(
        [str(Path(sys.executable).parent), str(find_binaries().path("psql").parent), os.environ["PATH"]]
    )
    return dict(os.environ) | {"PATH": path, "COLUMNS": "120"}


def _plain(stderr: str) -> Iterator[str]:
    """What psql says of errors, without the line of its input and the server's context."""
    for line in stderr.splitlines(keepends=True):
        _, found, rest = line.partition("ERROR:")
        if found:
            yield f"{found}{rest}"
        elif line.startswith("HINT:"):
            yield line
