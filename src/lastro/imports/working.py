"""
The work on files to merge: up to four lanes, each of which claims a file, has it read by a process, and merges it.

Reading, the dear part, goes on in all lanes at once; merges follow one another, under the lock that they begin with.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from lastro.errors import Fault, LastroError, LockTimeout
from lastro.imports.jobs import Job, JobTaken, claim, fail, give_back, hold_on, merge_job, pieces
from lastro.imports.limits import (
    ATTEMPT_PAUSE_S,
    ATTEMPTS_MAX,
    LEASE_RENEWED_S,
    LOOK_EVERY_MS,
    MERGE_LOCK_TIMEOUT_MS,
    PARSERS_MAX,
    WAIT_FOR_OTHERS_MS,
)
from lastro.imports.merging import LockWait, MergeTerms
from lastro.imports.parser_process import ParserProcess
from lastro.imports.parsing import Progress
from lastro.imports.reports import FileReport, SheetReport
from lastro.imports.spec_files import document_of
from lastro.plans.course import MS_IN_A_SECOND, Act, Course, Pause
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.stored import whole


@dataclass
class Round:
    """
    What one round of work did: files merged, files that ended in error, and files given back to be tried again.
    """

    merged: int = 0
    errors: int = 0
    given_back: int = 0
    rows_written: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def count(self, what: str, number: int = 1) -> None:
        """Add to one of the figures; several lanes do."""
        with self._lock:
            setattr(self, what, getattr(self, what) + number)


class Workshop:
    """
    Lanes that work side by side, with the processes and the folder that they need; a `with` ends both.

    With a *request_id* the lanes stay until every file of that request is at its end, whoever brings it there; without
    one until nothing can be claimed. Once *stopping* says so, what is being read is given back.
    """

    def __init__(
        self,
        terms: MergeTerms,
        *,
        request_id: int | None = None,
        lanes: int = PARSERS_MAX,
        stopping: Callable[[], bool] = lambda: False,
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.round = Round()
        self._terms = terms
        self._request_id = request_id
        self._stopping = stopping
        self._on_progress = on_progress
        self._telling = threading.Lock()
        self._parsers = [ParserProcess() for _ in range(lanes)]
        self._ended = False
        self._folder: Path | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="lastro-import-"))
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        for parser in self._parsers:
            parser.close()
        assert self._folder is not None, "entered"
        shutil.rmtree(self._folder, ignore_errors=True)

    def end(self) -> None:
        """Let no lane go on; what is being read is abandoned."""
        self._ended = True
        for parser in self._parsers:
            parser.stop()

    def lanes(self) -> list[Course[None]]:
        """Return the lanes, each to be walked beside the others."""
        return [self._lane(parser) for parser in self._parsers]

    def _lane(self, parser: ParserProcess) -> Course[None]:
        holder = f"{socket.gethostname()}:{os.getpid()}"
        while not self._is_over():
            job: Job | None = yield Act(partial(claim, holder, self._request_id, now=self._terms.now))
            if job is not None:
                yield from self._work(job, parser)
                continue
            if self._request_id is None:
                return
            left: int = yield Act(partial(_left, self._request_id), Effect.READ)
            if not left:
                return
            yield Pause(WAIT_FOR_OTHERS_MS)

    def _is_over(self) -> bool:
        return self._ended or self._stopping()

    def _work(self, job: Job, parser: ParserProcess) -> Course[None]:
        assert self._folder is not None, "entered"
        if job.attempts > ATTEMPTS_MAX:
            yield from self._fail(job, f"was begun {ATTEMPTS_MAX} times, and none came to its end", [])
            return
        folder = self._folder / f"{job.file_id}-{job.token}"
        folder.mkdir()
        try:
            report = yield from self._read(job, parser, folder)
            if report is not None:
                yield from self._merge(job, report)
        except JobTaken:
            # Its lease had run out, or its end was written and the answer lost: it is in good hands, or done.
            return
        except Fault as fault:
            yield from self._try_again(job, fault)
        except LastroError as error:
            yield from self._fail(job, str(error), [])
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _read(self, job: Job, parser: ParserProcess, folder: Path) -> Course[FileReport | None]:
        """Have the file read; None where it was given back, or is somebody else's by now."""
        source = folder / "file"
        yield from _fetch(job, source)
        order = {
            "name": job.name,
            "path": str(source),
            "specs": document_of(job.specs),
            "period": job.period,
            "folder": str(folder),
        }
        reading = _Reading(parser, order, lambda rows, share: self._tell(Progress(job.name, rows, share)))
        try:
            held = yield from self._wait_for(reading, job)
        except LastroError:
            # The lane's next file mustn't be given to a parser that is still at this one.
            reading.wait()
            raise
        if not held:
            # Somebody else has it: what this parser still reads is nobody's.
            reading.wait()
            return None
        report = reading.report()
        if report is None or self._is_over():
            yield Act(partial(give_back, job, [], counts=False, pause_s=0, now=self._terms.now))
            self.round.count("given_back")
            return None
        self._tell(Progress(job.name, report.rows + report.rejected, 1.0))
        return report

    def _wait_for(self, reading: _Reading, job: Job) -> Course[bool]:
        """Wait until a file is read, holding on to its job; False where that is somebody else's by now."""
        held_until = time.monotonic() + LEASE_RENEWED_S
        while not reading.done():
            if self._is_over():
                self.end()
                reading.wait()
                break
            yield Pause(LOOK_EVERY_MS)
            if time.monotonic() >= held_until:
                held: bool = yield Act(partial(hold_on, job, "reading", now=self._terms.now))
                if not held:
                    return False
                held_until = time.monotonic() + LEASE_RENEWED_S
        return True

    def _merge(self, job: Job, report: FileReport) -> Course[None]:
        lines = _told(report)
        reason = why_not(report, quarantine=job.quarantine)
        if reason is not None:
            yield from self._fail(job, reason, lines)
            return
        wait = LockWait(int(LEASE_RENEWED_S * MS_IN_A_SECOND))
        try:
            written = yield from self._merge_in_turn(job, report, lines, wait)
        except (JobTaken, Fault):
            raise
        except LastroError as refused:
            yield from self._fail(job, str(refused), [*lines, *wait.lines])
            return
        self.round.count("merged")
        self.round.count("rows_written", written)

    def _merge_in_turn(self, job: Job, report: FileReport, lines: list[str], wait: LockWait) -> Course[int]:
        """Merge once the lock of merging is had; while others have it the lease is renewed between the tries."""
        began = time.monotonic()
        while True:
            held: bool = yield Act(partial(hold_on, job, "merging", now=self._terms.now))
            if not held:
                raise JobTaken(f"{job.name} is somebody else's job by now")
            try:
                written: int = yield Act(partial(merge_job, job, report, lines, wait, self._terms))
            except LockTimeout:
                wait.before_ms = int((time.monotonic() - began) * MS_IN_A_SECOND)
                if wait.is_over or wait.before_ms >= MERGE_LOCK_TIMEOUT_MS:
                    raise
            else:
                return written

    def _fail(self, job: Job, reason: str, lines: list[str]) -> Course[None]:
        yield Act(partial(fail, job, reason, lines, now=self._terms.now))
        self.round.count("errors")

    def _try_again(self, job: Job, fault: Fault) -> Course[None]:
        if job.attempts >= ATTEMPTS_MAX:
            yield from self._fail(job, f"after {ATTEMPTS_MAX} attempts: {fault}", [])
            return
        said = [f"attempt {job.attempts} failed ({fault.code}): {fault}"]
        yield Act(partial(give_back, job, said, counts=True, pause_s=ATTEMPT_PAUSE_S, now=self._terms.now))
        self.round.count("given_back")

    def _tell(self, progress: Progress) -> None:
        with self._telling:
            self._on_progress(progress)


class _Reading:
    """A file that a parser reads meanwhile, in a thread that waits for it."""

    def __init__(self, parser: ParserProcess, order: dict[str, Any], on_rows: Callable[[int, float], None]) -> None:
        self._report: FileReport | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._read, args=(parser, order, on_rows), daemon=True)
        self._thread.start()

    def done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self) -> None:
        self._thread.join()

    def report(self) -> FileReport | None:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._report

    def _read(self, parser: ParserProcess, order: dict[str, Any], on_rows: Callable[[int, float], None]) -> None:
        try:
            self._report = parser.read(order, on_rows)
        except BaseException as error:  # noqa: BLE001 - told to the lane, which raises it
            self._error = error


def _fetch(job: Job, path: Path) -> Course[None]:
    after = 0
    with path.open("wb") as file:
        while found := (yield Act(partial(pieces, job.file_id, after), Effect.READ)):
            for number, piece in found:
                file.write(piece)
                after = number


def _left(request_id: int) -> Plan[int]:
    rows = yield step("imports.left", request_id=request_id)
    return whole(rows[0], "left_over")


def why_not(report: FileReport, *, quarantine: bool) -> str | None:
    """Say why a file isn't merged at all, or None."""
    if report.error is not None:
        return report.error
    if report.rejected and not quarantine:
        return (
            f"{report.rejected} rows are rejected, so that none is merged; send it with --quarantine (quarantine=True) "
            "to have the good ones merged and these kept aside"
        )
    return None


def _told(report: FileReport) -> list[str]:
    lines = []
    for sheet in report.sheets:
        lines.append(f"{sheet.sheet}: read {sheet.rows} rows as {sheet.spec}, {sheet.rejected} rejected")
        lines += [f"{sheet.sheet}, {one.cell}: {one.value!r} {one.reason}" for one in sheet.rejections]
        more = sheet.cells_rejected - len(sheet.rejections)
        if more:
            lines.append(f"{sheet.sheet}: {more} more cells are rejected")
        lines += _noted(sheet)
    return lines


def _noted(sheet: SheetReport) -> list[str]:
    if not sheet.missing:
        return []
    return [f"{sheet.sheet} has no column for {', '.join(sheet.missing)}: what is stored of it stays"]
