"""
Rebuilding: what activity earned by a rule is computed anew under the rule's newest version, and the differences posted.

One member's activity in one period of the cap is one transaction under the lock of the member's account, and how far
the rebuild came is part of that transaction: one that is killed goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from lastro.errors import RuleConflict
from lastro.model.limits import LOOKS_MAX
from lastro.model.periods import Stretch
from lastro.plans.accounts import AccountKey, find_facts, kept_changing
from lastro.plans.course import Act, Course
from lastro.plans.plan import TOGETHER, Effect, Plan, Row, step
from lastro.plans.standing import Standing
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently, undone_when_refused
from lastro.points.activities import Movement, read_activity, read_movements
from lastro.points.allowance import keep_room
from lastro.points.defining import find_rule, known_rule
from lastro.points.differing import Difference, Done, differences
from lastro.points.holding import ISSUED, hold, open_counterpart
from lastro.points.members import accounts_ready
from lastro.points.moving import Source, give_points, take_points
from lastro.points.periods import period_around
from lastro.points.rules import Rule

KIND: Final = "rebuild"
# Members that are looked up at a time.
MEMBERS_LOOKED_UP_MAX: Final = 1_000
# Below every member's id: ids are drawn from 0 upwards.
NO_MEMBER: Final = -1


class Rebuilt(NamedTuple):
    """
    What a rebuild did, or would do: `changes` movements that gave and took so many points of the rule's currency, over
    `members` of `members_all` who had such activity between `since` and `until` (whole periods of the cap).
    """

    rule: str
    version: int
    since: datetime
    until: datetime
    members: int
    members_all: int
    changes: int
    given: int
    taken: int
    dry_run: bool


# Told after each member how far it is.
Progress: TypeAlias = Callable[[Rebuilt], object]


class _Member(NamedTuple):
    id: int
    name: str


class _Task(NamedTuple):
    rule: Rule
    span: Stretch
    dry_run: bool
    actor: str | None

    @property
    def names(self) -> dict[str, object]:
        """The parameters that name the rebuild's row of progress."""
        return {
            "rule": self.rule.name,
            "version": self.rule.version,
            "starts_at": self.span.start,
            "ends_at": self.span.end,
        }


class _Begun(NamedTuple):
    task: _Task
    after_member: int
    so_far: Rebuilt


class _Gone(NamedTuple):
    """How far one transaction went: where the member's next period begins (None: nothing is left), and what it did."""

    rest: Stretch | None
    changes: int
    given: int
    taken: int


def rebuild(
    name: str, asked: Stretch, terms: Terms, *, dry_run: bool, actor: str | None, progress: Progress | None
) -> Course[Rebuilt]:
    """
    Rebuild what a rule gave for activity between *asked*'s ends, widened to whole periods of its cap.

    Points are given and taken as differences only, as new movements: a second run finds none. Activity counts in the
    order in which it happened; what was cancelled counts as nothing; what is taken is taken below zero as well. Members
    who were erased, and accounts that were closed, stay as they are. Raises UnknownRule, RuleConflict.
    """
    begun: _Begun = yield Act(partial(_begin, name, asked, terms, dry_run=dry_run, actor=actor), Effect.KEYED)
    task, so_far, after = begun.task, begun.so_far, begun.after_member
    while True:
        members: list[_Member] = yield Act(partial(_members, task, after), Effect.READ)
        for member in members:
            cursor: Stretch | None = task.span
            while cursor is not None:
                gone: _Gone = yield Act(partial(_rebuild_some, task, member, cursor, terms))
                cursor = gone.rest
                so_far = so_far._replace(
                    changes=so_far.changes + gone.changes,
                    given=so_far.given + gone.given,
                    taken=so_far.taken + gone.taken,
                )
            so_far = so_far._replace(members=so_far.members + 1)
            if progress is not None:
                progress(so_far)
        if len(members) < MEMBERS_LOOKED_UP_MAX:
            break
        after = members[-1].id
    if dry_run:
        return so_far
    finished: Rebuilt = yield Act(partial(_finish, task, so_far, terms))
    return finished


def _begin(name: str, asked: Stretch, terms: Terms, *, dry_run: bool, actor: str | None) -> Plan[_Begun]:
    yield TOGETHER
    rule = yield from known_rule(name)
    task = _Task(rule, _whole_periods(rule, asked), dry_run, actor)
    counted = yield step("points_rebuilding.count_members", kind=rule.activity, **_ends(task))
    so_far = Rebuilt(
        rule.name,
        rule.version,
        task.span.start,
        task.span.end,
        members=0,
        members_all=whole(counted[0], "members"),
        changes=0,
        given=0,
        taken=0,
        dry_run=dry_run,
    )
    if dry_run:
        return _Begun(task, NO_MEMBER, so_far)
    yield step("points_rebuilding.begin", **task.names, no_member=NO_MEMBER, now=terms.now)
    rows = yield step("points_rebuilding.progress", **task.names)
    return _Begun(task, rows[0]["after_member"], _with_figures(so_far, rows[0]))


def _members(task: _Task, after: int) -> Plan[list[_Member]]:
    rows = yield step(
        "points_rebuilding.members",
        after_id=after,
        kind=task.rule.activity,
        rows_max=MEMBERS_LOOKED_UP_MAX,
        **_ends(task),
    )
    return [_Member(row["id"], row["name"]) for row in rows]


def _rebuild_some(task: _Task, member: _Member, cursor: Stretch, terms: Terms) -> Plan[_Gone]:
    if task.dry_run:
        return (yield from _next_period(task, member, cursor, terms))
    return (yield from patiently(undone_when_refused(_next_period(task, member, cursor, terms)), terms.lock_timeout_ms))


def _next_period(task: _Task, member: _Member, cursor: Stretch, terms: Terms) -> Plan[_Gone]:
    """
    Rebuild the first period after the cursor in which the member did something, and say where the next one is.
    """
    gone = _Gone(None, 0, 0, 0)
    period = yield from _period_of_first(task, member, cursor)
    if period is not None:
        changed = yield from _rebuild_period(task, member, period, terms)
        rest = Stretch(period.end, cursor.end)
        if not task.dry_run and cursor.start < period.start:
            # Again, under the lock: somebody who held it may have recorded something earlier, by an older version.
            earlier = yield from _period_of_first(task, member, Stretch(cursor.start, period.start))
            rest = rest if earlier is None else cursor
        more = (yield from _period_of_first(task, member, rest)) if rest.start < rest.end else None
        gone = _Gone(
            None if more is None else rest,
            changes=len(changed),
            given=sum(amount for amount in changed if amount > 0),
            taken=-sum(amount for amount in changed if amount < 0),
        )
    if not task.dry_run:
        yield step(
            "points_rebuilding.note",
            **task.names,
            member_id=member.id,
            is_done=int(gone.rest is None),
            changes=gone.changes,
            given=gone.given,
            taken=gone.taken,
        )
    return gone


def _period_of_first(task: _Task, member: _Member, within: Stretch) -> Plan[Stretch | None]:
    rows = yield step(
        "points_rebuilding.first_activity",
        member_id=member.id,
        kind=task.rule.activity,
        starts_at=within.start,
        ends_at=within.end,
    )
    first = rows[0]["occurred_at"]
    if first is None:
        return None
    # Without a cap no activity depends on another, so any stretch will do; a day keeps a transaction short.
    period = period_around(first, "day" if task.rule.cap is None else task.rule.period, task.rule.time_zone)
    return Stretch(max(period.start, within.start), min(period.end, within.end))


def _rebuild_period(task: _Task, member: _Member, period: Stretch, terms: Terms) -> Plan[list[int]]:
    """
    Post what one member's earnings of one period are to change by, and return the amounts with their signs.
    """
    rule, account = task.rule, (member.name, task.rule.currency)
    for _ in range(LOOKS_MAX):
        there = yield from find_facts(terms.directory, [account])
        if account in there and there[account].state == "closed":
            return []
        held: dict[AccountKey, Standing] | None = {}
        if account in there and not task.dry_run:
            held = yield from hold([account], terms)
        if held is None:
            continue
        yield from _refuse_changed(task)
        wanted, used = yield from _compute(task, member, period)
        if task.dry_run:
            return [amount for difference in wanted for amount in difference.amounts()]
        if account in held:
            account_id = held[account].facts.id
            changed = yield from _apply(task, wanted, held[account], terms)
            yield step("points_rebuilding.touch", account_id=account_id, now=terms.now)
            if rule.cap is not None:
                yield from keep_room(rule, period, used, account_id=account_id)
            return changed
        if all(difference.amount <= 0 for difference in wanted):
            return []
        yield from open_counterpart(ISSUED, rule.currency, terms)
        yield from accounts_ready([member.name], rule.currency, terms)
    raise kept_changing((member.name,))


def _compute(task: _Task, member: _Member, period: Stretch) -> Plan[tuple[list[Difference], int]]:
    asked = {"member_id": member.id, "kind": task.rule.activity, "starts_at": period.start, "ends_at": period.end}
    rows = yield step("points_rebuilding.activities", **asked)
    moved: dict[int, list[Movement]] = {}
    for movement in read_movements((yield step("points_rebuilding.movements", rule=task.rule.name, **asked))):
        moved.setdefault(movement.activity_id, []).append(movement)
    return differences(task.rule, [Done(row["id"], read_activity(row, ())) for row in rows], moved)


def _apply(task: _Task, wanted: list[Difference], account: Standing, terms: Terms) -> Plan[list[int]]:
    changed: list[int] = []
    # What is given goes first: less of what is taken is owed for a while.
    for difference in sorted(wanted, key=lambda difference: difference.amount < 0):
        source = Source(difference.done.id, difference.done.activity, KIND, task.actor)
        number = difference.numbered_to
        if difference.amount > 0:
            yield from give_points(source, task.rule, difference.amount, number=number + 1, to=account, terms=terms)
            changed.append(difference.amount)
        for movement, amount in difference.takings():
            number += 1
            yield from take_points(
                source, movement, amount, number=number, version=task.rule.version, out_of=account, terms=terms
            )
            changed.append(-amount)
    return changed


def _refuse_changed(task: _Task) -> Plan[None]:
    newest = yield from find_rule(task.rule.name)
    if newest is None or newest.version != task.rule.version:
        found = 0 if newest is None else newest.version
        raise RuleConflict(
            f"rule {task.rule.name!r} was changed while its version {task.rule.version} was being rebuilt; "
            f"rebuild it again, under version {found}",
            rule=task.rule.name,
            fields={"version": (found, task.rule.version)},
        )


def _finish(task: _Task, so_far: Rebuilt, terms: Terms) -> Plan[Rebuilt]:
    yield TOGETHER
    yield step("points_rebuilding.finish", **task.names, now=terms.now)
    rows = yield step("points_rebuilding.progress", **task.names)
    return _with_figures(so_far, rows[0])


def _with_figures(so_far: Rebuilt, row: Row) -> Rebuilt:
    return so_far._replace(members=row["members"], changes=row["changes"], given=row["given"], taken=row["taken"])


def _whole_periods(rule: Rule, asked: Stretch) -> Stretch:
    if rule.cap is None:
        return asked
    first = period_around(asked.start, rule.period, rule.time_zone)
    last = period_around(asked.end, rule.period, rule.time_zone)
    # Half-open: a stretch that ends where a period begins doesn't touch that period.
    return Stretch(first.start, last.start if last.start == asked.end else last.end)


def _ends(task: _Task) -> dict[str, object]:
    return {"starts_at": task.span.start, "ends_at": task.span.end}
