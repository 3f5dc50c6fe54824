"""
Reconciliation, awaiting: one line a method.
"""

from __future__ import annotations

from lastro.ledger.running_async import AsyncWalks
from lastro.model.incident import Incident, OnDrift, Reconciled
from lastro.model.limits import RECONCILIATION_REST_TIMES
from lastro.plans.reconciling import AfterBatch

INCIDENTS_SHOWN = 100


class AsyncReconciles(AsyncWalks):
    """
    Comparing what is stored with what the history says, in transactions of the ledger's own.
    """

    async def reconcile(
        self,
        *,
        full: bool = False,
        on_drift: OnDrift = "report",
        rest: float = RECONCILIATION_REST_TIMES,
        after_batch: AfterBatch | None = None,
    ) -> Reconciled:
        """
        Compare each account that moved since its numbers last agreed with its history and its holds: one round.

        `full` compares all accounts and reads all of their history; otherwise a round goes on from where it agreed
        last. Each account is read in one snapshot, and what differs is looked at twice. It opens an incident (an ERROR
        in the log, `lastro_incidents_opened`) that stays until `explain`. The balance is never changed;
        `on_drift="adjust"` also posts the difference as one transfer of kind "adjustment" from or to the world, under
        the key `adjustment:<incident>`, so that the history explains the balance again. Of an incident that was
        explained nothing is posted.

        Locks nothing that a posting waits for, but the base row of an account that is adjusted. After each batch of
        accounts it rests `rest` (0 … 100) times as long as that took, 2 s at most. `after_batch` is told the accounts
        of each batch of at most 200; when it returns False the round ends there.
        """
        reconciled: Reconciled = await self._walk(
            self._operations.reconcile(full=full, on_drift=on_drift, rest=rest, after_batch=after_batch)
        )
        return reconciled

    async def incidents(
        self,
        *,
        open: bool = True,  # noqa: A002  (the word that people say; nothing here opens files)
        before: int | None = None,
        limit: int = INCIDENTS_SHOWN,
    ) -> list[Incident]:
        """
        Return up to `limit` (1 … 1,000) incidents, the newest first: those nobody has explained, or all (`open=False`).

        For the next page pass the last one's `id` as `before`. Locks nothing.
        """
        return await self._run(self._operations.incidents(only_open=open, before=before, limit=limit))

    async def explain(self, incident: int, *, explanation: str, actor: str) -> Incident:
        """
        Say what an incident was (1 … 1,000 characters) and who found out; that closes it.

        While the same difference is there it stays explained; another one, or the same again after it was gone, opens a
        new incident. Raises UnknownIncident, and IncidentExplained where it was explained in other words.
        """
        return await self._run(self._operations.explain(incident, explanation=explanation, actor=actor))
