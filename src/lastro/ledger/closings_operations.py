"""
What can be asked about the past, checked: closing days, and statements.
"""

from __future__ import annotations

from lastro.errors import InvalidInput
from lastro.ledger.asking import Asks, positive
from lastro.model.account import account_name, currency_code
from lastro.model.moment import optional_utc
from lastro.model.statement import by_word
from lastro.plans import closing_days, statements
from lastro.plans.closing_days import AfterBatch, DaysClosed
from lastro.plans.course import Course
from lastro.plans.statements import Opened


class AsksClosings(Asks):
    """
    What can be asked of a ledger's past.
    """

    def close_days(self, *, every_s: object, after_batch: AfterBatch | None) -> Course[DaysClosed]:
        """Ask to make the marks that are due."""
        return closing_days.close_days(every_s=positive(every_s, "every_s"), now=self.now(), after_batch=after_batch)

    def open_statement(
        self, name: object, currency: object, *, since: object, until: object, by: object
    ) -> Course[Opened]:
        """Ask for a statement."""
        first, end = optional_utc(since, argument="since"), optional_utc(until, argument="until")
        if first is not None and end is not None and end < first:
            raise InvalidInput(
                f"until is the end of the span and not part of it, so it can't lie before since; got "
                f"{first.isoformat()} … {end.isoformat()}",
                argument="until",
            )
        return statements.open_statement(
            account_name(name), currency_code(currency), since=first, until=end, by=by_word(by)
        )
