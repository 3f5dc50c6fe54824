"""
The Markdown page of one or several runs: `python -m bench.page RESULT.json …` writes docs/benchmarks.md from files of
bench/results, the oldest first; what a later run measured again takes the place of what an earlier one did.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.report import ROOT, number

PAGE = ROOT / "docs" / "benchmarks.md"
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


def page_of(results: Sequence[Mapping[str, Any]]) -> str:
    """The Markdown page of runs, the oldest first."""
    numbered = dict(enumerate(results, 1))
    figures = {name: (run, values) for run, result in numbered.items() for name, values in result["figures"].items()}
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench` and `python -m bench.page`; don't edit it by hand. Figures are one machine's: read them as",
        "ratios within a line, and measure again rather than quote them. The limit is a bare one-row INSERT into a bare heap",
        "by the wheel's own pgbench with prepared statements, measured before and after each round; a ratio is the median of",
        "its rounds. `F0`: the machine's own flush. `F1000`: every flush takes 1 ms more.",
        "",
        *STORES_PROSE,
        "",
        "## Runs",
        "",
        *(f"{run}. {_run_line(result)}" for run, result in numbered.items()),
        "",
        *_machine_lines(results[-1]),
        "",
        "## Targets",
        "",
        "| what | wanted | measured | met | run |",
        "|---|---|---|---|---|",
        *(_target_line(target, figures.get(target["figure"])) for target in _targets(results)),
        "",
        "## Figures",
        "",
        "| figure | values | run |",
        "|---|---|---|",
        *(f"| `{name}` | {_values(values)} | {run} |" for name, (run, values) in figures.items()),
    ]
    not_measured = {name: why for result in results for name, why in result["not_measured"].items()}
    if not_measured:
        lines += ["", "## Not measured", ""]
        lines += [f"* {name}: {why}" for name, why in not_measured.items()]
    return "\n".join(lines) + "\n"


def _targets(results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    # The last run knows all targets of today; what it didn't measure comes from the last one that did.
    measured = {
        target["what"]: target for result in results for target in result["targets"] if target["measured"] is not None
    }
    return [measured.get(target["what"], target) for target in results[-1]["targets"]]


def _run_line(result: Mapping[str, Any]) -> str:
    return (
        f"{result['began_at']}, commit `{result['commit']}`, scale {result['scale']}, {result['took_s']} s, "
        f"seeds {result['seeds'][0]} … {result['seeds'][1]}, `{' '.join(result['command'])}`, "
        f"load before {result['machine']['load_before'][0]}"
    )


def _machine_lines(result: Mapping[str, Any]) -> list[str]:
    machine, settings = result["machine"], result["settings"]
    told = ("synchronous_commit", "fsync", "wal_sync_method", "shared_buffers", "max_wal_size")
    return [
        (
            f"* {machine['processor']}, {machine['cores']} cores, {machine['memory_mib']} MiB, "
            f"Linux {machine['kernel']}, Python {machine['python']}"
        ),
        f"* PostgreSQL {settings.get('server_version', '?')}: "
        + ", ".join(f"{name} = {settings[name]}" for name in told if name in settings),
        f"* Slow flush: {result['slow_flush']}",
    ]


def _target_line(target: Mapping[str, Any], figure: tuple[int, Any] | None) -> str:
    bound = "≤" if target["at_most"] else "≥"
    measured = "not measured" if target["measured"] is None else number(target["measured"])
    met = {True: "yes", False: "**no**", None: "–"}[target["met"]]
    run = "–" if figure is None else figure[0]
    return f"| {target['what']} | {bound} {number(target['wanted'])} | {measured} | {met} | {run} |"


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in values.items())


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_shown(one) for one in value) + "]"
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def main(arguments: list[str] | None = None) -> int:
    """Write the page of the results that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, help="JSON files of bench/results, the oldest first")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the Markdown goes")
    asked = parser.parse_args(arguments)
    asked.page.write_text(
        page_of([json.loads(file.read_text(encoding="utf-8")) for file in asked.results]), encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
