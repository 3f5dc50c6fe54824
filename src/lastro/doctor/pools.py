"""
Readings of pools: a PgBouncer's own view of who waits for a connection, and the pools of this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from lastro.doctor.readings import Reading
from lastro.engine.pooler import PoolerConsole
from lastro.errors import LastroError
from lastro.ledger import Ledger

US_IN_A_SECOND: Final = 1_000_000
# The console's own pool.
CONSOLE: Final = "pgbouncer"


class Pools:
    """
    The pools between applications and the database.
    """

    def __init__(self, *, pooler: str | None, pools: Mapping[str, Ledger], prepared: bool) -> None:
        self._console = None if pooler is None else PoolerConsole(pooler)
        self._pools = pools
        self._prepared = prepared

    def read(self, *, pooled: bool | None) -> Iterator[Reading]:
        """Return readings of every pool that is known; *pooled*: whether one stands between the doctor and the database."""
        if pooled is not None:
            yield Reading("pooler_between", int(pooled), "poolers")
        for name, ledger in self._pools.items():
            yield from _of_process(name, ledger)
        if self._console is not None:
            try:
                yield from _of_console(self._console, prepared=self._prepared)
            except LastroError as error:
                yield Reading("pooler", None, "", trouble=f"the pooler's console can't be read: {error}")

    def close(self) -> None:
        """Close the console's connection."""
        if self._console is not None:
            self._console.close()


def _of_process(name: str, ledger: Ledger) -> Iterable[Reading]:
    standing: dict[str, int] = getattr(ledger._engine, "pool_standing", dict)()  # noqa: SLF001 - a ledger's pool is its engine's
    if not standing:
        return
    detail = {
        "of": "this process",
        "size": standing["size"],
        "size_max": standing["size_max"],
        "idle": standing["idle"],
    }
    yield Reading("pool_waiting", standing["waiting"], "callers", name, detail)
    yield Reading("pool_waited", standing["waited_ms"], "ms", name, {"waits": standing["waits"]})


def _of_console(console: PoolerConsole, *, prepared: bool) -> Iterator[Reading]:
    config = {row["key"]: row["value"] for row in console.ask("pooler.config")}
    yield Reading(
        "pooler",
        config.get("pool_mode", ""),
        "mode",
        detail={
            "version": console.version(),
            # Poolers before 1.21 have no such setting, and lose them.
            "prepared_max": int(config.get("max_prepared_statements", 0)),
            "knows_prepared": "max_prepared_statements" in config,
            "prepared": prepared,
            "pool_size": int(config.get("default_pool_size", 0)),
        },
    )
    for row in console.ask("pooler.pools"):
        if row["database"] == CONSOLE:
            continue
        name = f"{row['database']} as {row['user']}"
        detail = {"of": "PgBouncer", "serving": row["cl_active"], "size": row["sv_active"] + row["sv_idle"]}
        yield Reading("pool_waiting", row["cl_waiting"], "clients", name, detail)
        yield Reading("pool_longest_wait", row["maxwait"] + row["maxwait_us"] / US_IN_A_SECOND, "s", name)
    for row in console.ask("pooler.stats"):
        if row["database"] != CONSOLE:
            yield Reading("pool_average_wait", row["avg_wait_time"] / US_IN_A_SECOND, "s", row["database"])
