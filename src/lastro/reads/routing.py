"""
Which read goes where: what may lag to the read model or a replica, and a short list to the primary.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal, TypeAlias

from lastro.errors import InvalidInput
from lastro.ledger import Ledger
from lastro.model.account import Account, Balance
from lastro.model.hold import Hold
from lastro.model.transfer import Transfer
from lastro.plans.reads import ReadBalance, ReadBet, ReadEntry
from lastro.reads.model import SHOWN, ReadModel

Route: TypeAlias = Literal["read model", "replica", "primary"]

# Whatever isn't here isn't read through `Reads`. On the primary: what somebody is about to decide by.
ROUTES: Final[dict[str, Route]] = {
    "shown_balance": "read model",
    "shown_entries": "read model",
    "open_bets": "read model",
    "bets": "read model",
    "accounts": "replica",
    "balance_at": "replica",
    "balance": "primary",
    "transfer": "primary",
    "hold": "primary",
}


class Reads:
    """
    The reads of an application, each sent where `ROUTES` says.

    Without a replica its reads go to the primary; without a read model its reads are refused, for the primary has none of
    them at their price. Nothing falls back by itself: a primary at its peak isn't helped by every screen at once.
    """

    def __init__(self, primary: Ledger, *, replica: Ledger | None = None, model: ReadModel | None = None) -> None:
        self._primary, self._replica, self._read_model = primary, replica or primary, model

    def shown_balance(self, account: str, currency: str) -> ReadBalance:
        """Return a balance for a screen, as far as events have come: it may lag."""
        return self._model().balance(account, currency)

    def shown_entries(
        self, account: str, currency: str, *, before: int | None = None, limit: int = SHOWN
    ) -> list[ReadEntry]:
        """Return entries for a screen, the newest first; they may lag."""
        return self._model().entries(account, currency, before=before, limit=limit)

    def open_bets(self, account: str, *, limit: int = SHOWN) -> list[ReadBet]:
        """Return open bets for a screen; they may lag, but whoever has just placed one holds it in the answer."""
        return self._model().open_bets(account, limit=limit)

    def bets(self, account: str, *, limit: int = SHOWN) -> list[ReadBet]:
        """Return bets for a screen; they may lag."""
        return self._model().bets(account, limit=limit)

    def accounts(
        self, *, after: tuple[str, str] | None = None, limit: int = SHOWN, prefix: str | None = None
    ) -> list[Account]:
        """Return a page of accounts, from the replica."""
        return self._replica.accounts(after=after, limit=limit, prefix=prefix)

    def balance_at(self, account: str, currency: str, at: datetime) -> Balance:
        """Return the balance at a moment, from the replica; a moment that the replica hasn't reached is incomplete."""
        return self._replica.balance(account, currency, at=at)

    def balance(self, account: str, currency: str) -> Balance:
        """Return what is posted, held and available now, from the primary: to decide by."""
        return self._primary.balance(account, currency)

    def transfer(self, key: str) -> Transfer | None:
        """Return the transfer of a key, from the primary: to find out whether it was posted."""
        return self._primary.transfer(key)

    def hold(self, key: str) -> Hold:
        """Return a hold as it stands, from the primary."""
        return self._primary.hold(key)

    def _model(self) -> ReadModel:
        if self._read_model is None:
            raise InvalidInput("there is no read model to read this from: Reads(…, model=…)", argument="model")
        return self._read_model
