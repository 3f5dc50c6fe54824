"""
Defining rules: each change is a new version, and the newest one counts; nothing that was earned changes by it.
"""

from __future__ import annotations

from datetime import UTC, datetime

from lastro.errors import RuleConflict, UnknownRule
from lastro.model.limits import LOOKS_MAX
from lastro.plans.accounts import kept_changing
from lastro.plans.plan import TOGETHER, Plan, Row, step
from lastro.points.rules import Rule, RuleTerms


def define(wanted: RuleTerms, *, now: datetime | None) -> Plan[Rule]:
    """
    Define a rule, or a new version of one; the newest version again where it says the same already.

    RuleConflict where the version would be for another activity or currency: what was earned by a rule is comparable
    from version to version.
    """
    yield TOGETHER
    for _ in range(LOOKS_MAX):
        newest = yield from find_rule(wanted.name)
        if newest is not None:
            _refuse_other(newest, wanted)
            if newest.terms == wanted:
                return newest
        version = 1 if newest is None else newest.version + 1
        rows = yield step("points_rules.define", **wanted._asdict(), version=version, now=now)
        if rows:
            return Rule(*wanted, version, rows[0]["defined_at"].astimezone(UTC))
    raise kept_changing((wanted.name,))


def end(name: str, *, now: datetime | None) -> Plan[Rule]:
    """
    End a rule: its newest version gives no points from now on.
    """
    newest = yield from known_rule(name)
    return (yield from define(newest.terms._replace(points=0), now=now))


def find_rule(name: str) -> Plan[Rule | None]:
    """
    Return the newest version of a rule, or None.
    """
    rows = yield step("points_rules.newest", name=name)
    return read_rule(rows[0]) if rows else None


def known_rule(name: str) -> Plan[Rule]:
    """
    Return the newest version of a rule. Raises UnknownRule.
    """
    rule = yield from find_rule(name)
    if rule is None:
        raise UnknownRule(f"there is no earning rule {name!r}; define it first", rule=name)
    return rule


def rules_for(activity: str) -> Plan[list[Rule]]:
    """
    Return the rules that give points for a kind of activity, the highest priority first and of equals by name.
    """
    rows = yield step("points_rules.for_activity", activity=activity)
    rules = [rule for rule in map(read_rule, rows) if rule.points > 0]
    return sorted(rules, key=lambda rule: (-rule.priority, rule.name))


def list_rules(*, after: str, limit: int) -> Plan[list[Rule]]:
    """
    Return the newest version of each rule in the order of their names, the page after *after*.
    """
    rows = yield step("points_rules.list", after_name=after, rows_max=limit)
    return [read_rule(row) for row in rows]


def read_rule(row: Row) -> Rule:
    """
    Return a row of `points_rule` as a Rule.
    """
    terms = {field: row[field] for field in RuleTerms._fields}
    return Rule(**terms, version=row["version"], defined_at=row["defined_at"].astimezone(UTC))


def _refuse_other(newest: Rule, wanted: RuleTerms) -> None:
    fields = {
        field: (there, asked)
        for field, there, asked in (
            ("activity", newest.activity, wanted.activity),
            ("currency", newest.currency, wanted.currency),
        )
        if there != asked
    }
    if fields:
        raise RuleConflict(
            f"rule {wanted.name!r} gives {newest.currency} for {newest.activity!r}, and stays so in every version; "
            f"end it, and define another one for {wanted.currency} and {wanted.activity!r}",
            rule=wanted.name,
            fields=fields,
        )
