"""
Switching which side is the truth: into the shadow phase, over to the ledger, and back to the old column.

Whoever asks for the phase in its transaction, and whoever writes the old column under its trigger, holds the phase until
its end; a switch waits for them, compares or writes both sides with nobody between, and changes the phase in one commit.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from lastro.adopting import records
from lastro.adopting.bringing import OPENING, bring, catch_up, mapped
from lastro.adopting.guarding import guarded, put_guard, remove_guard
from lastro.adopting.importing import import_new, import_rest, left_to_import
from lastro.adopting.looking import Page, look
from lastro.adopting.mirroring import ROWS_NAMED_MAX, Through, write_rows, write_through
from lastro.adopting.own_table import OwnTable, Place, first_place
from lastro.adopting.records import Standing
from lastro.adopting.values import AdoptionReport
from lastro.adopting.words import AdoptionStep, Stage
from lastro.errors import AdoptionNotReady, InvalidInput
from lastro.model.limits import ADOPTION_BLOCK_MS_MAX, ADOPTION_COMPARED_WITHIN_S, ADOPTION_LOCK_TIMEOUT_MS
from lastro.plans.course import Act, Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import Effect, Plan, step
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently

MS_IN_A_SECOND = 1_000
# The shadow phase begins when a pass over the table has found no more rows than this to catch up with, or after so many.
CAUGHT_UP_MAX = 50
CATCHING_UP_PASSES_MAX = 10


class Unequal(NamedTuple):
    """
    The whole column against the ledger, in one snapshot.
    """

    rows: int
    without_account: int
    unequal: int
    lost: int
    other_currency: int

    @property
    def nothing(self) -> bool:
        """Whether both sides are equal in every row."""
        return not (self.without_account or self.unequal or self.lost)


class _Switched(NamedTuple):
    phase_before: Stage
    unequal: Unequal
    blocked_ms: int


def shadow(name: str, ledger: str, terms: Terms, *, actor: str | None, dry_run: bool) -> Course[AdoptionReport]:
    """
    Bring every account to its row with nobody between, and say that the application posts beside its old writes from then
    on. Refused while a row can't be given an account, or its account can't be brought to it.
    """
    standing: Standing = yield Act(partial(records.known, name), Effect.READ)
    if standing.phase == "shadow":
        return (yield from reported("shadow", name, ledger, terms, done=False))
    records.refuse_unless(standing, ("importing",), "shadow")
    if dry_run:
        left: int = yield Act(partial(left_to_import, standing.table), Effect.READ)
        return (yield from reported("shadow", name, ledger, terms, problems=_left_problems(left), done=False))
    yield from import_new(standing.table, terms)
    for _ in range(CATCHING_UP_PASSES_MAX):
        # Most of what was written since the import is posted beforehand, so that others wait only for what is left.
        if (yield from catch_up(standing.table, terms)) <= CAUGHT_UP_MAX:
            break
    brought: int = yield from giving_way(partial(_patiently_shadow, standing, terms, actor=actor))
    return (yield from reported("shadow", name, ledger, terms, figures={"caught_up": brought}))


def cut_over(
    name: str,
    ledger: str,
    terms: Terms,
    *,
    actor: str | None,
    dry_run: bool,
    compared_within_s: int = ADOPTION_COMPARED_WITHIN_S,
    block_ms_max: int = ADOPTION_BLOCK_MS_MAX,
) -> Course[AdoptionReport]:
    """
    Make the ledger the truth: put the triggers on the old column, compare all of it with nobody between, and switch.

    Refused while differences are open, rows have no account, the last comparison from end to end is too old, or writers
    would have to wait for too long.
    """
    standing: Standing = yield Act(partial(records.known, name), Effect.READ)
    if standing.phase == "ledger":
        return (yield from reported("cutover", name, ledger, terms, done=False))
    records.refuse_unless(standing, ("shadow",), "cutover")
    if not dry_run:
        yield from import_new(standing.table, terms)
    problems: list[str] = yield Act(partial(_in_the_way, standing, terms, compared_within_s), Effect.READ)
    # Weighed first with nobody waiting: how long the others would have to, and whether they would wait for a refusal.
    began_s = time.monotonic()
    found: Unequal = yield Act(partial(weigh, standing.table), Effect.READ)
    would_block_ms = _since(began_s)
    # Rows that came meanwhile are imported once more with nobody between.
    weighed = found if dry_run else found._replace(without_account=0)
    problems += _unequal_problems(weighed) + _block_problems(would_block_ms, block_ms_max)
    if dry_run:
        figures = {"rows": found.rows, "would_block_ms": would_block_ms}
        return (yield from reported("cutover", name, ledger, terms, figures=figures, problems=problems, done=False))
    if problems:
        raise not_ready(standing, "cutover", problems)
    # From here on the triggers are there, and let everything pass until the phase says otherwise: killed here, the
    # application goes on as before, and the next cut-over goes on from here.
    yield from giving_way(partial(put_guard, standing.table, ledger))
    switched: _Switched = yield from giving_way(partial(_patiently_cut, standing, ledger, terms, actor=actor))
    figures = {"rows": switched.unequal.rows, "blocked_ms": switched.blocked_ms}
    return (
        yield from reported("cutover", name, ledger, terms, figures=figures, done=switched.phase_before != "ledger")
    )


def roll_back(name: str, ledger: str, terms: Terms, *, actor: str | None, dry_run: bool) -> Course[AdoptionReport]:
    """
    Make the old column the truth again: write the ledger's balances into it, switch, and take the triggers away.

    Refused while an account holds what no row could take: its row is gone, or names another currency, or has no account.
    """
    standing: Standing = yield Act(partial(records.known, name), Effect.READ)
    records.refuse_unless(standing, ("importing", "shadow", "ledger"), "rollback")
    leaving, found = standing.phase == "ledger", Unequal(0, 0, 0, 0, 0)
    if leaving and not dry_run:
        yield from import_new(standing.table, terms)
    if leaving or dry_run:
        found = yield Act(partial(weigh, standing.table), Effect.READ)
    if dry_run:
        problems = _lost_problems(found) if leaving else []
        figures = {"rows": found.rows, "would_write": found.unequal if leaving else 0}
        return (yield from reported("rollback", name, ledger, terms, figures=figures, problems=problems, done=False))
    figures, switched = {"written": 0, "blocked_ms": 0}, False
    if leaving:
        # Rows that came meanwhile are imported once more with nobody between.
        _refuse_losing(standing, found._replace(without_account=0))
        # Most of it is written beforehand, so that postings wait only for what is left.
        ahead: Through = yield from write_through(standing.table, terms)
        if ahead.problems:
            raise not_ready(standing, "rollback", ahead.problems)
        began_s = time.monotonic()
        last = yield from _last_of_it(standing, terms, actor=actor)
        figures, switched = {"written": ahead.written + last, "blocked_ms": _since(began_s)}, True
    # Also where a roll-back was killed before it came to this.
    removed: bool = yield from giving_way(partial(remove_guard, standing.table, ledger))
    return (yield from reported("rollback", name, ledger, terms, figures=figures, done=switched or removed))


def _last_of_it(standing: Standing, terms: Terms, *, actor: str | None) -> Course[int]:
    try:
        last: int = yield from giving_way(partial(_patiently_back, standing, terms, actor=actor))
    except InvalidInput as error:
        if error.__cause__ is None:
            raise
        problem = f"the column doesn't take a balance that was posted just now ({error.__cause__}): mirror again"
        raise not_ready(standing, "rollback", [problem]) from error
    return last


def weigh(table: OwnTable) -> Plan[Unequal]:
    """
    Compare the whole table with the ledger.
    """
    row = (yield table.step("unequal"))[0]
    lost = yield table.step("lost", rows_max=1)
    return Unequal(
        int(row["rows_seen"]),
        int(row["without_account"]),
        int(row["unequal"]),
        len(lost),
        int(row["other_currency"]),
    )


def _in_the_way(standing: Standing, terms: Terms, compared_within_s: int) -> Plan[list[str]]:
    looked = yield from records.looked(standing.name, terms.now)
    problems = []
    if looked.differences:
        problems.append(f"{looked.differences} differences are open: solve them, adjust the ledger, compare again")
    if looked.looked_at is None:
        problems.append("both sides were never compared from end to end: compare first")
    elif looked.moment_at - looked.looked_at > timedelta(seconds=compared_within_s):
        problems.append(
            f"the last comparison from end to end is of {looked.looked_at.isoformat()}, more than {compared_within_s} s "
            "ago: compare first"
        )
    return problems


def _unequal_problems(found: Unequal) -> list[str]:
    said = (
        (found.without_account, "rows have no account: import or compare first"),
        (found.unequal, "rows differ from their accounts just now: compare tells why"),
        (found.lost, "accounts hold something and their row is gone: compare tells which"),
    )
    return [f"{count} {sentence}" for count, sentence in said if count]


def _lost_problems(found: Unequal) -> list[str]:
    """Say what money has no row to go back to."""
    said = (
        (found.other_currency, "rows name another currency than their accounts: give them back the one that they had"),
        (found.lost, "accounts hold something and their row is gone: bring the row back, or move what they hold"),
    )
    return not_taken_problems(found.without_account) + [f"{count} {sentence}" for count, sentence in said if count]


def _refuse_losing(standing: Standing, found: Unequal) -> None:
    problems = _lost_problems(found)
    if problems:
        raise not_ready(standing, "rollback", problems)


def _left_problems(left: int) -> list[str]:
    if not left:
        return []
    return [f"{left} rows have no account: import first (those that can't be imported are among the differences)"]


def not_taken_problems(left: int) -> list[str]:
    """
    Say what stands in the way where rows have no account once the ledger is the truth.
    """
    if not left:
        return []
    problem = (
        f"{left} rows have no account: those that are new get one from the mirror, and those with a balance that the "
        "ledger never had from `lastro adopt admit` (compare names them)"
    )
    return [problem]


def _block_problems(would_block_ms: int, block_ms_max: int) -> list[str]:
    if would_block_ms <= block_ms_max:
        return []
    problem = (
        f"comparing all rows took {would_block_ms} ms just now, and for so long nobody could write the column; the limit "
        f"is {block_ms_max} ms: cut over at a quiet hour, or allow more"
    )
    return [problem]


def not_ready(standing: Standing, doing: AdoptionStep, problems: Sequence[str]) -> AdoptionNotReady:
    """
    Return the refusal of a step in whose way these *problems* stand.
    """
    return AdoptionNotReady(
        f"{doing} of adoption {standing.name!r} has to wait: {'; '.join(problems)}. Nothing was changed",
        adoption=standing.name,
        phase=standing.phase,
        step=doing,
    )


def _patiently_shadow(standing: Standing, terms: Terms, *, actor: str | None) -> Plan[int]:
    return (yield from patiently(_shadow(standing, terms, actor=actor), ADOPTION_LOCK_TIMEOUT_MS))


def _shadow(standing: Standing, terms: Terms, *, actor: str | None) -> Plan[int]:
    name, table = standing.name, standing.table
    yield step("adopting.hold")
    # In following statements, which see what was committed while ours waited.
    now = yield from records.known(name)
    if now.phase == "shadow":
        return 0
    if now.phase != "importing":
        raise records.moved_meanwhile(now, "shadow")
    yield from import_rest(table, terms)
    problems = _left_problems((yield from left_to_import(table)))
    brought = 0
    failed: list[str] = []
    place: Place | None = yield from first_place(table)
    while place is not None:
        page: Page = yield from look(table, place)
        for one in mapped(page.differing):
            if (yield from bring(table, terms, row_key=one.row_key, kind=OPENING)):
                brought += 1
            else:
                failed.append(repr(records.shown_row(one.row_key)))
        place = page.after
    if failed:
        rows = ", ".join(failed[:ROWS_NAMED_MAX])
        problems.append(f"{len(failed)} accounts can't be brought to their rows ({rows}): see the differences")
    if problems:
        raise not_ready(standing, "shadow", problems)
    yield step("adopting.set_phase", name=name, phase="shadow", actor=actor, now=terms.now)
    yield records.event(name, "shadow begun", detail={"caught_up": brought}, actor=actor, now=terms.now)
    return brought


def _patiently_cut(standing: Standing, ledger: str, terms: Terms, *, actor: str | None) -> Plan[_Switched]:
    return (yield from patiently(_cut(standing, ledger, terms, actor=actor), ADOPTION_LOCK_TIMEOUT_MS))


def _cut(standing: Standing, ledger: str, terms: Terms, *, actor: str | None) -> Plan[_Switched]:
    name = standing.name
    # Before anybody else has to wait for us.
    has_guard = yield from guarded(standing.table, ledger)
    began_s = time.monotonic()
    yield step("adopting.hold")
    # In following statements, which see what was committed while ours waited.
    now = yield from records.known(name)
    if now.phase not in ("shadow", "ledger"):
        raise records.moved_meanwhile(now, "cutover")
    if now.phase == "ledger":
        return _Switched(now.phase, Unequal(0, 0, 0, 0, 0), 0)
    if not has_guard:
        raise not_ready(standing, "cutover", ["a roll-back took the triggers away meanwhile: cut over again"])
    found = yield from weigh(standing.table)
    if found.without_account:
        yield from import_rest(standing.table, terms)
        found = yield from weigh(standing.table)
    if not found.nothing:
        raise not_ready(standing, "cutover", _unequal_problems(found))
    yield step("adopting.set_phase", name=name, phase="ledger", actor=actor, now=terms.now)
    blocked_ms = _since(began_s)
    detail = {"rows": found.rows, "blocked_ms": blocked_ms}
    yield records.event(name, "cut over", detail=detail, actor=actor, now=terms.now)
    return _Switched("shadow", found, blocked_ms)


def _patiently_back(standing: Standing, terms: Terms, *, actor: str | None) -> Plan[int]:
    return (yield from patiently(_back(standing, terms, actor=actor), ADOPTION_LOCK_TIMEOUT_MS))


def _back(standing: Standing, terms: Terms, *, actor: str | None) -> Plan[int]:
    name = standing.name
    yield step("adopting.hold")
    now = yield from records.known(name)
    if now.phase not in ("shadow", "ledger"):
        raise records.moved_meanwhile(now, "rollback")
    if now.phase == "shadow":
        return 0
    yield from import_rest(standing.table, terms)
    # Whoever posts without asking for the phase holds a base row, or waits here until the column is the truth again.
    yield step("adopting.hold_accounts", adoption=name)
    _refuse_losing(standing, (yield from weigh(standing.table)))
    yield step("adopting.begin_mirroring", adoption=name)
    written = 0
    place: Place | None = yield from first_place(standing.table)
    while place is not None:
        page = yield from write_rows(standing.table, terms, place=place)
        written, place = written + page.written, page.after
    yield step("adopting.end_mirroring", adoption=name)
    yield step("adopting.set_phase", name=name, phase="shadow", actor=actor, now=terms.now)
    yield records.event(name, "rolled back", detail={"written": written}, actor=actor, now=terms.now)
    return written


def reported(
    doing: AdoptionStep,
    name: str,
    ledger: str,
    terms: Terms,
    *,
    figures: dict[str, int] | None = None,
    problems: Sequence[str] = (),
    done: bool = True,
) -> Course[AdoptionReport]:
    """
    Return the report of a step that is done, or was tried.
    """
    report: AdoptionReport = yield Act(
        partial(
            records.report,
            doing,
            name,
            ledger=ledger,
            now=terms.now,
            figures=figures or {},
            problems=tuple(problems),
            done=done,
        ),
        Effect.READ,
    )
    return report


def _since(began_s: float) -> int:
    return round((time.monotonic() - began_s) * MS_IN_A_SECOND)
