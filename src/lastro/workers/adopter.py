"""
The adopter: compares the adoptions in their shadow phase with their old columns, and mirrors the ledger after a cut-over.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from lastro.adopting.values import Adoption, AdoptionReport
from lastro.errors import AdoptionNotReady, SchemaOutdated
from lastro.ledger import Ledger
from lastro.telemetry import measure
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 30_000
JITTER: Final = 0.1

_log = logging.getLogger("lastro.workers")


class Adopter:
    """
    One round a tick, through every adoption; where there is none, a look at one row. Reads each old table whole, by pages.

    Once *stopping* says so, the page in hand is the round's last. Measures `lastro_adoption_differences` and
    `lastro_adoption_rows_mirrored` by adoption; a new difference is an ERROR in the log, with its account and cause.
    """

    name = "adopter"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(self, ledger: Ledger, *, stopping: Callable[[], bool] = lambda: False) -> None:
        self._ledger = ledger
        self._stopping = stopping
        self._said: set[tuple[str, str, str]] = set()

    def run_once(self) -> Facts:
        """Run one round."""
        figures = {"compared": 0, "differences": 0, "mirrored": 0}
        for name in self._ledger.adopting.names():
            adoption = self._ledger.adopting.status(name)
            if self._stopping():
                break
            try:
                self._look_after(adoption, figures)
            except SchemaOutdated as error:
                # The ledger's own tables answered a moment ago, so it is the application's that changed: no reason for
                # all the other workers to end.
                raise AdoptionNotReady(
                    f"adoption {name!r}: the old table is not as it was declared ({error}); put it back, or leave this "
                    "worker out: name the others to `lastro work`",
                    adoption=name,
                    phase=adoption.phase,
                    step="compare" if adoption.phase == "shadow" else "mirror",
                ) from error
        return Facts(figures)

    def _look_after(self, adoption: Adoption, figures: dict[str, int]) -> None:
        if adoption.phase == "shadow":
            compared, differences = self._compare(adoption)
            figures["compared"] += compared
            figures["differences"] += differences
        elif adoption.phase == "ledger":
            mirrored, differences = self._mirror(adoption)
            figures["mirrored"] += mirrored
            figures["differences"] += differences

    def close(self) -> None:
        """Let go of the connections."""
        self._ledger.close()

    def _compare(self, adoption: Adoption) -> tuple[int, int]:
        report = self._ledger.adopting.compare(adoption.name, after_page=lambda _: not self._stopping())
        self._say(adoption, report)
        return report.figures["rows"], len(report.differences)

    def _mirror(self, adoption: Adoption) -> tuple[int, int]:
        report = self._ledger.adopting.mirror(adoption.name, after_page=lambda _: not self._stopping())
        measure("lastro_adoption_rows_mirrored", report.figures["written"], adoption=adoption.name)
        self._say(adoption, report)
        return report.figures["written"], len(report.differences)

    def _say(self, adoption: Adoption, report: AdoptionReport) -> None:
        measure("lastro_adoption_differences", len(report.differences), adoption=adoption.name)
        found = {(adoption.name, one.row, one.cause) for one in report.differences}
        for one in report.differences:
            if (adoption.name, one.row, one.cause) not in self._said:
                _log.error(
                    "adoption %s, row %s, account %s: %s (the column says %s, the ledger %s)",
                    adoption.name, one.row, one.account, one.cause, one.expected, one.found,
                )  # fmt: skip
        self._said = {said for said in self._said if said[0] != adoption.name} | found
