"""
Points as simply as they can be said: no database, no locks, no sums that are kept; every question is answered anew.

It knows one currency and one reward, and rules whose periods are days and weeks of UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday
DAY = timedelta(days=1)
REWARD, ISSUED, EXPIRED = "reward:mug", "points:issued", "points:expired"


class No(Exception):
    """The refusal that the ledger gives by this name, with the numbers that it names."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(code)
        self.code, self.details = code, details


@dataclass(frozen=True)
class Rule:
    """What a rule says."""

    name: str
    activity: str
    points: int
    cap: int | None
    period: str
    beyond_cap: str
    lot_days: int | None
    priority: int


@dataclass(eq=False)
class Lot:
    """Points that came in together. `number` is the order in which lots came."""

    number: int
    left: int
    earned_at: datetime
    expires_at: datetime | None
    movement: object

    @property
    def soonest(self) -> tuple[Any, ...]:
        """The order in which lots expire."""
        return (self.expires_at is None, self.expires_at or START, self.earned_at, self.number)


@dataclass(eq=False)
class Movement:
    """One movement of what an activity earned by a rule; `left` of it was not taken back."""

    number: int
    amount: int
    left: int


@dataclass(eq=False)
class Account:
    """A member's points. The name changes when the member is erased."""

    name: str
    balance: int = 0
    lots: list[Lot] = field(default_factory=list)
    erased: bool = False


@dataclass(eq=False)
class Activity:
    """What a member did, and what it earned by which rule."""

    number: int
    content: tuple[str, Account, int, datetime]
    moved: dict[str, list[Movement]] = field(default_factory=dict)
    cancelled: bool = False

    def net(self, rule: str) -> int:
        """What it has earned by a rule, all in all."""
        return sum(movement.amount for movement in self.moved.get(rule, ()))


@dataclass(eq=False)
class Transfer:
    """A spend, a gift or a refund: what it says, and what it took from which lot, in order."""

    kind: str
    debit: Account | str
    credit: Account | str
    amount: int
    reverses: str | None = None
    uses: list[tuple[Lot, int]] = field(default_factory=list)
    refunded: int = 0

    def says(self) -> tuple[object, ...]:
        """What has to be equal under one key."""
        return (self.kind, self.debit, self.credit, self.amount, self.reverses)


class Simulator:
    """The naive ledger of points."""

    def __init__(self) -> None:
        self.now = START
        self.rules: dict[str, Rule] = {}
        self.members: dict[str, Account] = {}
        self.erased: list[Account] = []
        self.activities: dict[str, Activity] = {}
        self.transfers: dict[str, Transfer] = {}
        self.others = {REWARD: 0, ISSUED: 0, EXPIRED: 0}
        self._numbers = 0

    # --- operations ---------------------------------------------------------------------------------------------------

    def earn(self, *, key: str, activity: str, member: str, units: int, occurred_at: datetime) -> dict[str, Any]:
        """Record an activity and give what the rules give."""
        if (stored := self.activities.get(key)) is not None:
            kind, account, there, when = stored.content
            if (kind, account.name, there, when) != (activity, member, units, occurred_at):
                raise No("activity_conflict")
            return {"replayed": True, "earned": self.earned(stored)}
        account = self.members.get(member) or Account(member)
        rules = sorted(self._rules_of(activity), key=lambda rule: (-rule.priority, rule.name))
        granted = []
        for rule in rules:
            asked, used = rule.points * units, self._used(rule, account, occurred_at)
            given = fitting(rule, asked, used)
            if given < asked and rule.beyond_cap == "refuse":
                raise No("cap_exceeded", used=used, asked=asked)
            granted.append((rule, given))
        self.members[member] = account
        made = self.activities[key] = Activity(len(self.activities), (activity, account, units, occurred_at))
        for rule, given in granted:
            if given:
                self._give(made, rule, given)
        return {"replayed": False, "earned": self.earned(made)}

    def cancel(self, *, key: str) -> dict[str, Any]:
        """Take back what an activity earned."""
        stored = self.activities.get(key)
        if stored is None:
            raise No("unknown_activity")
        if stored.cancelled:
            return {"replayed": True, "taken": 0}
        if stored.content[1].erased and self.earned(stored):
            raise No("account_closed")
        taken = 0
        for rule in sorted(stored.moved):
            for movement in list(stored.moved[rule]):
                if movement.left:
                    taken += movement.left
                    self._take_back(stored, rule, movement, movement.left)
        stored.cancelled = True
        return {"replayed": False, "taken": taken}

    def spend(self, *, key: str, member: str, amount: int, policy: str) -> dict[str, Any]:
        """Spend on the reward."""
        return self._pay(key, member, None, amount, policy)

    def give(self, *, key: str, giver: str, receiver: str, amount: int, policy: str) -> dict[str, Any]:
        """Give to another member."""
        return self._pay(key, giver, receiver, amount, policy)

    def refund(self, *, key: str, spend: str, amount: int | None) -> dict[str, Any]:
        """Put a spend back."""
        original = self.transfers.get(spend)
        if original is None or original.kind != "spend":
            raise No("unknown_transfer")
        member = original.debit
        assert isinstance(member, Account)
        stored = self.transfers.get(key)
        wanted = Transfer("refund", original.credit, member, amount or 0, spend)
        if stored is not None:
            wanted.amount = stored.amount if amount is None else amount
            return self._replayed(stored, wanted)
        if member.erased:
            raise No("account_closed")
        left = original.amount - original.refunded
        if left == 0 or (amount is not None and amount > left):
            raise No("already_reversed", left=left)
        wanted.amount = left if amount is None else amount
        self.transfers[key] = wanted
        self.others[REWARD] -= wanted.amount
        self._put_back(original, wanted.amount, member)
        original.refunded += wanted.amount
        return {"replayed": False, "amount": wanted.amount}

    def expire(self) -> dict[str, Any]:
        """Expire what is due."""
        lots = points = 0
        for account in self.members.values():
            for lot in due(account, self.now):
                lots, points = lots + 1, points + lot.left
                account.balance -= lot.left
                self.others[EXPIRED] += lot.left
                lot.left = 0
        return {"lots": lots, "points": points}

    def rebuild(self, *, rule: str, since: datetime, until: datetime) -> dict[str, Any]:
        """Give what the rule gives now for what was done in the periods that the stretch touches."""
        rules = self.rules[rule]
        start, end = since, until
        if rules.cap is not None:
            start = period(rules, since)[0]
            end = until if period(rules, until)[0] == until else period(rules, until)[1]
        changes = given = taken = 0
        for account in self.members.values():
            done = [one for one in self._done(rules, account) if start <= one.content[3] < end]
            for first in sorted({period(rules, one.content[3])[0] for one in done}):
                for change in self._rebuilt(rules, [one for one in done if period(rules, one.content[3])[0] == first]):
                    changes, given, taken = changes + 1, given + max(0, change), taken + max(0, -change)
        return {"changes": changes, "given": given, "taken": taken}

    def erase(self, *, member: str) -> dict[str, Any]:
        """Forget who it was. The tested ledger's pseudonym is told afterwards."""
        account = self.members.pop(member, None)
        if account is None:
            raise No("unknown_member")
        account.erased, account.lots, account.name = True, [], "erased"
        self.erased.append(account)
        return {"accounts": 1}

    # --- questions ----------------------------------------------------------------------------------------------------

    def lots(self, member: str) -> list[tuple[int, datetime, datetime | None]]:
        """What is left of a member's lots, soonest to expire first."""
        open_lots = sorted((lot for lot in self.members[member].lots if lot.left), key=lambda lot: lot.soonest)
        return [(lot.left, lot.earned_at, lot.expires_at) for lot in open_lots]

    def earned(self, activity: Activity) -> dict[str, int]:
        """What an activity has earned by each rule, where that is something."""
        return {rule: net for rule in activity.moved if (net := activity.net(rule))}

    # --- how it is done -----------------------------------------------------------------------------------------------

    def _pay(self, key: str, debit: str, credit: str | None, amount: int, policy: str) -> dict[str, Any]:
        kind = "spend" if credit is None else "give"
        member = self.members.get(debit)
        receiver = REWARD if credit is None else self.members.get(credit) or Account(credit)
        if (stored := self.transfers.get(key)) is not None:
            return self._replayed(stored, Transfer(kind, member or debit, receiver, amount))
        if member is None:
            raise No("unknown_account")
        waiting = sum(lot.left for lot in due(member, self.now))
        if amount > member.balance - waiting:
            raise No("insufficient_funds", available=member.balance - waiting, due=waiting)
        paid = self.transfers[key] = Transfer(kind, member, receiver, amount)
        lots = [lot for lot in member.lots if lot.left and (lot.expires_at is None or lot.expires_at > self.now)]
        paid.uses = take(sorted(lots, key=POLICIES[policy], reverse=policy == "newest"), amount)
        member.balance -= amount
        if isinstance(receiver, str):
            self.others[REWARD] += amount
            return {"replayed": False, "amount": amount}
        self.members[receiver.name] = receiver
        parts: dict[tuple[datetime, datetime | None], Lot] = {}
        for lot, used in paid.uses:
            ends = (lot.earned_at, lot.expires_at)
            parts.setdefault(ends, Lot(self._number(), 0, *ends, movement=paid)).left += used
        self._bring(receiver, list(parts.values()), amount)
        return {"replayed": False, "amount": amount}

    def _replayed(self, stored: Transfer, wanted: Transfer) -> dict[str, Any]:
        if stored.says() != wanted.says():
            raise No("transfer_conflict")
        return {"replayed": True, "amount": stored.amount}

    def _put_back(self, spend: Transfer, amount: int, member: Account) -> None:
        back: list[Lot] = []
        skip, missing = spend.refunded, amount
        for lot, used in reversed(spend.uses):
            part = min(missing, used - min(skip, used))
            skip -= min(skip, used)
            missing -= part
            lot.left += part
            back += [lot] if part else []
        self._bring(member, back, amount)

    def _bring(self, account: Account, lots: list[Lot], amount: int) -> None:
        """Credit an account whose lots these are; what it owes is paid out of them."""
        account.lots += [lot for lot in lots if lot not in account.lots]
        take(sorted(lots, key=lambda lot: lot.soonest), max(0, -account.balance))
        account.balance += amount

    def _give(self, activity: Activity, rule: Rule, amount: int) -> None:
        _, account, _, occurred_at = activity.content
        moved = activity.moved.setdefault(rule.name, [])
        movement = Movement(max((one.number for one in moved), default=0) + 1, amount, amount)
        moved.append(movement)
        expires_at = None if rule.lot_days is None else midnight(occurred_at) + DAY * (rule.lot_days + 1)
        self._bring(account, [Lot(self._number(), amount, occurred_at, expires_at, movement)], amount)
        self.others[ISSUED] -= amount

    def _take_back(self, activity: Activity, rule: str, movement: Movement, amount: int) -> None:
        account = activity.content[1]
        movement.left -= amount
        moved = activity.moved[rule]
        moved.append(Movement(max(one.number for one in moved) + 1, -amount, 0))
        own = [lot for lot in account.lots if lot.movement is movement]
        others = sorted((lot for lot in account.lots if lot.movement is not movement), key=lambda lot: lot.soonest)
        take([*own, *others], amount)
        account.balance -= amount
        self.others[ISSUED] += amount

    def _rebuilt(self, rule: Rule, done: list[Activity]) -> Iterator[int]:
        used, wanted = 0, []
        for one in sorted(done, key=lambda one: (one.content[3], one.number)):
            gives = 0 if one.cancelled else fitting(rule, rule.points * one.content[2], used)
            used += gives
            wanted.append((one, gives - one.net(rule.name)))
        for one, change in sorted(wanted, key=lambda pair: pair[1] < 0):
            if change > 0:
                self._give(one, rule, change)
                yield change
            missing = max(0, -change)
            for movement in sorted(one.moved.get(rule.name, ()), key=lambda movement: -movement.number):
                if part := min(missing, movement.left):
                    missing -= part
                    self._take_back(one, rule.name, movement, part)
                    yield -part

    def _rules_of(self, activity: str) -> list[Rule]:
        return [rule for rule in self.rules.values() if rule.activity == activity]

    def _done(self, rule: Rule, account: Account) -> list[Activity]:
        return [one for one in self.activities.values() if one.content[:2] == (rule.activity, account)]

    def _used(self, rule: Rule, account: Account, occurred_at: datetime) -> int:
        start, end = period(rule, occurred_at)
        return sum(one.net(rule.name) for one in self._done(rule, account) if start <= one.content[3] < end)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers


def take(lots: list[Lot], amount: int) -> list[tuple[Lot, int]]:
    """Take from lots in their order as much as they have."""
    uses = []
    for lot in lots:
        part = min(lot.left, amount)
        if part:
            lot.left -= part
            amount -= part
            uses.append((lot, part))
    return uses


def due(account: Account, now: datetime) -> list[Lot]:
    """The lots past their end that still hold something."""
    return [lot for lot in account.lots if lot.left and lot.expires_at is not None and lot.expires_at <= now]


def fitting(rule: Rule, asked: int, used: int) -> int:
    """What a cap leaves of what is asked for."""
    if rule.cap is None or used + asked <= rule.cap:
        return asked
    return max(0, rule.cap - used) if rule.beyond_cap == "fit" else 0


def period(rule: Rule, moment: datetime) -> tuple[datetime, datetime]:
    """The day or the week that a moment lies in."""
    start = midnight(moment)
    if rule.period == "week" and rule.cap is not None:
        start -= DAY * start.weekday()
        return start, start + DAY * 7
    return start, start + DAY


def midnight(moment: datetime) -> datetime:
    """The beginning of a moment's day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


POLICIES: dict[str, Callable[[Lot], Any]] = {
    "soonest": lambda lot: lot.soonest,
    "oldest": lambda lot: (lot.earned_at, lot.number),
    "newest": lambda lot: (lot.earned_at, lot.number),
}
