"""
Merging spreadsheets: a month's 200,000 rows for the first time, unchanged, and with one row in a hundred changed.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

import lastro
from bench.figures import Run, in_process
from bench.imports import FILES, PARSERS, specs_document, written
from lastro import Ledger
from lastro.imports import FileReport, SheetReport, ready_specs, specs_of
from lastro.imports.jobs import claim, merge_job
from lastro.imports.merging import MergeTerms
from lastro.plans.plan import Effect

LEDGER = "bench_imports"
PERIOD = "2026-11"
DAYS = 30
CHANGED_EVERY = 100
POOL_MAX = 8


def measure(run: Run) -> None:
    """One file's merge by what there is to do; then eight files of one zip through all of it."""
    with tempfile.TemporaryDirectory(prefix="lastro-bench-") as name, _ledger(run) as ledger:
        folder = Path(name)
        _one_file(run, ledger, folder)
        _eight_files(run, ledger, folder)


@contextmanager
def _ledger(run: Run) -> Iterator[Ledger]:
    with lastro.connect(run.server.url, ledger=LEDGER, pool_max=POOL_MAX) as ledger:
        ledger.migrate()
        yield ledger
    with psycopg.connect(run.server.url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {LEDGER} CASCADE".encode())


def _one_file(run: Run, ledger: Ledger, folder: Path) -> None:
    rows, draw = run.scale.sheet_rows, random.Random(run.next_seed())
    same, changed = folder / "same.copy", folder / "changed.copy"
    _stage(same, rows, draw.getstate(), changed_every=0)
    _stage(changed, rows, draw.getstate(), changed_every=CHANGED_EVERY)
    took: dict[str, list[float]] = {"first": [], "unchanged": [], "changed": []}
    for _ in range(run.scale.rounds):
        with psycopg.connect(run.server.url, autocommit=True) as connection:
            connection.execute(f"TRUNCATE {LEDGER}.sheet_billing, {LEDGER}.sheet_movements".encode())
            connection.execute(b"CHECKPOINT")
        for name, staged, expected in (
            ("first", same, rows), ("unchanged", same, 0), ("changed", changed, rows // CHANGED_EVERY)
        ):  # fmt: skip
            took[name].append(_merged(ledger, staged, rows, folder, expected))
    first = median(took["first"])
    run.note(
        "imports.merge",
        rows=rows,
        first_s=first,
        unchanged_s=median(took["unchanged"]),
        changed_s=median(took["changed"]),
        # Each beside the first load of its own round.
        unchanged=median(a / b for a, b in zip(took["unchanged"], took["first"], strict=True)),
        changed=median(a / b for a, b in zip(took["changed"], took["first"], strict=True)),
    )


def _merged(ledger: Ledger, staged: Path, rows: int, folder: Path, expected: int) -> float:
    """Merge staged rows as a lane does, and return the seconds from its first statement to its commit."""
    tiny = folder / "billing.csv"
    tiny.write_text("a job for the queue\n")
    ledger.imports.send(tiny, period=PERIOD)
    job = ledger._engine.run(lambda: claim("bench", None, now=None), Effect.KEYED)  # noqa: SLF001  (a lane's own way)
    assert job is not None
    (spec,) = ready_specs("billing")
    sheet = SheetReport(
        spec="billing", sheet="Billing", rows=rows, rejected=0, cells_rejected=0, blank=0, totals=0, hidden=0,
        fields=spec.fields, missing=(), unread=(), staged=staged, aside=folder / "none",
    )  # fmt: skip
    report = FileReport(file="billing.csv", status="parsed", sheets=(sheet,))
    terms = MergeTerms(LEDGER, 30_000)
    began = time.perf_counter()
    merged = ledger._engine.run(lambda: merge_job(job, report, [], [], terms), Effect.KEYED)  # noqa: SLF001
    took = time.perf_counter() - began
    if merged != expected:
        raise RuntimeError(f"{merged} rows were written, and not {expected}")
    return took


def _stage(path: Path, rows: int, state: Any, *, changed_every: int) -> None:
    """Rows of billing as a parser stages them, in an order that isn't the key's."""
    draw = random.Random()
    draw.setstate(state)
    numbers = list(range(rows))
    draw.shuffle(numbers)
    with path.open("w", encoding="utf-8") as file:
        for place, number in enumerate(numbers, start=2):
            amount = draw.randrange(1, 10**7)
            if changed_every and number % changed_every == 0:
                amount += 1
            file.write(
                f"{place}\tINV-{number // 50:07}\tORD-{number:09}\t{PERIOD}-{number % DAYS + 1:02}\t{amount}\t"
                f"{amount // 50}\tBRL\tFreight of order {number}\n"
            )


def _eight_files(run: Run, ledger: Ledger, folder: Path) -> None:
    """Eight .xlsx of one zip, read and merged by four lanes, and by one: each in a process of its own."""
    specs = specs_of(specs_document("bench"))
    ledger.imports.declare(specs[0])
    archive = folder / "eight.zip"
    written(archive, run.scale.sheet_rows // PARSERS, [run.next_seed() for _ in range(FILES)])
    took: dict[int, list[dict[str, Any]]] = {1: [], PARSERS: []}
    for _ in range(run.scale.rounds):
        for lanes, done in took.items():
            with psycopg.connect(run.server.url, autocommit=True) as connection:
                connection.execute(f"TRUNCATE {LEDGER}.sheet_bench".encode())
            request = ledger.imports.send(archive, specs=specs)
            order = {"url": run.server.url, "ledger": LEDGER, "request_id": request.request_id, "lanes": lanes}
            done.append(in_process("bench.sheet_merger", order))
            if done[-1]["merged"] != FILES:
                raise RuntimeError(f"{done[-1]}")
    run.note(
        "imports.eight_merged",
        rows_each=run.scale.sheet_rows // PARSERS,
        lanes=PARSERS,
        at_once_s=median(one["elapsed_s"] for one in took[PARSERS]),
        one_after_another_s=median(one["elapsed_s"] for one in took[1]),
        times=median(one["elapsed_s"] for one in took[PARSERS]) / median(one["elapsed_s"] for one in took[1]),
        parent_peak_mib=max(one["peak_mib"] for one in took[PARSERS]),
        parser_peak_mib=max(one["parser_peak_mib"] for one in took[PARSERS]),
    )
