"""
The doctor: which finding each injected fault leads to, what is found where nothing is wrong, and what a watch costs.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from bench import pgbench, scripts
from bench.books import Books, books
from bench.figures import Run
from bench.injections import HEALTHY, INJECTIONS, Diagnosis, Ground, diagnose
from bench.loads import Load, alternate
from bench.report import ROOT
from lastro.doctor.rules import BY_CODE

PAGE: Final = ROOT / "docs" / "doctor.md"
BEGIN, END = "<!-- measured: matrix -->\n", "<!-- end -->"
CLIENTS: Final = 8
# Two per cent are told apart only by many loads: a single one swings by more.
WATCHED_TIMES: Final = 4
WATCH: Final = "watch"
WATCH_EVERY_S: Final = "1"
STOPS_WITHIN_S: Final = 30


def measure(run: Run) -> None:
    """Every injection once, the healthy run as often as the scale says, and posts beside a watch."""
    found = _matrix(run)
    told = matrix_table(found)
    run.say("\n" + told)
    if run.scale.name != "quick" and PAGE.exists():
        _write(told)
    _cost(run)


def matrix_table(found: Mapping[str, list[Diagnosis]]) -> str:
    """The matrix as a Markdown table: how often a fault led to each finding as the first (in brackets: as a later one)."""
    codes = [code for code in BY_CODE if any(code in _codes(each) for runs in found.values() for each in runs)]
    lines = [
        "| injected | runs | nothing | " + " | ".join(f"`{code}`" for code in codes) + " |",
        "|---" * (3 + len(codes)) + "|",
    ]
    for name, runs in found.items():
        first = Counter(each.first for each in runs)
        later = Counter(code for each in runs for code in _codes(each)[1:])
        cells = [_cell(first[code], later[code]) for code in codes]
        lines.append(f"| {name} | {len(runs)} | {first[None] or ''} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _matrix(run: Run) -> dict[str, list[Diagnosis]]:
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    ground = Ground(run.server.url, "bench_doctor", pgbouncer=None if program is None else Path(program))
    found: dict[str, list[Diagnosis]] = {}
    right = 0
    try:
        for injection in INJECTIONS:
            if injection.needs_pgbouncer and program is None:
                run.not_measured[f"doctor: {injection.name}"] = "PgBouncer isn't installed"
                continue
            times = run.scale.healthy_repeats if injection.name == HEALTHY else 1
            found[injection.name] = [diagnose(ground, injection) for _ in range(times)]
            hits = sum(each.first == injection.code for each in found[injection.name])
            right += hits == times
            run.say(f"{injection.name}: {hits} of {times} as expected ({injection.code or 'nothing'})")
    finally:
        ground.close()
    run.note(
        "doctor.matrix",
        injections=len(found) - 1,
        named_first=right - (all(each.first is None for each in found[HEALTHY])),
        share=right / len(found),
        healthy_runs=len(found[HEALTHY]),
        found_on_healthy_runs=sum(len(each.findings) for each in found[HEALTHY]),
    )
    return found


def _codes(diagnosis: Diagnosis) -> list[str]:
    return list(dict.fromkeys(finding.code for finding in diagnosis.findings))


def _cell(first: int, later: int) -> str:
    return " ".join(said for said in (str(first or ""), f"({later})" if later else "") if said)


def _write(told: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}{told}{END}{tail}", encoding="utf-8")


def _cost(run: Run) -> None:
    """Short loads by turns with the watch at work and held still, so that nothing else changes between two of them."""
    with books(run.server, f"bench_watched_{run.flush.lower()}") as made, _watching(made) as watch:
        script = scripts.post_to_hot(
            made.name, world_id=made.account_id("world"), credit_id=made.account_id("platform")
        )
        costs = list[float]()

        def post(held: signal.Signals) -> Load:
            watch.send_signal(held)
            return pgbench.run(
                run.server.embedded, script, clients=CLIENTS, seconds=run.scale.subject_s, seed=run.next_seed()
            )

        def watched() -> Load:
            pids = [watch.pid, *_sessions_of_the_watch(made)]
            before, began_s = sum(map(_processor_s, pids)), time.monotonic()
            load = post(signal.SIGCONT)
            spent_s = sum(map(_processor_s, pids)) - before
            costs.append(spent_s / (time.monotonic() - began_s) / len(os.sched_getaffinity(0)))
            return load

        compared = alternate(lambda: post(signal.SIGSTOP), watched, rounds=run.scale.rounds * WATCHED_TIMES)
    run.note(
        "doctor.watch",
        per_s=compared.per_s,
        alone_per_s=compared.limit_per_s,
        ratio=compared.ratio,
        p99_ratio=compared.p99_ratio,
        processor_share=median(costs),
        ratios=compared.ratios,
    )


@contextmanager
def _watching(made: Books) -> Iterator[subprocess.Popen[bytes]]:
    """A watch in a process of its own, once a second; its start, which is Python's, is waited for."""
    command = [sys.executable, "-m", "lastro", "doctor", "--watch", WATCH_EVERY_S, "--json", "--ledger", made.name]
    environment = os.environ | {"LASTRO_DATABASE_URL": made.server.url, "PGAPPNAME": WATCH}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), "the watch ended by itself"
            with subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL):
                try:
                    yield process
                finally:
                    process.send_signal(signal.SIGCONT)
                    process.terminate()
        finally:
            process.terminate()
            process.wait(STOPS_WITHIN_S)


def _sessions_of_the_watch(made: Books) -> list[int]:
    query = "SELECT pid FROM pg_stat_activity WHERE application_name IN (%s, 'lastro doctor')"
    return [pid for (pid,) in made.connection.execute(query, [WATCH]).fetchall()]


def _processor_s(pid: int) -> float:
    """How much of a processor a process has used so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
