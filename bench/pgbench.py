"""
Loads made by the wheel's own pgbench: catalogue statements turned into its scripts, and its log read for latencies.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.loads import Load, percentile
from lastro.embedded import EmbeddedServer

_PARAMETER = re.compile(r"%\((?P<name>[a-z_]+)\)s|%%")
_TPS = re.compile(r"^tps = ([0-9.]+) \(without", re.MULTILINE)
_PROCESSED = re.compile(r"^number of transactions actually processed: ([0-9]+)", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: ([0-9]+)", re.MULTILINE)
# pgbench's own threads: more than the machine's two cores only take turns.
THREADS_MAX = 2
# Of so many transactions a second one in ten tells the 99th percentile well, and writing them costs next to nothing.
SAMPLED = 0.1
US_A_MS, US_A_S = 1_000, 1_000_000


@dataclass(frozen=True, kw_only=True)
class Script:
    """A pgbench script, and the variables that it is given (-D)."""

    text: str
    variables: Mapping[str, str]


class Timed(NamedTuple):
    """One transaction: when it ended, in seconds since the epoch, and how long it took."""

    ended_s: float
    ms: float


class UnknownParameter(KeyError):
    """A catalogue statement takes a parameter that the benchmark has no value for."""


def script_of(statement: str, values: Mapping[str, str], *, drawn: str = "", **variables: object) -> Script:
    """
    Turn a catalogue statement into a pgbench script.

    `values`: for each parameter of the statement what stands in its place: `:variable`, `NULL` or an expression of
    them. `drawn`: the `\\set` lines that draw new variables for each transaction. `variables`: fixed ones. All arrive
    at the server as parameters of a prepared statement, as from a driver.
    """

    def value(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return "%"
        try:
            return values[name]
        except KeyError:
            raise UnknownParameter(name) from None

    text = _PARAMETER.sub(value, statement)
    lines = [drawn.strip(), f"{text.strip().removesuffix(';')};"]
    return Script(
        text="\n".join(line for line in lines if line) + "\n",
        variables={name: str(value) for name, value in variables.items()},
    )


def run(server: EmbeddedServer, script: Script, *, clients: int, seconds: int, seed: int) -> Load:
    """Run *script* with prepared statements from so many clients; an aborted client or a failed transaction raises."""
    limits = ["--time", str(seconds), "--sampling-rate", str(SAMPLED)]
    said, log = _run(server, script, limits, clients=clients, seed=seed)
    return load_of(said, sorted(one.ms for one in log))


def run_so_many(server: EmbeddedServer, script: Script, *, clients: int, transactions: int, seed: int) -> None:
    """Run *script* so many times, rounded up to as many by each client."""
    limits = ["--transactions", str(-(-transactions // clients))]
    load_of(_run(server, script, limits, clients=clients, seed=seed)[0], [])


def run_at_rate(
    server: EmbeddedServer, script: Script, *, clients: int, seconds: int, rate: float, seed: int
) -> list[Timed]:
    """
    Run *script* as often a second, whether the last ones are done or not, and return each transaction.

    A time counts from the moment at which it was meant to start: who had to wait for a client has waited.
    """
    limits = ["--time", str(seconds), "--rate", f"{rate:.1f}"]
    said, log = _run(server, script, limits, clients=clients, seed=seed)
    load_of(said, [])
    return log


def _run(
    server: EmbeddedServer, script: Script, limits: list[str], *, clients: int, seed: int
) -> tuple[str, list[Timed]]:
    with tempfile.TemporaryDirectory(prefix="lastro-pgbench-") as folder:
        file = Path(folder) / "script.sql"
        file.write_text(script.text, encoding="utf-8")
        argv = [
            str(server.bin("pgbench")), "--no-vacuum", "--protocol", "prepared", "--client", str(clients),
            "--jobs", str(min(clients, THREADS_MAX)), "--file", str(file), *limits,
            "--random-seed", str(seed), "--log", "--log-prefix", str(Path(folder) / "log"),
            *(f"--define={name}={value}" for name, value in script.variables.items()),
        ]  # fmt: skip
        done = subprocess.run(argv, env=server.environment(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"pgbench failed:\n{done.stderr.strip()[-2000:]}\n{script.text}")
        lines = (log.read_text(encoding="utf-8").splitlines() for log in Path(folder).glob("log*"))
        return done.stdout, [_timed(line.split()) for of_thread in lines for line in of_thread]


def _timed(fields: list[str]) -> Timed:
    return Timed(int(fields[4]) + int(fields[5]) / US_A_S, int(fields[2]) / US_A_MS)


def load_of(report: str, latencies_ms: list[float]) -> Load:
    """Read pgbench's report."""
    tps, processed, failed = _TPS.search(report), _PROCESSED.search(report), _FAILED.search(report)
    if tps is None or processed is None or failed is None:
        raise RuntimeError(f"pgbench said something else than expected:\n{report}")
    if int(failed[1]):
        raise RuntimeError(f"{failed[1]} transactions failed:\n{report}")
    return Load(
        per_s=float(tps[1]),
        p50_ms=percentile(latencies_ms, 0.5),
        p99_ms=percentile(latencies_ms, 0.99),
        more={"processed": float(processed[1])},
    )
