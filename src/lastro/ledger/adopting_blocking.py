"""
The adoptions of a blocking ledger: one line a method.
"""

from __future__ import annotations

from lastro.adopting.declaration import OldColumn
from lastro.adopting.importing import AfterRows
from lastro.adopting.tallying import AfterPage
from lastro.adopting.values import Adoption, AdoptionEvent, AdoptionReport, AdoptionSurvey, Difference
from lastro.adopting.words import Phase
from lastro.ledger.adopting import AdoptingAsks
from lastro.ledger.operations import Operations
from lastro.ledger.running import HeldEngine, Runs, Walks
from lastro.model.limits import ADOPTION_BLOCK_MS_MAX, ADOPTION_COMPARED_WITHIN_S

SHOWN = 100


class HeldAdopting(Runs):
    """
    What an application asks of an adoption in its own transaction: `ledger.within(connection).adopting`.
    """

    def __init__(self, engine: HeldEngine, operations: Operations) -> None:
        super().__init__(engine, operations)
        self._asks = AdoptingAsks(operations)

    def phase(self, name: str) -> Phase:
        """
        Return the phase of an adoption, which stays as it is until the transaction ends.

        "importing": write the old column, and don't post. "shadow": write it and post. "ledger": post, and leave the
        column alone. Ask before the first write: on SQLite it takes the write lock. Locks the adoption's row in share
        mode, so whoever changes the phase waits for you, and you for them. An adoption that has ended is what it ended
        as: finished it is "ledger", abandoned "importing". Raises UnknownAdoption.
        """
        return self._run(self._asks.phase(name))


class Adopting(HeldAdopting, Walks):
    """
    Taking over balances that stand in a column of the application's own, with a way back: `ledger.adopting`.

    Survey, import, shadow, compare, cut over, mirror; roll back; finish, or abandon. Each step may be killed anywhere and asked for again: it
    goes on where it was; asked for once more it does nothing. A step out of order raises AdoptionNotReady, which names
    the one that comes first. `dry_run` changes nothing and says what stands in the way.
    """

    def survey(self, column: OldColumn) -> AdoptionSurvey:
        """
        Return what is in the old table, and what of it can't be adopted. Writes nothing; reads the whole table, unlocked.
        """
        return self._run(self._asks.survey(column))

    def names(self) -> list[str]:
        """Return the names of the adoptions, 100 at most."""
        return self._run(self._asks.names())

    def status(self, name: str) -> Adoption:
        """Return where an adoption stands. Locks nothing. Raises UnknownAdoption."""
        return self._run(self._asks.status(name))

    def differences(self, name: str, *, limit: int = SHOWN) -> list[Difference]:
        """Return up to `limit` (1 … 1,000) open differences, by row."""
        return self._run(self._asks.differences(name, limit=limit))

    def events(self, name: str, *, limit: int = SHOWN) -> list[AdoptionEvent]:
        """Return up to `limit` (1 … 1,000) of the things that were done or found, the newest first."""
        return self._run(self._asks.events(name, limit=limit))

    def import_rows(
        self, column: OldColumn, *, actor: str | None = None, after_rows: AfterRows | None = None
    ) -> AdoptionReport:
        """
        Begin an adoption, and give each row an account with an opening balance: 1,000 rows a transaction, in their order.

        A transfer of kind `opening`, keyed `adopt:<name>:<row>:opening`, brings the account to what the row holds at that
        moment; what was written since is posted in the same way, row by row. Locks these rows and waits for none that
        is new: one that is being written comes in a later pass. `after_rows` is told the rows of each transaction;
        when it returns False the import ends there. Rows that can't be imported are among the differences. Raises
        AdoptionNotReady, AdoptionConflict, InvalidInput.
        """
        report: AdoptionReport = self._walk(self._asks.import_rows(column, actor=actor, after_rows=after_rows))
        return report

    def shadow(self, name: str, *, actor: str | None = None, dry_run: bool = False) -> AdoptionReport:
        """
        Bring every account to its row with nobody between, and say that the application posts beside its old writes.

        Whoever asks for the phase waits meanwhile; rows that were written since the import are few, for most are caught
        up with beforehand. Raises AdoptionNotReady while a row has no account.
        """
        report: AdoptionReport = self._walk(self._asks.shadow(name, actor=actor, dry_run=dry_run))
        return report

    def compare(self, name: str, *, after_page: AfterPage | None = None) -> AdoptionReport:
        """
        Import new rows, then compare each row with its account, both in one snapshot, and note what differs, and why.

        A difference counts when nothing has moved 200 ms later. Locks nothing of the application's. `after_page` is
        told the rows of each page of 2,000; when it returns False the comparison ends there. After a cut-over it looks
        for what the mirror leaves alone; what the mirror has yet to write is `behind` in the figures, and no difference.
        """
        report: AdoptionReport = self._walk(self._asks.compare(name, after_page=after_page))
        return report

    def adjust(self, name: str, *, reason: str, actor: str, row: str | None = None) -> AdoptionReport:
        """
        Post what brings each account with an open difference, or that of one `row`, to what its row holds now.

        Each in a transaction that locks the row; a transfer of kind `adjustment`, with the reason in its metadata.
        """
        report: AdoptionReport = self._walk(self._asks.adjust(name, row=row, reason=reason, actor=actor))
        return report

    def cut_over(
        self,
        name: str,
        *,
        actor: str | None = None,
        dry_run: bool = False,
        compared_within_s: int = ADOPTION_COMPARED_WITHIN_S,
        block_ms_max: int = ADOPTION_BLOCK_MS_MAX,
    ) -> AdoptionReport:
        """
        Make the ledger the truth. From its return on the database refuses every other writing of the old column.

        Needs a comparison from end to end within the last `compared_within_s` and no open difference. Then compares all
        rows once more, while whoever writes the column or asks for the phase waits (`blocked_ms` in the figures), and
        changes the phase in the same commit, or raises AdoptionNotReady and leaves all as it was. Not begun where that
        took longer than `block_ms_max` when it was tried just before, with nobody waiting. A wait for the lock gives way
        after 2 s and comes again, 30 times; LockTimeout at last.
        """
        report: AdoptionReport = self._walk(
            self._asks.cut_over(
                name,
                actor=actor,
                dry_run=dry_run,
                compared_within_s=compared_within_s,
                block_ms_max=block_ms_max,
            )
        )
        return report

    def mirror(self, name: str, *, after_page: AfterPage | None = None) -> AdoptionReport:
        """
        Write the balances that have changed into the old column, for whoever still reads it: 500 rows a transaction.

        A row whose column doesn't take its balance, or that names another currency than its account has, is left as it
        is: it is among the problems and differences, and stops nobody else's.
        `after_page` is told the rows that each transaction wrote; when it returns False the round ends there.
        """
        report: AdoptionReport = self._walk(self._asks.mirror(name, after_page=after_page))
        return report

    def admit(self, name: str, *, row: str, reason: str, actor: str, discard: bool = False) -> AdoptionReport:
        """
        Take over one `row` that came among the declared ones after the cut-over with a balance that the ledger never had.

        A transfer of kind `opening` posts that balance on top of what the account holds; with `discard` the ledger's own
        balance stands, and the mirror writes it over the column's. Either once, with its reason. Raises AdoptionNotReady
        where the row isn't among the differences as `not_taken_over`, and what a posting raises.
        """
        report: AdoptionReport = self._walk(
            self._asks.admit(name, row=row, reason=reason, actor=actor, discard=discard)
        )
        return report

    def roll_back(self, name: str, *, actor: str | None = None, dry_run: bool = False) -> AdoptionReport:
        """
        Make the old column the truth again: write every balance into it, and change the phase to "shadow" in one commit.

        Whoever posts to an account of the adoption waits meanwhile; only a credit of an account kept hot doesn't, unless
        its transaction asked for the phase. Then the triggers are taken away. In the other phases there is nothing to do.
        """
        report: AdoptionReport = self._walk(self._asks.roll_back(name, actor=actor, dry_run=dry_run))
        return report

    def finish(self, name: str, *, actor: str | None = None, dry_run: bool = False) -> AdoptionReport:
        """
        End an adoption in the phase "ledger", when nobody will roll back any more: there is no way back from here.

        Mirrors once more, and takes the triggers away: nothing guards the column from then on, so drop it. Raises
        AdoptionNotReady while a row holds what the ledger never had. What was done and found stays on record.
        """
        report: AdoptionReport = self._walk(self._asks.finish(name, actor=actor, dry_run=dry_run))
        return report

    def abandon(
        self, name: str, *, actor: str | None = None, dry_run: bool = False, keep_balances: bool = False
    ) -> AdoptionReport:
        """
        End an adoption that isn't finished with the old column as the truth, and take away what it put on its table.

        In the phase "ledger" it rolls back first, or is refused as a roll-back is. Each account is emptied by a transfer
        of kind `adjustment`, keyed `adopt:<name>:<row>:abandoned`, 1,000 accounts a transaction, for the ledger isn't told
        of this money any more; `keep_balances` leaves them. One that can't be emptied, since something of it is held,
        keeps its balance, and is named. The accounts stay open, and may be adopted again under another name.
        """
        report: AdoptionReport = self._walk(
            self._asks.abandon(name, actor=actor, dry_run=dry_run, keep_balances=keep_balances)
        )
        return report
