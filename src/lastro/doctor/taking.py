"""
Taking a sample: every probe that is due, on one connection, each statement within its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from lastro.doctor import on_backlogs, on_server, on_sessions, on_tables
from lastro.doctor.pools import Pools
from lastro.doctor.probe import Look, Probe
from lastro.doctor.readings import Reading, Sample
from lastro.engine.connecting import open_engine
from lastro.engine.settings import EngineSettings
from lastro.errors import ConnectionLost, InvalidInput, LastroError, OutcomeUnknown
from lastro.ledger import Ledger
from lastro.plans.plan import TOGETHER, Effect, Plan, Rows, step
from lastro.sql.catalogue import LEDGER, catalogue, ledger_name

STATEMENT_TIMEOUT_MS: Final = 500
# A probe that failed isn't asked again at once: it may have cost its whole time.
TROUBLE_RESTS_S: Final = 30.0
NOT_YOURS: Final = (
    "this role may not read the ledger's tables: GRANT USAGE ON SCHEMA and SELECT ON ALL TABLES IN SCHEMA, "
    "or the role pg_read_all_data"
)
PROBES: Final[tuple[Probe, ...]] = (*on_sessions.PROBES, *on_server.PROBES, *on_backlogs.PROBES, *on_tables.PROBES)


class Readings:
    """
    Takes samples of the database at *url*, on one connection of its own; it changes nothing there.

    *pooler* is the URL of a PgBouncer's console (`postgresql://user@host:6432/pgbouncer`). *pools* are ledgers of this
    process whose pools are read, by a name for each; *also* gives readings of the caller's own to each sample.
    """

    def __init__(
        self,
        url: str,
        *,
        ledger: str = LEDGER,
        pooler: str | None = None,
        pools: Mapping[str, Ledger] | None = None,
        also: Callable[[], Iterable[Reading]] = tuple,
        prepared: bool = True,
        statement_timeout_ms: int = STATEMENT_TIMEOUT_MS,
    ) -> None:
        self._settings = EngineSettings(url, ledger_name(ledger), pool_max=1, prepared=prepared)
        self._engine = open_engine(self._settings)
        self._statements = catalogue(self._engine.dialect, self._settings.ledger)
        refused = self._statements["doctor_sessions.moment"].refused
        if refused:
            raise InvalidInput(f"the doctor has nothing to read here: {refused}", argument="url")
        self._pools = Pools(pooler=pooler, pools=pools or {}, prepared=prepared)
        self._also = also
        self._statement_timeout = f"{statement_timeout_ms}ms"
        self._kept: dict[str, tuple[Reading, ...]] = {}
        self._next_s: dict[str, float] = {}

    def take(self) -> Sample:
        """
        Take a sample. What can't be read is in it, with its trouble; raises only where the database can't be reached.
        """
        now_s = time.monotonic()
        due = [probe for probe in PROBES if now_s >= self._next_s.get(probe.name, now_s)]
        look = self._look(due, now_s)
        pooled = self._through_pooler(look)
        taken = [reading for probe in PROBES for reading in self._kept.get(probe.name, ())]
        taken += self._pools.read(pooled=pooled)
        taken += self._also()
        return Sample(look.moment["now"], tuple(taken))

    def close(self) -> None:
        """Close the connections."""
        self._engine.close()
        self._pools.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _look(self, due: Sequence[Probe], now_s: float) -> Look:
        """Ask the probes that are due. One that fails costs the transaction, so the others are asked in the next one."""
        left, known = list(due), dict[str, Rows]()
        look: Look | None = None
        while look is None or left:
            under_way: list[Look] = []
            asked = len(left)
            try:
                self._engine.run(
                    lambda: self._asking(left, under_way, known),  # noqa: B023 - it is run here and now
                    Effect.GLANCE,
                )
            except LastroError as error:
                reached = bool(under_way) and bool(left) and not isinstance(error, ConnectionLost | OutcomeUnknown)
                if not reached:
                    raise
                self._in_trouble(left.pop(0), _said(error), now_s)
            if under_way:
                look = under_way[0]
                known = dict(look.rows)
            assert len(left) < asked or not left, "each transaction answers or drops a probe"
        self._rest(due, now_s)
        return look

    def _asking(self, left: list[Probe], under_way: list[Look], known: Mapping[str, Rows]) -> Plan[None]:
        """Ask what is *left*, and take each that is answered off it."""
        yield TOGETHER
        yield step("doctor_sessions.limit_time", statement_timeout=self._statement_timeout)
        rows = yield step("doctor_sessions.moment")
        look = Look(rows[0], dict(known))
        under_way.append(look)
        while left:
            probe = left[0]
            refused = self._statements[probe.statement].refused
            if refused or not probe.wanted(look):
                # Where a store has no such thing, nothing is missing.
                self._kept[probe.name] = ()
            elif probe.of_ledger and not look.moment["reads_ledger"]:
                self._kept[probe.name] = (_trouble(probe, NOT_YOURS),)
            else:
                rows = yield step(probe.statement, **probe.params)
                look.rows[probe.name] = rows
                self._kept[probe.name] = tuple(probe.reads(rows, look))
            left.pop(0)

    def _through_pooler(self, look: Look) -> bool | None:
        """Say whether a pooler stands in between: it tells its clients a session's number of its own making."""
        told = getattr(self._engine, "session_told", lambda: None)()
        pooled = None if told is None else told != look.moment["backend"]
        if pooled and self._settings.prepared:
            # It may lose them, and the doctor's own statements must not be what breaks.
            self._engine.close()
            self._settings = self._settings._replace(prepared=False)
            self._engine = open_engine(self._settings)
        return pooled

    def _in_trouble(self, probe: Probe, why: str, now_s: float) -> None:
        self._kept[probe.name] = (_trouble(probe, why),)
        self._next_s[probe.name] = now_s + TROUBLE_RESTS_S

    def _rest(self, due: Iterable[Probe], now_s: float) -> None:
        for probe in due:
            if self._next_s.get(probe.name, 0.0) <= now_s and probe.every_s:
                self._next_s[probe.name] = now_s + probe.every_s


def _trouble(probe: Probe, why: str) -> Reading:
    return Reading(probe.name, None, "", trouble=why)


def _said(error: LastroError) -> str:
    return f"{error} [{error.code}]"
