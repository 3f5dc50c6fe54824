"""
Many files read at once by processes of their own: one that dies takes the file that it was reading, and no other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from lastro.errors import InvalidInput
from lastro.imports.archives import Source
from lastro.imports.files import NEEDED
from lastro.imports.formats import said_format
from lastro.imports.limits import PARSERS_MAX
from lastro.imports.parser_process import ParserProcess
from lastro.imports.reports import FileReport, failed
from lastro.imports.spec_files import document_of
from lastro.imports.specs import SheetSpec, checked


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
    order = {"specs": document_of(specs), "period": period}
    work = _Work(sources, order, folder, on_progress)
    with ThreadPoolExecutor(parsers) as pool:
        readers = [pool.submit(work.read_files) for _ in range(min(parsers, len(sources)))]
        try:
            # The first that fails is heard at once, whoever is still reading.
            for reader in wait(readers, return_when=FIRST_EXCEPTION).done:
                reader.result()
        except BaseException:
            # Interrupted: no parser may outlive its import.
            work.stop()
            raise
    return [work.reports[number] for number in range(len(sources))]


class _Work:
    """The files of one import: whoever is free takes the next one."""

    def __init__(
        self,
        sources: Sequence[Source],
        order: dict[str, Any],
        folder: Path,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self.reports: dict[int, FileReport] = {}
        self._sources = sources
        self._order = order
        self._folder = folder
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._telling = threading.Lock()
        self._next = 0
        self._stopped = False
        self._processes: list[ParserProcess] = []

    def read_files(self) -> None:
        """Read one file after another with one process, or with a new one where that died."""
        process = ParserProcess()
        with self._lock:
            self._processes.append(process)
        try:
            while (number := self._taken()) is not None:
                self.reports[number] = self._read(process, number)
        finally:
            process.close()

    def stop(self) -> None:
        """Let nobody take another file, and end the parsers."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.stop()

    def _taken(self) -> int | None:
        with self._lock:
            if self._stopped or self._next == len(self._sources):
                return None
            self._next += 1
            return self._next - 1

    def _read(self, process: ParserProcess, number: int) -> FileReport:
        source = self._sources[number]
        if source.path is None:
            return failed(source.name, source.refused or "can't be read")
        staged = self._folder / f"{number + 1:04}"
        staged.mkdir()
        order = {**self._order, "name": source.name, "path": str(source.path), "folder": str(staged)}
        report = process.read(order, lambda rows, share: self._tell(Progress(source.name, rows, share)))
        self._tell(Progress(source.name, report.rows + report.rejected, 1.0))
        return report

    def _tell(self, progress: Progress) -> None:
        with self._telling:
            self._on_progress(progress)


def _refuse_missing(sources: Sequence[Source]) -> None:
    formats = {said_format(source.name) for source in sources if source.path is not None}
    missing = [package for kind, package in NEEDED.items() if kind in formats and find_spec(package) is None]
    if missing:
        raise InvalidInput(
            f'reading these files needs {" and ".join(missing)}: pip install "lastro[imports]"', argument="sources"
        )
