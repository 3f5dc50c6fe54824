"""
A run of matching: lines and transfers laid side by side by the database, judged reference by reference, and stored.

One transaction, which reads the ledger and writes only tables of matching's own: killed anywhere, nothing is left of it.
Held in memory is one page.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any, Final, NamedTuple

from lastro.errors import InvalidInput
from lastro.imports.declaring import declared
from lastro.imports.sheet_tables import stored_spec, table_of
from lastro.imports.spec_files import READY
from lastro.imports.specs import SheetSpec
from lastro.matching.limits import PAGE_ITEMS
from lastro.matching.rules import judge, judge_without_reference
from lastro.matching.spec_files import document_of_match_spec
from lastro.matching.specs import ANY, MatchSpec
from lastro.matching.values import OUTCOMES, Group, Item, MatchRun
from lastro.model.limits import KEY_CHARACTERS_MAX
from lastro.model.text import shown
from lastro.plans.plan import TOGETHER, OwnNames, Plan, Row, Step, step

# Items of the surroundings may be explained by what lies as far again beyond them.
REACHES: Final = 2
FIRST: Final = {"currency": "", "reference": "", "is_line": False, "place": 0}


class Period(NamedTuple):
    """
    A month: its first day, and that of the next one.
    """

    since: date
    until: date


class _Tally:
    """
    What a run has found so far.
    """

    def __init__(self) -> None:
        self.number = 0
        self.outcomes = Counter[str]()
        self.cut_short = 0

    def count(self, group: Group) -> int:
        """Count a group, and return its number."""
        self.number += 1
        self.outcomes[group.outcome] += 1
        self.cut_short += group.cut_short
        return self.number


def match(
    spec: MatchSpec,
    *,
    period: str,
    account: str | None,
    actor: str | None,
    now: datetime | None,
    page_items: int = PAGE_ITEMS,
) -> Plan[MatchRun]:
    """
    Match the lines of a period with the transfers that the spec, or only *account*, is about, and store what came of it.
    """
    yield TOGETHER
    run_id = (yield step("matching.begin"))[0]["run_id"]
    sheet = yield from _sheet(spec)
    found = (yield _take(spec, sheet, run_id, month_of(period), account=account))[0]
    tally = _Tally()
    behind: Mapping[str, Any] = FIRST
    while rows := (yield step("matching.page", run_id=run_id, rows_max=page_items, **behind)):
        whole = _whole_references(rows, page_items)
        yield from _store(run_id, whole, spec, tally)
        behind = {name: whole[-1][name] for name in FIRST}
    yield step("matching.clear", run_id=run_id)
    figures: dict[str, int] = {
        **{name: found[name] for name in ("lines", "transfers", "internal")},
        **{outcome: tally.outcomes[outcome] for outcome in OUTCOMES},
        "cut_short": tally.cut_short,
    }
    noted = yield step(
        "matching.note",
        run_id=run_id,
        spec_name=spec.name,
        period=period,
        account=account,
        spec=json.dumps(document_of_match_spec(spec)),
        actor=actor,
        now=now,
        **figures,
    )
    return MatchRun(run_id, spec.name, period, account, **figures, actor=actor, ran_at=noted[0]["recorded_at"])


def month_of(period: str) -> Period:
    """
    Return the days of a month that is written 2026-11.
    """
    first = date.fromisoformat(f"{period}-01")
    return Period(first, (first + timedelta(days=31)).replace(day=1))


def _sheet(spec: MatchSpec) -> Plan[SheetSpec]:
    """The sheet that a spec is about; InvalidInput where there is none, or not with these fields."""
    sheets = yield from declared()
    sheet = stored_spec(spec.sheet, sheets)
    if sheet is None:
        known = ", ".join(sorted({*READY, *sheets}))
        spec.refuse("sheet", f"names {shown(spec.sheet)}, and no sheet is declared by that name; there are {known}")
    wanted = {"reference": ("text",), "currency": ("text",), "amount": ("money", "integer"), "date": ("date",)}
    for setting, types in wanted.items():
        name = getattr(spec, setting)
        if name not in sheet.fields or sheet.column(name).type not in types:
            spec.refuse(setting, f"names {shown(name)}, which is no {' or '.join(types)} column of {spec.sheet}")
    return sheet


def _take(spec: MatchSpec, sheet: SheetSpec, run_id: int, month: Period, *, account: str | None) -> Step:
    accounts = spec.accounts if account is None else (account,)
    before, behind = spec.affixes
    reach = timedelta(days=REACHES * max(spec.window))
    params = {
        "run_id": run_id,
        "names": [name for name in accounts if not name.endswith(ANY)],
        "beginnings": [name.removesuffix(ANY) for name in accounts if name.endswith(ANY)],
        "kinds": list(spec.kinds),
        "by": spec.by,
        "credits": spec.side == "credit",
        "zone": spec.zone,
        "before": before,
        "behind": behind,
        "reference_characters_max": KEY_CHARACTERS_MAX - len(before) - len(behind),
        "since_on": month.since,
        "until_on": month.until,
        "first_on": month.since - reach,
        "end_on": month.until + reach,
    }
    names: OwnNames = (
        ("table", (table_of(spec.sheet),)),
        ("key", sheet.key),
        *((field, (getattr(spec, field),)) for field in ("reference", "currency", "amount", "date")),
    )
    return Step("matching.take", params, its=names)


def _whole_references(rows: Sequence[Row], page_items: int) -> Sequence[Row]:
    """The rows of a page without those of its last reference, where some of that may be on the next page."""
    last = _reference(rows[-1])
    if len(rows) < page_items or not last[1]:
        return rows
    whole = [row for row in rows if _reference(row) != last]
    if not whole:
        raise InvalidInput(
            f"{page_items} lines and transfers in {last[0]} have the reference {shown(last[1])}: that many can't be told "
            "apart by it; match them by a field that says which is which",
            argument="reference",
        )
    return whole


def _reference(row: Row) -> tuple[str, str]:
    return row["currency"], row["reference"]


def _store(run_id: int, rows: Iterable[Row], spec: MatchSpec, tally: _Tally) -> Plan[None]:
    groups: list[tuple[Any, ...]] = []
    items: list[tuple[Any, ...]] = []
    for (currency, reference), members in groupby(rows, key=_reference):
        for group in _judged(list(members), spec, known=bool(reference)):
            number = tally.count(group)
            groups.append(
                (run_id, number, group.outcome, currency, reference or None, group.difference, group.cut_short)
            )
            items += _item_rows(run_id, number, group)
    if groups:
        yield Step("matching.put_groups", {}, copied=groups)
        yield Step("matching.put_items", {}, copied=items)


def _judged(rows: Sequence[Row], spec: MatchSpec, *, known: bool) -> list[Group]:
    lines = [_item(row) for row in rows if row["is_line"]]
    transfers = [_item(row) for row in rows if not row["is_line"]]
    return judge(lines, transfers, spec.window) if known else judge_without_reference(lines, transfers)


def _item(row: Row) -> Item:
    return Item(row["on_date"], row["id"], row["place"], row["amount"], row["is_inside"])


def _item_rows(run_id: int, number: int, group: Group) -> Iterator[tuple[Any, ...]]:
    for is_line, items in ((True, group.lines), (False, group.transfers)):
        for item in items:
            yield (run_id, number, is_line, item.place, item.id, item.on, item.amount, item.inside)
