"""
Many files read at once, each by a process of its own: one that dies takes its file with it and no other.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from lastro.errors import InvalidInput
from lastro.imports.archives import Source
from lastro.imports.files import NEEDED
from lastro.imports.formats import said_format
from lastro.imports.limits import PARSER_MEMORY_BYTES_MAX, PARSER_S_MAX, PARSERS_MAX
from lastro.imports.reports import FileReport, failed, report_of
from lastro.imports.spec_files import document_of
from lastro.imports.specs import SheetSpec, checked

PARSER: Final = "lastro.imports.parser"
# Of what a parser said before it died, the end.
LAST_WORDS_BYTES: Final = 2_000


class Progress(NamedTuple):
    """
    How far a file is: rows read so far, and the share of the whole, 1 when it is done.
    """

    file: str
    rows: int
    share: float


def parse(
    sources: Sequence[Source],
    specs: Sequence[SheetSpec],
    *,
    folder: Path,
    period: str | None = None,
    parsers: int = PARSERS_MAX,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> list[FileReport]:
    """
    Read the *sources* by the *specs*, up to *parsers* at once, and return a report for each, in their order.

    Rows are staged below *folder*, in a folder for each file: `0001`, `0002`, … The parsers write them there, ready for
    COPY, so that no row goes through this process. *on_progress* is called from several threads, one at a time.

    Raises `InvalidInput` where the package that reads a format isn't installed.
    """
    specs = checked(specs)
    _refuse_missing(sources)
    if not 0 < parsers <= PARSERS_MAX:
        raise InvalidInput(f"parsers must be 1 to {PARSERS_MAX}; got {parsers}", argument="parsers")
    telling = threading.Lock()

    def tell(progress: Progress) -> None:
        with telling:
            on_progress(progress)

    running = _Running()
    with ThreadPoolExecutor(parsers) as pool:
        futures = [
            pool.submit(running.parse, source, specs, folder / f"{number:04}", period, tell)
            for number, source in enumerate(sources, start=1)
        ]
        try:
            return [future.result() for future in futures]
        except BaseException:
            # Interrupted: no parser may outlive its import.
            for future in futures:
                future.cancel()
            running.stop()
            raise


class _Running:
    """The parsers that are at work, so that all of them can be stopped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def parse(
        self,
        source: Source,
        specs: tuple[SheetSpec, ...],
        folder: Path,
        period: str | None,
        tell: Callable[[Progress], None],
    ) -> FileReport:
        """Read one file in a process of its own."""
        if source.path is None:
            return failed(source.name, source.refused or "can't be read")
        folder.mkdir()
        order = {
            "name": source.name,
            "path": str(source.path),
            "folder": str(folder),
            "specs": document_of(specs),
            "period": period,
            "memory_bytes": PARSER_MEMORY_BYTES_MAX,
        }
        with tempfile.TemporaryFile() as last_words:
            process = self._started(last_words)
            if process is None:
                return failed(source.name, "was left out: the import was stopped")
            overdue = threading.Event()
            timer = threading.Timer(PARSER_S_MAX, _end, (process, overdue))
            timer.start()
            try:
                report = _heard(process, order, source.name, tell)
            finally:
                timer.cancel()
                process.kill()
                process.wait()
                self._forget(process)
            if report is None:
                report = failed(source.name, _why_ended(process.returncode, last_words, late=overdue.is_set()))
        tell(Progress(source.name, report.rows + report.rejected, 1.0))
        return report

    def stop(self) -> None:
        """End all parsers."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()

    def _started(self, last_words: IO[bytes]) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._stopped:
                return None
            process = subprocess.Popen(
                # Not from the working directory, where somebody's downloads may lie.
                [sys.executable, "-P", "-m", PARSER],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=last_words,
                text=True,
                encoding="utf-8",
            )
            self._processes.add(process)
            return process

    def _forget(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            self._processes.discard(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _heard(
    process: subprocess.Popen[str], order: Mapping[str, Any], name: str, tell: Callable[[Progress], None]
) -> FileReport | None:
    """Give the order and listen; None where the parser ended without a report."""
    assert process.stdin is not None, "made with a pipe"
    assert process.stdout is not None, "made with a pipe"
    try:
        json.dump(order, process.stdin)
        process.stdin.close()
    except BrokenPipeError:
        return None
    report = None
    for line in process.stdout:
        try:
            said = json.loads(line)
        except ValueError:
            # Cut off in the middle: it died while it spoke.
            continue
        if "report" in said:
            report = report_of(said["report"])
        else:
            tell(Progress(name, said["rows"], said["share"]))
    process.wait()
    return report if process.returncode == 0 else None


def _end(process: subprocess.Popen[str], overdue: threading.Event) -> None:
    overdue.set()
    process.kill()


def _why_ended(code: int, last_words: IO[bytes], *, late: bool) -> str:
    if late:
        return f"took its parser more than {PARSER_S_MAX} s"
    if code < 0:
        memory = PARSER_MEMORY_BYTES_MAX // 2**20
        return f"ended its parser by {signal.Signals(-code).name}, as happens beyond {memory} MiB of memory"
    last_words.seek(0, os.SEEK_END)
    last_words.seek(max(0, last_words.tell() - LAST_WORDS_BYTES))
    lines = last_words.read().decode("utf-8", "replace").strip().splitlines()
    return f"ended its parser with code {code}" + (f": {lines[-1]}" if lines else "")


def _refuse_missing(sources: Sequence[Source]) -> None:
    formats = {said_format(source.name) for source in sources if source.path is not None}
    missing = [package for kind, package in NEEDED.items() if kind in formats and find_spec(package) is None]
    if missing:
        raise InvalidInput(
            f'reading these files needs {" and ".join(missing)}: pip install "lastro[imports]"', argument="sources"
        )
