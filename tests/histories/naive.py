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
        self.holds: dict[str, dict[str, Any]] = {}  # account, amount, deadline, overdue; captured, released, expired
        self.captures: dict[str, tuple[str, bool]] = {}  # a transfer's key -> its hold, whether the rest was kept
        self.releases: dict[str, tuple[str, int]] = {}  # a release's key -> its hold and amount
        self.hour = 0

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
        if reverses is None and floor is not None and self.available(debit) - amount < floor:
            raise No("insufficient_funds", needed=amount, available=self.available(debit), floor=floor)
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
        if not self.accounts[name]["closed"] and (self.balance(name) or self.held(name)):
            raise No("account_not_empty", posted=self.balance(name))
        self.accounts[name]["closed"] = True
        return "closed"

    def place_hold(self, key: str, account: str, amount: int, deadline: int, overdue: str = "expire") -> str:
        """Set money aside once, if it is available."""
        if account == "world":
            raise No("invalid_input")
        asked = {"account": account, "amount": amount, "expires_at": deadline, "overdue": overdue}
        if key in self.holds:
            fields = sorted(name for name in asked if self.holds[key][name] != asked[name])
            if fields:
                raise No("hold_conflict", fields=fields)
            return "replayed"
        self.check_usable(account)
        if deadline <= self.hour:
            raise No("invalid_input")
        floor = self.accounts[account]["floor"]
        if floor is not None and self.available(account) - amount < floor:
            raise No("insufficient_funds", needed=amount, available=self.available(account), floor=floor)
        self.holds[key] = asked | {"captured": 0, "released": 0, "expired": 0}
        return "created"

    def capture(self, key: str, hold: str, credit: str, amount: int | None, final: bool) -> tuple[str, int, int]:
        """Transfer what is left of a hold, or a part, and give the rest back unless it is kept."""
        if hold not in self.holds:
            raise No("unknown_hold")
        debit = self.holds[hold]["account"]
        if credit == debit:
            raise No("invalid_input")
        if key in self.transfers:
            stored = self.transfers[key][2]
            self.post(key, debit, credit, stored if amount is None else amount, "capture")
            if self.captures.get(key, ("", False))[0] != hold:
                raise No("transfer_conflict", fields=["hold"])
            given_back = self.holds[hold].get(f"by {key}", 0)
            if (final and self.captures[key][1]) or (not final and given_back):
                raise No("transfer_conflict", fields=["final"])
            return ("replayed", stored, given_back)
        self.check_usable(debit, credit)
        left = self.left(hold)
        if not left:
            raise No("hold_closed")
        taken = left if amount is None else amount
        if taken > left:
            raise No("hold_exceeded", needed=taken, left=left)
        rest = left - taken if final else 0
        self.transfers[key] = (debit, credit, taken, "capture", None)
        self.captures[key] = (hold, left - taken > 0 and not final)
        self.holds[hold]["captured"] += taken
        self.holds[hold]["released"] += rest
        self.holds[hold][f"by {key}"] = rest
        return ("created", taken, rest)

    def release(self, key: str, hold: str, amount: int | None) -> tuple[str, int]:
        """Give back what is left of a hold, or a part; of what has ended otherwise than by a capture, nothing."""
        if hold not in self.holds:
            raise No("unknown_hold")
        if key in self.releases:
            stored_hold, stored = self.releases[key]
            wanted = {"hold": (stored_hold, hold), "amount": (stored, stored if amount is None else amount)}
            fields = sorted(name for name, (there, asked) in wanted.items() if there != asked)
            if fields:
                raise No("hold_conflict", fields=fields)
            return ("replayed", stored)
        left = self.left(hold)
        if not left:
            if amount is not None or self.state(hold) == "captured":
                raise No("hold_closed")
            return ("created", 0)
        given = left if amount is None else amount
        if given > left:
            raise No("hold_exceeded", needed=given, left=left)
        self.holds[hold]["released"] += given
        self.releases[key] = (hold, given)
        return ("created", given)

    def expire_holds(self) -> int:
        """Give back what is left of the holds past their deadline, but of those that their owner wants listed."""
        due = [
            key
            for key, hold in self.holds.items()
            if self.left(key) and hold["expires_at"] <= self.hour and hold["overdue"] == "expire"
        ]
        for key in due:
            self.holds[key]["expired"] = self.left(key)
        return len(due)

    def overdue_holds(self) -> list[str]:
        """Name the open holds past their deadline that their owner wants listed."""
        return sorted(
            key
            for key, hold in self.holds.items()
            if self.left(key) and hold["expires_at"] <= self.hour and hold["overdue"] == "list"
        )

    def pass_hours(self, hours: int) -> None:
        """Let time pass."""
        self.hour += hours

    def hold(self, key: str) -> tuple[str, int, int, int, int]:
        """Say how a hold stands."""
        hold = self.holds[key]
        return (self.state(key), hold["captured"], hold["released"], hold["expired"], self.left(key))

    def state(self, key: str) -> str:
        """Say whether a hold is open, or how it ended."""
        if self.left(key):
            return "open"
        return "expired" if self.holds[key]["expired"] else "captured" if self.holds[key]["captured"] else "released"

    def left(self, key: str) -> int:
        """Return what is left of a hold."""
        hold = self.holds[key]
        left: int = hold["amount"] - hold["captured"] - hold["released"] - hold["expired"]
        return left

    def held(self, name: str) -> int:
        """Return what is set aside on an account."""
        return sum(self.left(key) for key, hold in self.holds.items() if hold["account"] == name)

    def available(self, name: str) -> int:
        """Return what is left to spend or to hold."""
        return self.balance(name) - self.held(name)

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
