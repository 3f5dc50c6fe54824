"""
The importer: looks once a second for files to merge, and merges them, four at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lastro.ledger import Ledger
from lastro.telemetry import measure
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 1_000
JITTER: Final = 0.1


class Importer:
    """
    One round a tick: it claims files until there is none left; several at once share the work. A file that it is killed
    with is claimed again after a minute.

    Once *stopping* says so, what is being read is given back; a merge in hand is finished. Measures
    `lastro_import_backlog_age_ms` a round, and after work `lastro_imported_files`, `lastro_imported_rows` (written or
    deleted) and `lastro_import_errors`.
    """

    name = "importer"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(self, ledger: Ledger, *, stopping: Callable[[], bool] = lambda: False) -> None:
        self._ledger = ledger
        self._stopping = stopping

    def run_once(self) -> Facts:
        """Run one round."""
        backlog = self._ledger.imports.backlog()
        measure("lastro_import_backlog_age_ms", backlog.age_ms)
        if not backlog.waiting:
            return Facts({"merged": 0, "errors": 0, "given_back": 0, "rows": 0})
        done = self._ledger.imports.work(stopping=self._stopping)
        measure("lastro_imported_files", done.merged)
        measure("lastro_imported_rows", done.rows_written)
        if done.errors:
            measure("lastro_import_errors", done.errors)
        return Facts(
            {"merged": done.merged, "errors": done.errors, "given_back": done.given_back, "rows": done.rows_written}
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._ledger.close()
