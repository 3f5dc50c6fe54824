"""
The spreadsheets of a blocking ledger: sent, merged by lanes side by side, looked at.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from lastro.imports import Progress, SheetSpec, parse
from lastro.imports.limits import FILES_LISTED_MAX, PARSERS_MAX
from lastro.imports.member_names import CODE_PAGE
from lastro.imports.merges import ImportedFile, ImportRequest, LogLine, Preview, QuarantinedRow, ReplacedRow
from lastro.imports.standing import ImportBacklog
from lastro.imports.working import Round, Workshop
from lastro.ledger.imports_operations import ImportAsks, refuse_without_imports, rooms
from lastro.ledger.operations import Operations
from lastro.ledger.running import Engine, HeldEngine, Runs, Walks

SHOWN = 100
FOLDER = "lastro-import-"


class HeldImports(Runs):
    """
    How imports stand, inside one transaction: `ledger.within(connection).imports`.
    """

    def __init__(self, engine: HeldEngine, operations: Operations) -> None:
        super().__init__(engine, operations)
        self._asks = ImportAsks(operations)

    def file(self, file_id: int) -> ImportedFile:
        """Return how a file stands, with what its merge did. Raises UnknownImport. Locks nothing."""
        return self._run(self._asks.file(file_id))

    def files(
        self, *, request_id: int | None = None, before: int | None = None, limit: int = SHOWN
    ) -> list[ImportedFile]:
        """Return up to `limit` (1 … 1,000) files: a request's in their order, or all, the newest first, before `before`."""
        return self._run(self._asks.files(request_id=request_id, before=before, limit=limit))

    def log(self, file_id: int) -> list[LogLine]:
        """Return the log of a file's job, up to 1,000 lines. Raises UnknownImport."""
        return self._run(self._asks.log(file_id))

    def quarantined(self, file_id: int, *, limit: int = SHOWN) -> list[QuarantinedRow]:
        """Return up to `limit` (1 … 10,000) rows of a file that were rejected and kept aside."""
        return self._run(self._asks.quarantined(file_id, limit=limit))

    def replaced(self, file_id: int, *, after: int = 0, limit: int = SHOWN) -> list[ReplacedRow]:
        """Return up to `limit` (1 … 10,000) rows as they were before a file changed or deleted them, behind `after`."""
        return self._run(self._asks.replaced(file_id, after=after, limit=limit))

    def backlog(self) -> ImportBacklog:
        """Return how many files wait or are worked on, and how long ago the oldest was sent."""
        return self._run(self._asks.backlog())


class Imports(HeldImports, Walks):
    """
    Spreadsheets on connections of the ledger's own. PostgreSQL only.

    A file is a job of its own: read by a process, then merged in one transaction. Merges follow one another.
    """

    def __init__(self, engine: Engine, operations: Operations) -> None:
        refuse_without_imports(engine.dialect)
        super().__init__(engine, operations)

    def declare(self, spec: SheetSpec) -> bool:
        """
        Make the table `sheet_<name>` of a sheet, or add the fields that are new; return whether there was anything to do.

        `billing` and `movements` are there without. A field that is added is empty in the rows that are there; for that
        the table is locked, for no longer than it takes, and who reads it is given way to. Raises InvalidInput where the
        table has another key, or a field of another type.
        """
        made: bool = self._walk(self._asks.declare(spec))
        return made

    def send(
        self,
        file: str | Path,
        *,
        period: str | None = None,
        specs: Sequence[SheetSpec] | None = None,
        allow_shrink: bool = False,
        quarantine: bool = False,
        actor: str | None = None,
        code_page: str = CODE_PAGE,
    ) -> ImportRequest:
        """
        Send a zip of spreadsheets, or one of them, to be merged by whoever works: `work()`, or `lastro work import`.

        `period` (a month, "2026-11"): rows of others are rejected, and rows of it that a file lacks are deleted; without it
        nothing is deleted. `allow_shrink`: also where more are lacking than a whole file would. `quarantine`: rejected rows
        are kept aside, and the others merged. A file is all of its month, or, where others of the same sheet are sent
        with it, the part of it that goes by its name. Sent twice it is merged twice, to the same end. `code_page`: of names
        in a zip that are neither flagged nor UTF-8. Raises InvalidInput for what is no file, and for a sheet that no table
        holds.
        """
        with tempfile.TemporaryDirectory(prefix=FOLDER) as folder:
            sending = self._asks.sending(
                file,
                Path(folder),
                period=period,
                specs=specs,
                allow_shrink=allow_shrink,
                quarantine=quarantine,
                actor=actor,
                code_page=code_page,
            )
            return self._run(self._asks.send(sending))

    def work(
        self,
        *,
        request_id: int | None = None,
        lanes: int = PARSERS_MAX,
        stopping: Callable[[], bool] = lambda: False,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> Round:
        """
        Merge what was sent: up to `lanes` (1 … 4) files are read at once, each lane on a connection of its own.

        Ends when nothing can be claimed; with a `request_id` when each of its files is at its end, whoever worked on it.
        Killed anywhere it leaves a file merged or untouched, and whoever works claims it again after a minute.
        """
        with Workshop(
            self._asks.terms(), request_id=request_id, lanes=lanes, stopping=stopping, on_progress=on_progress
        ) as shop:
            with ThreadPoolExecutor(lanes) as pool:
                walks = [pool.submit(self._walk, lane) for lane in shop.lanes()]
                try:
                    # The first that fails is heard at once, whoever is still at work.
                    for walk in wait(walks, return_when=FIRST_EXCEPTION).done:
                        walk.result()
                except BaseException:
                    shop.end()
                    raise
            return shop.round

    def run(
        self,
        file: str | Path,
        *,
        period: str | None = None,
        specs: Sequence[SheetSpec] | None = None,
        allow_shrink: bool = False,
        quarantine: bool = False,
        actor: str | None = None,
        code_page: str = CODE_PAGE,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> list[ImportedFile]:
        """Send as `send` does, work as `work` does until each file is at its end, and return how they stand."""
        request = self.send(
            file,
            period=period,
            specs=specs,
            allow_shrink=allow_shrink,
            quarantine=quarantine,
            actor=actor,
            code_page=code_page,
        )
        self.work(request_id=request.request_id, on_progress=on_progress)
        return self.files(request_id=request.request_id, limit=FILES_LISTED_MAX)

    def preview(
        self,
        file: str | Path,
        *,
        period: str | None = None,
        specs: Sequence[SheetSpec] | None = None,
        allow_shrink: bool = False,
        quarantine: bool = False,
        code_page: str = CODE_PAGE,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> list[Preview]:
        """Read as `run` does and return what merging each file would do now. Nothing is stored or locked."""
        with tempfile.TemporaryDirectory(prefix=FOLDER) as folder:
            members, staged = rooms(folder)
            sending = self._asks.sending(
                file,
                members,
                period=period,
                specs=specs,
                allow_shrink=allow_shrink,
                quarantine=quarantine,
                actor=None,
                code_page=code_page,
            )
            reports = parse(
                sending.sources, sending.specs, folder=staged, period=sending.period, on_progress=on_progress
            )
            return self._run(self._asks.preview(sending, reports))
