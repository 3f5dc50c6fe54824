"""
The naive ledger: what a ledger must answer, said as plainly as possible, for random histories to be compared with.

It knows nothing of keepings but their names, nothing of tails, locks or transactions, and takes nothing from Lastro.
"""

from __future__ import annotations

from typing import Any


class No(Exception):
    """A refusal: its code, and the numbers it speaks of."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(code, details)
        self.answer = (code, details)


class Naive:
    """One currency's accounts, transfers and counters, in memory."""

    def __init__(self) -> None:
        self.accounts: dict[str, dict[str, Any]] = {}  # name -> keeping, floor, closed
        self.transfers: dict[str, tuple[str, str, int, str, str | None]] = {}  # in the order of posting
        self.counters: dict[str, int] = {}

    def open_account(self, name: str, keeping: str = "direct", floor: int | None = 0) -> str:
        """Open an account, and the world with the first one."""
        if name == "world":
            raise No("invalid_input")
        self.accounts.setdefault("world", {"keeping": "summed", "floor": None, "closed": False})
        there = self.accounts.setdefault(name, {"keeping": keeping, "floor": floor, "closed": False})
        if there["closed"]:
            raise No("account_closed")
        asked = {"keeping": keeping, "floor": floor}
        fields = sorted(field for field in asked if asked[field] != there[field])
        if fields:
            raise No("account_conflict", fields=fields)
        return "opened"

    def post(  # noqa: PLR0917  (positional for brevity: this is the plain one)
        self, key: str, debit: str, credit: str, amount: int, kind: str = "test", reverses: str | None = None
    ) -> str:
        """Post once: the key is judged first, then the accounts, then the funds."""
        if debit == credit:
            raise No("invalid_input")
        wanted = (debit, credit, amount, kind, reverses)
        if key in self.transfers:
            names = ("debit", "credit", "amount", "kind", "reverses")
            pairs = zip(names, self.transfers[key], wanted, strict=True)
            fields = sorted(name for name, stored, asked in pairs if stored != asked)
            if fields:
                raise No("transfer_conflict", fields=fields)
            return "replayed"
        self.check_usable(debit, credit)
        floor = self.accounts[debit]["floor"]
        if reverses is None and floor is not None and self.balance(debit) - amount < floor:
            raise No("insufficient_funds", needed=amount, available=self.balance(debit), floor=floor)
        self.transfers[key] = wanted
        return "created"

    def post_many(self, transfers: list[dict[str, Any]], partial: bool = False) -> list[Any]:
        """Post one after the other; all or nothing unless *partial*."""
        before, answers = dict(self.transfers), list[Any]()
        for index, wanted in enumerate(transfers):
            if wanted["debit"] == wanted["credit"] and not partial:
                raise No("invalid_input", index=index)
        for index, wanted in enumerate(transfers):
            try:
                answers.append(self.post(**wanted))
            except No as no:
                if not partial:
                    self.transfers = before
                    raise No(no.answer[0], index=index, **no.answer[1]) from None
                answers.append(no.answer)
        return answers

    def reverse(self, key: str, new_key: str, amount: int | None = None) -> str:
        """Undo a transfer, or a part of it that is still left."""
        if key not in self.transfers:
            raise No("unknown_transfer")
        debit, credit, original, _, _ = self.transfers[key]
        if new_key in self.transfers:
            stored = self.transfers[new_key][2]
            return self.post(new_key, credit, debit, stored if amount is None else amount, "reversal", key)
        self.check_usable(credit, debit)
        left = original - sum(t[2] for t in self.transfers.values() if t[4] == key)
        if left == 0 or (amount is not None and amount > left):
            raise No("already_reversed", left=left)
        return self.post(new_key, credit, debit, left if amount is None else amount, "reversal", key)

    def keep(self, name: str, keeping: str) -> str:
        """Change the keeping, which changes no answer."""
        self.check_usable(name)
        self.accounts[name]["keeping"] = keeping
        return keeping

    def close_account(self, name: str) -> str:
        """Close an empty account for good."""
        if name not in self.accounts:
            raise No("unknown_account")
        if not self.accounts[name]["closed"] and self.balance(name):
            raise No("account_not_empty", posted=self.balance(name))
        self.accounts[name]["closed"] = True
        return "closed"

    def bump(self, counter: str, change: int) -> None:
        """Count."""
        self.counters[counter] = self.counters.get(counter, 0) + change

    def consolidate(self) -> None:
        """Change nothing: folding the tail in is nobody's business but the ledger's."""

    def check_usable(self, *names: str) -> None:
        """Refuse accounts that aren't there or are closed; where both is so of a transfer, either may be said."""
        unknown = any(name not in self.accounts for name in names)
        closed = any(self.accounts[name]["closed"] for name in names if name in self.accounts)
        if unknown or closed:
            raise No("|".join(["unknown_account"] * unknown + ["account_closed"] * closed))

    def entries(self, name: str) -> list[tuple[str, int]]:
        """Return the signed entries of an account, oldest first."""
        return [
            (key, amount if credit == name else -amount)
            for key, (debit, credit, amount, _, _) in self.transfers.items()
            if name in (debit, credit)
        ]

    def balance(self, name: str) -> int:
        """Return the sum of an account's entries."""
        return sum(signed for _, signed in self.entries(name))
