"""
Reading and writing what is known of adoptions: where each stands, its differences and its events.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from lastro.adopting.declaration import OldColumn, from_json, to_json
from lastro.adopting.own_table import SEPARATOR, OwnTable
from lastro.adopting.telling_apart import Seen
from lastro.adopting.values import Adoption, AdoptionEvent, AdoptionReport, Difference
from lastro.adopting.words import ENDED, AdoptionStep, Cause, Phase, Stage
from lastro.errors import AdoptionNotReady, UnknownAdoption
from lastro.model.limits import ADOPTION_DIFFERENCES_MAX
from lastro.plans.plan import Plan, Row, Step, step

TRIGGER_CHARACTERS_MAX = 60
# Which step comes first, where one comes too early.
FIRST = {
    None: "import",
    "importing": "shadow",
    "shadow": "cutover",
    "ledger": "rollback",
}


class Standing(NamedTuple):
    """
    An adoption as it is stored, and its table.
    """

    name: str
    phase: Stage
    table: OwnTable
    started_at: datetime
    changed_at: datetime
    actor: str | None


class Looked(NamedTuple):
    """
    When both sides were last compared from end to end, how many rows have an account, and what differs now.
    """

    rows: int
    mapped: int
    differences: int
    looked_at: datetime | None
    moment_at: datetime


def find(name: str) -> Plan[Standing | None]:
    """
    Return an adoption, or None.
    """
    rows = yield step("adopting.find", name=name)
    return _standing(rows[0]) if rows else None


def known(name: str) -> Plan[Standing]:
    """
    Return an adoption; UnknownAdoption where there is none.
    """
    found = yield from find(name)
    if found is None:
        raise UnknownAdoption(
            f"there is no adoption {name!r} in this ledger: `lastro adopt import` begins one", adoption=name
        )
    return found


def listed(*, limit: int) -> Plan[list[str]]:
    """
    Return the names of the adoptions.
    """
    rows = yield step("adopting.list", rows_max=limit)
    return [row["name"] for row in rows]


def phase_of(name: str) -> Plan[Stage]:
    """
    Return where an adoption stands, and stays until the transaction ends.
    """
    rows = yield step("adopting.phase", name=name)
    if not rows:
        yield from known(name)
    phase: Stage = rows[0]["phase"]
    return phase


def to_act_by(name: str) -> Plan[Phase]:
    """
    Return the phase that an application goes by: one that has ended is as good as what it ended as.
    """
    stage = yield from phase_of(name)
    match stage:
        case "finished" | "abandoned":
            return ENDED[stage]
        case _:
            return stage


def ended(standing: Standing, doing: AdoptionStep) -> AdoptionNotReady:
    """
    Return the refusal of a step of an adoption that has ended.
    """
    return AdoptionNotReady(
        f"adoption {standing.name!r} was {standing.phase} at {standing.changed_at.isoformat()}, and {doing} has nothing to "
        "do any more; another adoption, also of the same column, takes another name",
        adoption=standing.name,
        phase=standing.phase,
        step=doing,
    )


def moved_meanwhile(now: Standing, doing: AdoptionStep) -> AdoptionNotReady:
    """
    Return the refusal of a step that found the adoption in another phase than it began in.
    """
    return AdoptionNotReady(
        f"adoption {now.name!r} went into the phase {now.phase!r} meanwhile; nothing was changed, ask again",
        adoption=now.name,
        phase=now.phase,
        step=doing,
    )


def refuse_unless(standing: Standing, wanted: tuple[Stage, ...], doing: AdoptionStep) -> None:
    """
    Raise where *doing* isn't a step to take in the adoption's phase, and say which is.
    """
    if standing.phase in ENDED and standing.phase not in wanted:
        raise ended(standing, doing)
    if standing.phase == "ledger" and doing == "adjust":
        raise AdoptionNotReady(
            f"adoption {standing.name!r} is in the phase 'ledger': the ledger is the truth, and isn't brought to the column. "
            "`lastro adopt compare` says what differs and what to do; what the ledger lacks is posted",
            adoption=standing.name,
            phase=standing.phase,
            step=doing,
        )
    if standing.phase not in wanted:
        raise AdoptionNotReady(
            f"adoption {standing.name!r} is in the phase {standing.phase!r}, and {doing} is a step of the phase "
            f"{' or '.join(map(repr, wanted))}: {FIRST[standing.phase]} comes first",
            adoption=standing.name,
            phase=standing.phase,
            step=doing,
        )


def adoption(standing: Standing, ledger: str, now: datetime | None) -> Plan[Adoption]:
    """
    Return an adoption as others see it.
    """
    figures = (yield step("adopting.figures", adoption=standing.name, now=now))[0]
    guards = yield step("adopting.guards", **guard_terms(standing.table.column, ledger))
    return Adoption(
        standing.name,
        standing.phase,
        standing.table.column,
        rows=int(figures["rows_mapped"]),
        differences=int(figures["differences"]),
        guarded=bool(guards[0]["guarded"]),
        looked_at=None if figures["looked_at"] is None else figures["looked_at"].astimezone(UTC),
        started_at=standing.started_at,
        changed_at=standing.changed_at,
        actor=standing.actor,
    )


def looked(name: str, now: datetime | None) -> Plan[Looked]:
    """
    Return when both sides were last compared from end to end.
    """
    row = (yield step("adopting.figures", adoption=name, now=now))[0]
    return Looked(
        int(row["rows_seen"] or 0), int(row["rows_mapped"]), int(row["differences"]), row["looked_at"], row["moment_at"]
    )


def report(
    doing: AdoptionStep,
    name: str,
    *,
    ledger: str,
    now: datetime | None,
    figures: Mapping[str, int],
    problems: tuple[str, ...] = (),
    done: bool = True,
) -> Plan[AdoptionReport]:
    """
    Return the report of a step, with the adoption and its differences as they are now.
    """
    standing = yield from known(name)
    seen = yield from adoption(standing, ledger, now)
    found = (yield from differences(name, limit=ADOPTION_DIFFERENCES_MAX)) if seen.differences else []
    return AdoptionReport(doing, seen, dict(figures), tuple(found), problems, done)


def differences(name: str, *, limit: int) -> Plan[list[Difference]]:
    """
    Return the open differences of an adoption, in the order of the rows' keys.
    """
    rows = yield step("adopting.differences", adoption=name, rows_max=limit)
    return [_difference(row) for row in rows]


def events(name: str, *, limit: int) -> Plan[list[AdoptionEvent]]:
    """
    Return what was done to an adoption and found in it, the newest first.
    """
    rows = yield step("adopting.events", adoption=name, rows_max=limit)
    return [
        AdoptionEvent(
            row["id"],
            row["what"],
            None if row["row_key"] is None else shown_row(row["row_key"]),
            row["detail"],
            row["actor"],
            row["recorded_at"].astimezone(UTC),
        )
        for row in rows
    ]


def drop_differences(name: str) -> Plan[None]:
    """
    Forget what was different; what was found stands among the events.
    """
    yield step("adopting.drop_differences", adoption=name)


def event(
    name: str,
    what: str,
    *,
    now: datetime | None,
    row_key: str | None = None,
    detail: Mapping[str, object] | None = None,
    actor: str | None = None,
) -> Step:
    """
    Return the step that writes down what was done or found.
    """
    said = None if detail is None else json.dumps(detail, ensure_ascii=False, sort_keys=True)
    return step("adopting.note_event", adoption=name, what=what, row_key=row_key, detail=said, actor=actor, now=now)


def put_difference(name: str, seen: Seen, cause: Cause, *, now: datetime | None) -> Step:
    """
    Return the step that notes a difference, or that it is still there.
    """
    return step(
        "adopting.put_difference",
        adoption=name,
        row_key=seen.row_key,
        account=seen.account,
        currency=seen.currency,
        cause=cause,
        expected=seen.expected,
        found=seen.posted,
        now=now,
    )


def declared(column: OldColumn, text_ids: tuple[bool, ...]) -> str:
    """
    Return a declaration as it is stored, with what was found of its id.
    """
    return json.dumps({"column": json.loads(to_json(column)), "text_ids": text_ids}, sort_keys=True)


def guard_terms(column: OldColumn, ledger: str) -> dict[str, Any]:
    """
    Return what the statements about the triggers on the old column are given.
    """
    return {
        "table_schema": column.schema,
        "table_name": column.table,
        "id_1": column.ids[0],
        "id_2": column.ids[1] if len(column.ids) > 1 else None,
        "trigger_name": f"adopted_{column.name}_by_{ledger}"[:TRIGGER_CHARACTERS_MAX],
        "balance": column.balance,
        "adoption": column.name,
    }


def shown_row(row_key: str) -> str:
    """
    Return the key of a row for people.
    """
    return row_key.replace(SEPARATOR, "/")


def _standing(row: Row) -> Standing:
    said = json.loads(row["declaration"])
    column = from_json(json.dumps(said["column"]))
    return Standing(
        row["name"],
        row["phase"],
        OwnTable(column, tuple(said["text_ids"])),
        row["started_at"].astimezone(UTC),
        row["changed_at"].astimezone(UTC),
        row["actor"],
    )


def _difference(row: Row) -> Difference:
    expected: int | str | None = row["expected"]
    if isinstance(expected, str) and expected.removeprefix("-").isdecimal() and row["cause"] != "unreadable_balance":
        expected = int(expected)
    return Difference(
        shown_row(row["row_key"]),
        row["account"],
        row["currency"],
        row["cause"],
        expected,
        row["found"],
        row["first_seen_at"].astimezone(UTC),
        row["last_seen_at"].astimezone(UTC),
    )
