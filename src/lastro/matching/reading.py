"""
Reading what runs of matching have found.
"""

from __future__ import annotations

from collections import defaultdict

from lastro.errors import InvalidInput
from lastro.matching.values import Item, MatchGroup, MatchRun
from lastro.plans.plan import Plan, Row, step
from lastro.plans.stored import whole


def get_run(run_id: int) -> Plan[MatchRun]:
    """
    Return one run. Raises InvalidInput where there is none of that number.
    """
    rows = yield step("matching.run", run_id=run_id)
    if not rows:
        raise InvalidInput(f"there is no run {run_id} of matching", argument="run")
    return _run(rows[0])


def runs(*, spec: str | None, period: str | None, before: int | None, limit: int) -> Plan[list[MatchRun]]:
    """
    Return a page of runs, the newest first.
    """
    rows = yield step("matching.runs", spec_name=spec, period=period, before=before, rows_max=limit)
    return [_run(row) for row in rows]


def groups(run_id: int, *, matched: bool, after: int, limit: int) -> Plan[list[MatchGroup]]:
    """
    Return a page of a run's groups with their items. Raises InvalidInput where there is no such run.
    """
    rows = yield step("matching.groups", run_id=run_id, matched=matched, after=after, rows_max=limit)
    if not rows:
        yield from get_run(run_id)
        return []
    items = yield step("matching.items", run_id=run_id, numbers=[row["number"] for row in rows])
    sides: dict[tuple[int, bool], list[Item]] = defaultdict(list)
    for item in items:
        sides[item["group_number"], item["is_line"]].append(
            Item(item["on_date"], item["id"], item["place"], item["amount"], item["is_inside"])
        )
    return [
        MatchGroup(
            number=row["number"],
            outcome=row["outcome"],
            reference=row["reference"],
            currency=row["currency"],
            difference=whole(row, "difference"),
            lines=tuple(sides[row["number"], True]),
            transfers=tuple(sides[row["number"], False]),
            cut_short=row["cut_short"],
        )
        for row in rows
    ]


def _run(row: Row) -> MatchRun:
    return MatchRun(
        id=row["run_id"],
        spec=row["spec_name"],
        period=row["period"],
        account=row["account"],
        lines=row["lines"],
        transfers=row["transfers"],
        internal=row["internal"],
        matched=row["matched"],
        amount_differs=row["amount_differs"],
        missing_in_ledger=row["missing_in_ledger"],
        missing_in_statement=row["missing_in_statement"],
        cut_short=row["cut_short"],
        actor=row["actor"],
        ran_at=row["recorded_at"],
    )
