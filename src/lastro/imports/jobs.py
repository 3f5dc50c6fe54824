"""
Files to merge as jobs: sent, claimed under a lease, ended. Each plan here is one transaction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from lastro.errors import Refusal
from lastro.imports.archives import Source
from lastro.imports.declaring import check_all
from lastro.imports.formats import said_format
from lastro.imports.limits import (
    LEASE_S,
    LOG_LINE_CHARACTERS_MAX,
    PIECE_FILE_BYTES,
    PIECES_FETCHED_MAX,
    QUARANTINE_BATCH_ROWS,
)
from lastro.imports.member_names import compared
from lastro.imports.merges import ImportRequest, SheetMerge
from lastro.imports.merging import LockWait, MergedFile, MergeTerms, merge, take_lock
from lastro.imports.reports import FileReport, SheetReport
from lastro.imports.spec_files import document_of, specs_of
from lastro.imports.specs import SheetSpec
from lastro.plans.outbox import Event, emit
from lastro.plans.plan import TOGETHER, Plan, step

TOPIC: Final = "imports"
# What JSON may say and the database can't store.
NUL: Final = "\\u0000"
IN_ITS_PLACE: Final = "\\ufffd"


class Sending(NamedTuple):
    """
    What is sent: the files and on which terms they are merged.
    """

    name: str
    sources: Sequence[Source]
    passed_over: Sequence[str]
    specs: Sequence[SheetSpec]
    period: str | None
    allow_shrink: bool
    quarantine: bool
    actor: str | None


class Job(NamedTuple):
    """
    A file that a worker has in hand until its lease runs out.
    """

    file_id: int
    token: int
    attempts: int
    request_id: int
    name: str
    part: str | None
    period: str | None
    specs: tuple[SheetSpec, ...]
    allow_shrink: bool
    quarantine: bool

    @property
    def file(self) -> MergedFile:
        """The file as it is merged."""
        return MergedFile(self.file_id, self.request_id, self.name, self.period, self.part, self.allow_shrink)


class JobTaken(Refusal):
    """A job that is somebody else's by now, or ended: the lease ran out before this worker was done."""

    code = "job_taken"


def send(sending: Sending, *, now: datetime | None) -> Plan[ImportRequest]:
    """
    Write down what was sent and keep its files until they are merged. A file that can't be read ends at once, in error.
    """
    yield TOGETHER
    yield from check_all(sending.specs)
    rows = yield step(
        "imports.request",
        name=sending.name,
        period=sending.period,
        specs=json.dumps(document_of(sending.specs)),
        allow_shrink=sending.allow_shrink,
        quarantine=sending.quarantine,
        actor=sending.actor,
        now=now,
    )
    request_id: int = rows[0]["request_id"]
    parts = yield from parts_of(sending)
    file_ids = []
    for number, (source, part) in enumerate(zip(sending.sources, parts, strict=True), start=1):
        sha256 = None if source.path is None else _digest(source.path)
        rows = yield step(
            "imports.add_file",
            request_id=request_id, number=number, name=source.name, part=part, sha256=sha256, now=now,
        )  # fmt: skip
        file_id: int = rows[0]["file_id"]
        file_ids.append(file_id)
        if source.path is None:
            yield from _end(file_id, "error", source.refused or "can't be read", [], now=now)
            continue
        for piece_number, piece in enumerate(_pieces(source.path), start=1):
            yield step("imports.add_piece", file_id=file_id, number=piece_number, piece=piece)
        yield step("imports.queue", file_id=file_id, now=now)
    return ImportRequest(request_id=request_id, file_ids=tuple(file_ids), passed_over=tuple(sending.passed_over))


def claim(holder: str, request_id: int | None, *, now: datetime | None) -> Plan[Job | None]:
    """
    Take the oldest file that nobody works on, of one request or of all; None where there is none.
    """
    rows = yield step("imports.claim", holder=holder, request_id=request_id, lease_s=LEASE_S, jobs_max=1, now=now)
    if not rows:
        return None
    row = rows[0]
    return Job(
        file_id=row["file_id"],
        token=row["token"],
        attempts=row["attempts"],
        request_id=row["request_id"],
        name=row["name"],
        part=row["part"],
        period=row["period"],
        specs=specs_of(json.loads(row["specs"])),
        allow_shrink=row["allow_shrink"],
        quarantine=row["quarantine"],
    )


def pieces(file_id: int, after: int) -> Plan[list[tuple[int, bytes]]]:
    """
    Return the next pieces of a file, those behind the one numbered *after*.
    """
    rows = yield step("imports.pieces", file_id=file_id, after=after, pieces_max=PIECES_FETCHED_MAX)
    return [(row["number"], bytes(row["piece"])) for row in rows]


def hold_on(job: Job, status: str, *, now: datetime | None) -> Plan[bool]:
    """
    Hold on to a job for another lease; False where it is somebody else's by now.
    """
    rows = yield step("imports.hold_on", file_id=job.file_id, token=job.token, status=status, lease_s=LEASE_S, now=now)
    return bool(rows)


def give_back(job: Job, lines: Sequence[str], *, counts: bool, pause_s: int, now: datetime | None) -> Plan[None]:
    """
    Let somebody else take a job, after a pause. *counts* says whether this was an attempt that failed.
    """
    yield TOGETHER
    rows = yield step(
        "imports.give_back", file_id=job.file_id, token=job.token, counts=counts, pause_s=pause_s, now=now
    )
    if rows:
        yield from _log(job.file_id, lines, now=now)


def fail(job: Job, reason: str, lines: Sequence[str], *, now: datetime | None) -> Plan[None]:
    """
    End a job in error; nothing of its file is merged. Does nothing where it is somebody else's by now.
    """
    yield TOGETHER
    closed = yield step("imports.close", file_id=job.file_id, token=job.token)
    if closed:
        yield from _end(job.file_id, "error", reason, lines, now=now)


def merge_job(job: Job, report: FileReport, lines: Sequence[str], wait: LockWait, terms: MergeTerms) -> Plan[int]:
    """
    Merge a file and end its job, in one transaction that begins with the lock of merging; return the rows it wrote.

    *lines* go into the job's log, and what *wait* says of the lock: a merge that is refused leaves nothing else. Raises ImportRefused, and JobTaken where the job is somebody else's by now.
    """
    yield TOGETHER
    yield from take_lock(terms, wait)
    closed = yield step("imports.close", file_id=job.file_id, token=job.token)
    if not closed:
        raise JobTaken(f"{job.name} is somebody else's job by now, or at its end")
    merges = yield from merge(job.file, report, job.specs, terms)
    for done in merges:
        yield step(
            "imports.note_merge",
            file_id=job.file_id,
            sheet=done.sheet,
            inserted=done.inserted,
            updated=done.updated,
            unchanged=done.unchanged,
            deleted=done.deleted,
            quarantined=done.quarantined,
            now=terms.now,
        )
    for sheet in report.sheets:
        yield from _keep_aside(job.file_id, sheet)
    yield from _end(job.file_id, "merged", None, [*lines, *wait.lines, *map(_told, merges)], now=terms.now)
    yield from emit([_event(job, merges)], now=terms.now)
    return sum(done.inserted + done.updated + done.deleted for done in merges)


def parts_of(sending: Sending) -> Plan[list[str | None]]:
    """
    Say of each file whether it is a part of its month, by name, or all of it.

    It is a part where another file of the same sheet was sent with it, or where a part of its name was sent before.
    """
    meant = [_meant(source, sending.specs) for source in sending.sources]
    # One that can't be read counts as well: its rows are there from before, and aren't the others'.
    named = [
        compared(source.name) if source.path is not None or said_format(source.name) is not None else None
        for source in sending.sources
    ]
    beside = [
        any(meant[other] & meant[number] for other in range(len(named)) if other != number and named[other] is not None)
        for number in range(len(named))
    ]
    if sending.period is None:
        return [None] * len(named)
    names = [name for name in named if name is not None]
    rows = yield step("imports.parts_before", names=names, period=sending.period)
    before = {row["part"] for row in rows}
    return [
        name if name is not None and (is_beside or name in before) else None
        for name, is_beside in zip(named, beside, strict=True)
    ]


def _meant(source: Source, specs: Sequence[SheetSpec]) -> set[str]:
    """The sheets that a file will have: a workbook all, a csv file the one that its name says."""
    if source.name.casefold().endswith(".csv") and len(specs) > 1:
        return {spec.name for spec in specs if spec.fits(source.name.rsplit("/", 1)[-1])}
    return {spec.name for spec in specs}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_FILE_BYTES):
            yield piece


def _end(file_id: int, status: str, reason: str | None, lines: Sequence[str], *, now: datetime | None) -> Plan[None]:
    yield step("imports.end_file", file_id=file_id, status=status, reason=_storable(reason), now=now)
    yield from _log(file_id, [*lines, f"error: {reason}"] if reason else lines, now=now)


def _log(file_id: int, lines: Sequence[str], *, now: datetime | None) -> Plan[None]:
    if lines:
        yield step("imports.log", file_id=file_id, lines=[_storable(line) for line in lines], now=now)


def _storable(text: str | None) -> str | None:
    # What stands in a cell may stand in a message.
    return None if text is None else text.replace("\0", "\N{REPLACEMENT CHARACTER}")[:LOG_LINE_CHARACTERS_MAX]


def _keep_aside(file_id: int, sheet: SheetReport) -> Plan[None]:
    if not sheet.rejected:
        return
    batch: list[dict[str, Any]] = []
    with sheet.aside.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            batch.append(json.loads(line))
            if len(batch) == QUARANTINE_BATCH_ROWS:
                yield from _keep(file_id, sheet.spec, batch)
                batch = []
    if batch:
        yield from _keep(file_id, sheet.spec, batch)


def _keep(file_id: int, sheet: str, batch: Sequence[dict[str, Any]]) -> Plan[None]:
    yield step(
        "imports.keep_aside",
        file_id=file_id,
        sheet=sheet,
        row_numbers=[aside["row"] for aside in batch],
        cells=[_json(aside["cells"]) for aside in batch],
        reasons=[_json(aside["reasons"]) for aside in batch],
    )


def _json(value: object) -> str:
    return json.dumps(value).replace(NUL, IN_ITS_PLACE)


def _told(done: SheetMerge) -> str:
    return (
        f"{done.sheet}: {done.inserted} inserted, {done.updated} updated, {done.unchanged} unchanged, "
        f"{done.deleted} deleted, {done.quarantined} quarantined"
    )


def _event(job: Job, merges: Sequence[SheetMerge]) -> Event:
    payload = {
        "event": "merged",
        "file_id": str(job.file_id),
        "request_id": str(job.request_id),
        "file": job.name,
        "period": job.period,
        "sheets": {
            done.sheet: {
                "inserted": done.inserted,
                "updated": done.updated,
                "unchanged": done.unchanged,
                "deleted": done.deleted,
                "quarantined": done.quarantined,
            }
            for done in merges
        },
    }
    # One key for all: merges follow one another, and so do their events.
    return Event(f"import:{job.file_id}:merged", TOPIC, TOPIC, payload)
