"""
`python -m bench`: measure everything in one run on one server, write the JSON and the page.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from bench import (
    batches,
    betting,
    by_sql,
    checkouts,
    doctor,
    folding,
    from_python,
    holds,
    imports,
    memory,
    merging,
    page,
    points,
    reading,
    reconciling,
    report,
    scripts,
    statements,
    stores,
)
from bench.figures import FAST, SLOW, Run
from bench.scale import FULL, NORMAL, QUICK
from bench.server import SLOW_FLUSH_US, bench_server
from bench.targets import judge

PARTS: dict[str, Callable[[Run], None]] = {
    "sql": by_sql.measure,
    "holds": holds.measure,
    "betting": betting.measure,
    "python": from_python.measure,
    "batches": batches.measure,
    "reading": reading.measure,
    "past": statements.measure,
    "folding": folding.measure,
    "checkout": checkouts.measure,
    "points": points.measure,
    "reconciling": reconciling.measure,
    "imports": imports.measure,
    "merging": merging.measure,
    "doctor": doctor.measure,
    "memory": memory.measure,
    "stores": stores.measure,
}
SEED = 1


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    asked = _parser().parse_args(arguments)
    scale = QUICK if asked.quick else FULL if asked.full else NORMAL
    began, started = datetime.now(UTC), time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - started:6.1f} s] {text}", flush=True)

    with bench_server(asked.data) as server:
        run = Run(server=server, scale=scale, seed=asked.seed, say=say)
        say(f"server {server.settings()}")
        say(f"slow flush: {server.slow_flush_made}")
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(scripts.LIMIT_TABLES.encode())
        measure(run, asked.only or list(PARTS))
        command = ["python", "-m", "bench", *(sys.argv[1:] if arguments is None else arguments)]
        result = report.result_of(run, began=began, command=command, parts=asked.only or ())
    file = report.write_json(result, asked.results)
    print(report.summary(judge(run.figures)))
    print(f"written: {file}")
    # A short or partial run must not pass for the table.
    if asked.page is not None or not (asked.quick or asked.only):
        file = asked.page or page.PAGE
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page.page_of([result]), encoding="utf-8")
        print(f"written: {file}")
    for part, error in run.failed.items():
        print(f"{part} failed: {error}", file=sys.stderr)
    return 1 if run.failed else 0


def measure(run: Run, names: list[str]) -> None:
    """Measure the parts with the machine's own flush, then those that a flush matters to with a slower one."""
    for flush, delay_us in ((FAST, 0), (SLOW, SLOW_FLUSH_US)):
        run.flush = flush
        if delay_us and not run.server.can_be_slowed:
            run.not_measured["the 1 ms slower flush"] = run.server.slow_flush_made
            continue
        run.server.delay_flush(delay_us)
        run.note("commit_of_one_row", p50_us=run.server.commit_us())
        for name in names:
            if flush == FAST or name in run.scale.slow_parts:
                measure_part(run, name)
    run.server.delay_flush(0)


def measure_part(run: Run, name: str) -> None:
    """A part that fails says so and takes nothing with it: what the others measured is written all the same."""
    try:
        PARTS[name](run)
    except Exception as error:  # noqa: BLE001  (whatever it was, it is said, and the run ends with 1)
        run.failed[f"{name}.{run.flush}"] = f"{type(error).__name__}: {error}"
        run.say(f"{name}.{run.flush} FAILED\n{traceback.format_exc()}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="under two minutes: does everything work?")
    length.add_argument("--full", action="store_true", help="longer rounds, and memory over a million posts")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), help="measure these parts only")
    parser.add_argument("--seed", type=int, default=SEED, help="the first seed; each load takes the next one")
    parser.add_argument("--data", type=Path, help="keep the server's data here (default: thrown away)")
    parser.add_argument("--results", type=Path, default=report.RESULTS, help="where the JSON goes")
    parser.add_argument("--page", type=Path, help="where the Markdown goes (default: docs/benchmarks.md)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
