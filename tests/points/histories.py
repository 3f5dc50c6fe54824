"""Random histories of points: each operation is asked of the ledger and of the simulator, and both must say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lastro import LastroError, Ledger
from lastro.testing import Clock, assert_balanced
from tests.points.members import CURRENCY
from tests.points.simulator import EXPIRED, ISSUED, REWARD, START, Account, No, Rule, Simulator, due

MEMBERS = ("ana", "ben", "cleo")
DAYS = 12
GAME = Rule("game", "game", 10, 25, "week", "fit", 3, priority=0)
SIDE = Rule("game_side", "game", 2, None, "day", "fit", 1, priority=5)
VISIT = Rule("visit", "visit", 7, 15, "day", "refuse", None, priority=0)

members = st.sampled_from(MEMBERS)
# How far back among the keys that were used; mostly None: one that wasn't.
places = st.one_of(st.none(), st.none(), st.none(), st.integers(0, 5))
PICKS_MAX = 20
picks = st.integers(0, PICKS_MAX)
# A share of what a member has, in tenths; a little more than all of it as well.
shares = st.one_of(st.integers(1, 11), st.just(10))
policies = st.sampled_from(("soonest", "soonest", "oldest", "newest"))
days = st.builds(lambda number: START + timedelta(days=number), st.integers(0, DAYS))
activities = st.fixed_dictionaries(
    {
        "activity": st.sampled_from(("game", "game", "visit")),
        "member": members,
        "units": st.integers(1, 2),
        "occurred_at": st.builds(lambda hours: START + timedelta(hours=hours), st.integers(0, DAYS * 24)),
    }
)
changes = st.builds(
    lambda rule, points, cap, beyond_cap, lot_days: Rule(
        rule.name, rule.activity, points, cap, rule.period, beyond_cap, lot_days, rule.priority
    ),
    st.sampled_from((GAME, SIDE, VISIT)),
    st.integers(1, 12),
    st.one_of(st.none(), st.integers(0, 30)),
    st.sampled_from(("fit", "fit", "refuse")),
    st.sampled_from((None, 1, 3, 6)),
)


class Histories(RuleBasedStateMachine):
    """One history, told to both. `reached` counts how often each operation came to which end."""

    make: Callable[[Clock], Ledger]
    reached: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self.naive, self.clock = Simulator(), Clock(START)
        self.ledger = type(self).make(self.clock)
        self.points = self.ledger.points
        self.pseudonyms: list[str] = []

    @initialize(done=st.lists(activities, min_size=6, max_size=12))
    def begin(self, done: list[dict[str, Any]]) -> None:
        """A reward, three rules, and some activity."""
        self.ledger.open_account(REWARD, CURRENCY, floor=None)
        for each in (GAME, SIDE, VISIT):
            self.define(each)
        for asked in done:
            self.earn_by(_key(self.naive.activities, "activity", None), asked)

    @rule(change=changes)
    def change(self, change: Rule) -> None:
        """Define a new version of a rule."""
        self.define(change)

    @rule(hours=st.integers(1, 60))
    def pass_time(self, hours: int) -> None:
        """Let time go by."""
        self.naive.now = self.clock.advance(timedelta(hours=hours))

    @rule(place=places, asked=activities)
    def earn(self, place: int | None, asked: dict[str, Any]) -> None:
        """Earn."""
        self.earn_by(_key(self.naive.activities, "activity", place), asked)

    @precondition(lambda self: self.naive.activities)
    @rule(place=picks)
    def earn_again(self, place: int) -> None:
        """Earn a second time, as a retry does."""
        key = _key(self.naive.activities, "activity", place)
        if (stored := self.naive.activities.get(key)) is not None and not stored.content[1].erased:
            names = ("activity", "member", "units", "occurred_at")
            kind, account, units, occurred_at = stored.content
            self.earn_by(key, dict(zip(names, (kind, account.name, units, occurred_at), strict=True)))

    @rule(place=picks)
    def cancel(self, place: int) -> None:
        """Cancel an activity; now and then one that was cancelled before, or that isn't there."""
        left = {key: one for key, one in self.naive.activities.items() if not one.cancelled}
        key = _key(left if place % 4 else self.naive.activities, "activity", None if place == PICKS_MAX else place)

        def told() -> dict[str, Any]:
            cancelled = self.points.cancel(key)
            return {"replayed": cancelled.replayed, "taken": sum(one.amount for one in cancelled.taken)}

        done = self._both("cancel", lambda: self.naive.cancel(key=key), told)
        if done and self.naive.activities[key].content[1].balance < 0:
            self.reached["cancel into debt"] += 1

    @rule(place=places, who=picks, share=shares, policy=policies)
    def spend(self, place: int | None, who: int, share: int, policy: Any) -> None:
        """Spend on the reward."""
        member = self._payer(who)
        self.spend_by(_key(self.naive.transfers, "key", place), member, self._share(member, share), policy)

    @rule(place=places, who=picks, receiver=members, share=shares, policy=policies)
    def give(self, place: int | None, who: int, receiver: str, share: int, policy: Any) -> None:
        """Give to another member."""
        giver = self._payer(who)
        if giver != receiver:
            self.give_by(_key(self.naive.transfers, "key", place), giver, receiver, self._share(giver, share), policy)

    @precondition(lambda self: self.naive.transfers)
    @rule(place=picks)
    def pay_again(self, place: int) -> None:
        """Spend or give a second time, as a retry does."""
        key = _key(self.naive.transfers, "key", place)
        stored = self.naive.transfers.get(key)
        if stored is None or not isinstance(stored.debit, Account) or stored.debit.erased:
            return
        if isinstance(stored.credit, str):
            self.spend_by(key, stored.debit.name, stored.amount, "soonest")
        elif not stored.credit.erased:
            self.give_by(key, stored.debit.name, stored.credit.name, stored.amount, "soonest")

    @precondition(lambda self: self.spends() or self.naive.erased)
    @rule(place=places, of=picks, amount=st.one_of(st.none(), st.integers(1, 20)))
    def refund(self, place: int | None, of: int, amount: int | None) -> None:
        """Put a spend back."""
        key = _key(self.naive.transfers, "key", place)
        spends = self.spends()
        spend = spends[-1 - of % len(spends)] if spends and of != PICKS_MAX else "nothing"
        in_debt = any(account.balance < 0 for account in self.naive.members.values())

        def told() -> dict[str, Any]:
            done = self.points.refund(key=key, spend=spend, amount=amount)
            return {"replayed": done.replayed, "amount": done.transfer.amount}

        if self._both("refund", lambda: self.naive.refund(key=key, spend=spend, amount=amount), told):
            self.reached["refund in part"] += amount is not None
            self.reached["refund into debt"] += in_debt

    @precondition(lambda self: any(stored.kind == "refund" for stored in self.naive.transfers.values()))
    @rule(place=picks)
    def refund_again(self, place: int) -> None:
        """Refund a second time, as a retry does."""
        refunds = {name: stored for name, stored in self.naive.transfers.items() if stored.kind == "refund"}
        key = _key(refunds, "key", place)
        if (stored := refunds.get(key)) is not None:
            asked: dict[str, Any] = {"key": key, "spend": stored.reverses, "amount": stored.amount}

            def told() -> dict[str, Any]:
                done = self.points.refund(**asked)
                return {"replayed": done.replayed, "amount": done.transfer.amount}

            self._both("refund", lambda: self.naive.refund(**asked), told)

    @precondition(lambda self: any(due(account, self.naive.now) for account in self.naive.members.values()))
    @rule()
    def expire(self) -> None:
        """Expire what is due."""

        def told() -> dict[str, Any]:
            done = self.points.expire()
            assert done.skipped == 0
            return {"lots": done.lots, "points": done.points}

        done = self._both("expiry", self.naive.expire, told)
        self.reached["expire"] += bool(done and done["lots"])

    @rule(change=changes, since=days, length=st.integers(1, DAYS))
    def rebuild(self, change: Rule, since: Any, length: int) -> None:
        """Change a rule and rebuild what it gave; a dry run foretells what happens, and then nothing is left to do."""
        self.define(change)
        asked: dict[str, Any] = {"rule": change.name, "since": since, "until": since + timedelta(days=length)}

        def told(*, dry_run: bool) -> dict[str, Any]:
            done = self.points.rebuild(**asked, dry_run=dry_run)
            return {"changes": done.changes, "given": done.given, "taken": done.taken}

        foretold = told(dry_run=True)
        done = self._both("rebuilding", lambda: self.naive.rebuild(**asked), lambda: told(dry_run=False))
        assert foretold == done
        assert told(dry_run=True) == {"changes": 0, "given": 0, "taken": 0}
        self.reached["rebuild"] += bool(done and done["changes"])

    @precondition(lambda self: len(self.naive.transfers) % 4 == 3)
    @rule(member=members)
    def erase(self, member: str) -> None:
        """Erase a member; not as often as everything else, or there would be no histories to speak of."""

        def told() -> dict[str, Any]:
            erased = self.points.erase(member)
            self.pseudonyms.append(erased.pseudonym)
            return {"accounts": erased.accounts}

        self._both("erase", lambda: self.naive.erase(member=member), told)

    @invariant()
    def agree(self) -> None:
        """Balances and lots are the same on both sides."""
        for name, account in self.naive.members.items():
            assert self.ledger.balance(name, CURRENCY).posted == account.balance, name
            lots = [(lot.left_over, lot.earned_at, lot.expires_at) for lot in self.points.lots(name, CURRENCY)]
            assert lots == self.naive.lots(name), name
        for pseudonym, account in zip(self.pseudonyms, self.naive.erased, strict=True):
            assert self.ledger.balance(pseudonym, CURRENCY).posted == account.balance
        for name in (REWARD, ISSUED, EXPIRED):
            assert self._posted(name) == self.naive.others[name], name

    def teardown(self) -> None:
        """Compare what every activity earned, audit the books, and let go."""
        try:
            for key, activity in self.naive.activities.items():
                stored = self.points.activity(key)
                assert stored is not None
                assert {one.rule: one.amount for one in stored.earnings if one.amount} == self.naive.earned(activity)
            assert_balanced(self.ledger)
        finally:
            self.ledger.close()

    def define(self, change: Rule) -> None:
        """Define a rule on both sides."""
        self.naive.rules[change.name] = change
        terms: dict[str, Any] = {name: getattr(change, name) for name in Rule.__dataclass_fields__ if name != "name"}
        self.points.define_rule(change.name, currency=CURRENCY, **terms)

    def earn_by(self, key: str, asked: dict[str, Any]) -> None:
        """Earn on both sides."""

        def told() -> dict[str, Any]:
            earned = self.points.earn(key, **asked)
            return {
                "replayed": earned.replayed,
                "earned": {one.rule: one.amount for one in earned.activity.earnings if one.amount},
            }

        self._both("earn", lambda: self.naive.earn(key=key, **asked), told)

    def spend_by(self, key: str, member: str, amount: int, policy: Any) -> None:
        """Spend on both sides."""
        waiting = bool(due(self.naive.members.get(member, Account(member)), self.naive.now))

        def told() -> dict[str, Any]:
            done = self.points.spend(
                key=key, member=member, amount=amount, currency=CURRENCY, reward=REWARD, policy=policy
            )
            return {"replayed": done.replayed, "amount": done.transfer.amount}

        asked: dict[str, Any] = {"key": key, "member": member, "amount": amount, "policy": policy}
        if self._both("spend", lambda: self.naive.spend(**asked), told):
            self.reached["spend with some due"] += waiting

    def give_by(self, key: str, giver: str, receiver: str, amount: int, policy: Any) -> None:
        """Give on both sides."""
        in_debt = self.naive.members.get(receiver, Account(receiver)).balance < 0
        asked: dict[str, Any] = {"key": key, "giver": giver, "receiver": receiver, "amount": amount, "policy": policy}

        def told() -> dict[str, Any]:
            done = self.points.give(currency=CURRENCY, **asked)
            return {"replayed": done.replayed, "amount": done.transfer.amount}

        if self._both("give", lambda: self.naive.give(**asked), told):
            self.reached["give into debt"] += in_debt

    def spends(self) -> list[str]:
        """The keys of what was spent."""
        return [key for key, stored in self.naive.transfers.items() if stored.kind == "spend"]

    def _payer(self, who: int) -> str:
        """A member who has something, or now and then just anybody."""
        able = [name for name, account in self.naive.members.items() if account.balance > 0]
        return able[who % len(able)] if able and who % 7 else MEMBERS[who % len(MEMBERS)]

    def _posted(self, name: str) -> int:
        try:
            return self.ledger.balance(name, CURRENCY).posted
        except LastroError:
            return 0

    def _share(self, member: str, tenths: int) -> int:
        account = self.naive.members.get(member)
        return 1 if account is None else max(1, -(-account.balance * tenths // 10))

    def _both(
        self, what: str, naive: Callable[[], dict[str, Any]], tested: Callable[[], dict[str, Any]]
    ) -> dict[str, Any] | None:
        """Ask both; return what was done anew, None where it was refused or replayed."""
        expected, found = _answer(naive), _answer(tested)
        if isinstance(expected, No):
            assert isinstance(found, LastroError), f"{expected.code} expected, found {found}"
            assert found.code == expected.code
            assert {name: found.details[name] for name in expected.details} == expected.details
            self.reached[f"{what} {expected.code}"] += 1
            return None
        assert found == expected
        replayed = bool(expected.get("replayed"))
        self.reached[f"{what} replayed" if replayed else what] += 1
        return None if replayed else expected


def _answer(ask: Callable[[], dict[str, Any]]) -> Any:
    try:
        return ask()
    except (No, LastroError) as error:
        return error


def _key(used: dict[str, Any], prefix: str, place: int | None) -> str:
    """A key that wasn't used, or the one so far back among those that were."""
    if place is None or not used:
        return f"{prefix}:{len(used)}"
    return list(used)[-1 - place % len(used)]
