"""
The points of a blocking ledger: one line a method.
"""

from __future__ import annotations

from datetime import datetime

from lastro.ledger.lots_blocking import HeldLots, Lots
from lastro.ledger.operations import Operations
from lastro.ledger.points import PointsAsks
from lastro.ledger.running import HeldEngine
from lastro.points.activities import Activity, Cancelled, Earned
from lastro.points.periods import Period
from lastro.points.rebuilding import Progress, Rebuilt
from lastro.points.rules import BeyondCap, Rule

RULES_SHOWN = 100


class HeldPoints(HeldLots):
    """
    What members earn, spend and give, inside one transaction: `ledger.within(connection).points`.

    Points are accounts like any others, called as their member: `ledger.balance("ana", "PTS")`. They move by these methods
    alone, which keep their lots and their caps; each locks the base rows of the member's accounts until the transaction
    ends. A refusal undoes what it wrote, and nothing else.
    """

    def __init__(self, engine: HeldEngine, operations: Operations) -> None:
        super().__init__(engine, operations)
        self._asks = PointsAsks(operations)

    def define_rule(
        self,
        name: str,
        *,
        activity: str,
        points: int,
        currency: str,
        cap: int | None = None,
        period: Period = "ever",
        time_zone: str = "UTC",
        priority: int = 0,
        beyond_cap: BeyondCap = "fit",
        lot_days: int | None = None,
    ) -> Rule:
        """
        Define an earning rule, or a new version of one: `points` for each unit of an `activity`, in `currency`.

        `cap`: points to one member in one `period` ("day", "week" from Monday, "month", "ever") of `time_zone` at most.
        `beyond_cap`: what no longer fits whole takes what still fits ("fit"), or is refused ("refuse"). `lot_days`: the
        points expire at the end of the local day so many days after the activity; None for never. `priority`: of several
        rules for one activity the highest posts first. What was earned before stays; `rebuild` recomputes it.
        Raises RuleConflict where the rule gives another currency, or for another activity, already.
        """
        return self._run(
            self._asks.define_rule(
                name,
                activity=activity,
                points=points,
                currency=currency,
                cap=cap,
                period=period,
                time_zone=time_zone,
                priority=priority,
                beyond_cap=beyond_cap,
                lot_days=lot_days,
            )
        )

    def end_rule(self, name: str) -> Rule:
        """End a rule: a new version that gives nothing. What it gave stays. Raises UnknownRule."""
        return self._run(self._asks.end_rule(name))

    def rule(self, name: str) -> Rule:
        """Return the newest version of a rule. Raises UnknownRule. Locks nothing."""
        return self._run(self._asks.rule(name))

    def rules(self, *, after: str | None = None, limit: int = RULES_SHOWN) -> list[Rule]:
        """Return the newest version of up to `limit` (1 … 1,000) rules in the order of their names, after `after`."""
        return self._run(self._asks.rules(after=after, limit=limit))

    def earn(
        self,
        key: str,
        *,
        activity: str,
        member: str,
        units: int = 1,
        occurred_at: datetime | None = None,
        actor: str | None = None,
    ) -> Earned:
        """
        Record an activity once and post what every rule for its kind gives; one movement a rule.

        `key` (1 … 255 characters) names the activity, and is the same for every attempt: the second time it comes back as
        it stands by then, with `replayed=True`, and other content raises ActivityConflict. A cap counts in the period in
        which `occurred_at` lies (time zone needed; the moment of recording if left out). The member's account is opened
        when first needed. Raises CapExceeded, which writes nothing at all; AmountOutOfRange, InvalidInput, LockTimeout.
        """
        return self._run(
            self._asks.earn(
                key=key, activity=activity, member=member, units=units, occurred_at=occurred_at, actor=actor
            )
        )

    def cancel(self, key: str, *, actor: str | None = None) -> Cancelled:
        """
        Cancel an activity: what it earned is taken back, below zero as well, and its room under the cap is free again.

        It takes out of the lot that the activity brought first. What was spent by then is owed, and paid by the next
        points that come. A second time changes nothing (`replayed=True`). Raises UnknownActivity, AccountClosed.
        """
        return self._run(self._asks.cancel(key, actor=actor))

    def activity(self, key: str) -> Activity | None:
        """Return the activity that holds `key` with what it has earned, or None. Locks nothing."""
        return self._run(self._asks.activity(key))


class Points(HeldPoints, Lots):
    """
    What members earn, spend and give, each call a transaction of its own: `ledger.points`.
    """

    def rebuild(
        self,
        rule: str,
        since: datetime,
        until: datetime,
        *,
        dry_run: bool = False,
        actor: str | None = None,
        progress: Progress | None = None,
    ) -> Rebuilt:
        """
        Compute anew what a rule gave for activity from `since` until before `until`, under its newest version.

        The stretch is widened to whole periods of the rule's cap. Differences are posted as new movements, one member's
        period a transaction; killed in the middle, the same call goes on where it stopped. `dry_run` writes nothing and
        returns the same figures. `progress` is told after each member. Raises UnknownRule, RuleConflict.
        """
        rebuilt: Rebuilt = self._walk(
            self._asks.rebuild(rule, since, until, dry_run=dry_run, actor=actor, progress=progress)
        )
        return rebuilt
