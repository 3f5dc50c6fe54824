"""
A parser seen from its parent: started when there is a file to read, given orders, heard, and buried when it dies.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, Final

from lastro.imports.limits import PARSER_MEMORY_BYTES_MAX, PARSER_S_MAX
from lastro.imports.reports import FileReport, failed, report_of

PARSER: Final = "lastro.imports.parser"
# Of what a parser said before it died, the end.
LAST_WORDS_BYTES: Final = 2_000


class ParserProcess:
    """
    One parser at a time: the process that reads, or the next one where the last has died.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._last_words: IO[bytes] | None = None
        self._stopped = False

    def read(self, order: dict[str, Any], on_rows: Callable[[int, float], None]) -> FileReport:
        """Have a file read; its report says so where the parser died of it, or took too long."""
        name = order["name"]
        process = self._running()
        if process is None:
            return failed(name, "was left out: the import was stopped")
        overdue = threading.Event()
        timer = threading.Timer(PARSER_S_MAX, _end, (process, overdue))
        timer.start()
        try:
            report = _answer(process, order, on_rows)
        except BaseException:
            self.stop()
            raise
        finally:
            timer.cancel()
        if report is None:
            process.kill()
            process.wait()
            report = failed(name, self._why_ended(process.returncode, late=overdue.is_set()))
            self._forget()
        return report

    def stop(self) -> None:
        """End the parser, whatever it does, and start no other."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """Let the parser go: there are no more orders."""
        process = self._process
        if process is not None:
            _shut(process.stdin)
            process.wait()
            self._forget()

    def _running(self) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._stopped or self._process is not None:
                return None if self._stopped else self._process
            self._last_words = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the process)
            self._process = subprocess.Popen(
                # Not from the working directory, where somebody's downloads may lie.
                [sys.executable, "-P", "-m", PARSER, str(PARSER_MEMORY_BYTES_MAX)],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._last_words,
                text=True,
                encoding="utf-8",
            )
            return self._process

    def _forget(self) -> None:
        with self._lock:
            if self._process is not None:
                _shut(self._process.stdin)
                _shut(self._process.stdout)
            if self._last_words is not None:
                self._last_words.close()
            self._process = self._last_words = None

    def _why_ended(self, code: int, *, late: bool) -> str:
        if late:
            return f"took its parser more than {PARSER_S_MAX} s"
        if code < 0:
            memory = PARSER_MEMORY_BYTES_MAX // 2**20
            return f"ended its parser by {signal.Signals(-code).name}, as happens beyond {memory} MiB of memory"
        assert self._last_words is not None, "made with the process"
        self._last_words.seek(0, os.SEEK_END)
        self._last_words.seek(max(0, self._last_words.tell() - LAST_WORDS_BYTES))
        lines = self._last_words.read().decode("utf-8", "replace").strip().splitlines()
        return f"ended its parser with code {code}" + (f": {lines[-1]}" if lines else "")


def _answer(
    process: subprocess.Popen[str], order: dict[str, Any], on_rows: Callable[[int, float], None]
) -> FileReport | None:
    """Give the order and listen until the report comes; None where the parser ended without one."""
    assert process.stdin is not None, "made with a pipe"
    assert process.stdout is not None, "made with a pipe"
    try:
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return None
    for line in process.stdout:
        try:
            said = json.loads(line)
        except ValueError:
            # Cut off in the middle: it died while it spoke.
            continue
        if "report" in said:
            return report_of(said["report"])
        on_rows(said["rows"], said["share"])
    # It has closed its end; the exit code comes a moment later.
    process.wait()
    return None


def _shut(pipe: IO[str] | None) -> None:
    # What is left in it can't be told to somebody who is dead.
    with suppress(BrokenPipeError):
        if pipe is not None:
            pipe.close()


def _end(process: subprocess.Popen[str], overdue: threading.Event) -> None:
    overdue.set()
    process.kill()
