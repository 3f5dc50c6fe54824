"""
Ending an adoption: finishing it, once nobody will roll back any more, or abandoning it, as if it had never begun.

Either takes everything away that the adoption put on the application's table. The application may go on asking for the
phase: what is finished is "ledger" to it, and what is abandoned "importing". What was done and found stays on record.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from lastro.adopting import records
from lastro.adopting.bringing import ACTOR, ADJUSTMENT
from lastro.adopting.guarding import remove_guard
from lastro.adopting.importing import import_new, left_to_import
from lastro.adopting.mirroring import ROWS_NAMED_MAX, Through, write_through
from lastro.adopting.records import Standing
from lastro.adopting.switching import not_ready, not_taken_problems, reported, roll_back
from lastro.adopting.values import AdoptionReport
from lastro.adopting.words import Stage
from lastro.errors import Refusal
from lastro.model.account import WORLD
from lastro.model.limits import ADOPTION_IMPORT_ROWS_MAX, ADOPTION_LOCK_TIMEOUT_MS
from lastro.model.transfer import Intent, intent
from lastro.plans.batch import post_many
from lastro.plans.course import Act, Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import Effect, Plan, Row, step
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently


class _Cleared(NamedTuple):
    """Accounts that were parted from their rows, how many were emptied and how many not, and the first of those."""

    rows: int = 0
    emptied: int = 0
    kept: int = 0
    named: tuple[str, ...] = ()

    def and_then(self, more: _Cleared) -> _Cleared:
        return _Cleared(
            self.rows + more.rows,
            self.emptied + more.emptied,
            self.kept + more.kept,
            (*self.named, *more.named)[:ROWS_NAMED_MAX],
        )


def finish(name: str, ledger: str, terms: Terms, *, actor: str | None, dry_run: bool) -> Course[AdoptionReport]:
    """
    End an adoption whose ledger is the truth: mirror once more, and take the triggers away. There is no way back.

    Refused while a row holds what the ledger never had.
    """
    standing: Standing = yield Act(partial(records.known, name), Effect.READ)
    records.refuse_unless(standing, ("ledger", "finished"), "finish")
    ahead, problems = Through(0, 0, (), ended=False), []
    if standing.phase == "ledger":
        # The table may be gone already: then there is nothing to look at, and nothing to take away.
        there: bool = yield Act(partial(_is_there, standing), Effect.READ)
        if there and not dry_run:
            yield from import_new(standing.table, terms)
            ahead = yield from write_through(standing.table, terms)
        if there:
            problems = not_taken_problems((yield Act(partial(left_to_import, standing.table), Effect.READ)))
    if dry_run:
        return (yield from reported("finish", name, ledger, terms, problems=problems, done=False))
    if problems:
        raise not_ready(standing, "finish", problems)
    figures = {"rows": ahead.rows, "written": ahead.written}
    switch = partial(_switch, standing, terms, "finished", start=("ledger",), detail=figures, actor=actor)
    switched: bool = yield from giving_way(lambda: patiently(switch(), ADOPTION_LOCK_TIMEOUT_MS))
    removed: bool = yield from giving_way(partial(remove_guard, standing.table, ledger))
    done = switched or removed
    return (yield from reported("finish", name, ledger, terms, figures=figures, problems=ahead.problems, done=done))


def abandon(
    name: str, ledger: str, terms: Terms, *, actor: str | None, dry_run: bool, keep_balances: bool
) -> Course[AdoptionReport]:
    """
    End an adoption that isn't finished, with the old column as the truth: roll back where the ledger is, take the triggers
    away, and empty the accounts by keyed transfers, unless their balances are to be kept.
    """
    standing: Standing = yield Act(partial(records.known, name), Effect.READ)
    records.refuse_unless(standing, ("importing", "shadow", "ledger", "abandoned"), "abandon")
    if standing.phase == "ledger":
        back = yield from roll_back(name, ledger, terms, actor=actor, dry_run=dry_run)
        if dry_run:
            return back._replace(step="abandon")
    if dry_run:
        rows = (yield Act(partial(records.looked, name, terms.now), Effect.READ)).mapped
        return (yield from reported("abandon", name, ledger, terms, figures={"accounts": rows}, done=False))
    detail = {"keep_balances": int(keep_balances)}
    switch = partial(_switch, standing, terms, "abandoned", start=("importing", "shadow"), detail=detail, actor=actor)
    switched: bool = yield from giving_way(lambda: patiently(switch(), ADOPTION_LOCK_TIMEOUT_MS))
    removed: bool = yield from giving_way(partial(remove_guard, standing.table, ledger))
    cleared = yield from _clear(standing, terms, keep_balances=keep_balances)
    problems = _kept_problems(cleared)
    figures = {"accounts": cleared.rows, "emptied": cleared.emptied, "kept": cleared.kept}
    done = switched or removed or bool(cleared.rows)
    return (yield from reported("abandon", name, ledger, terms, figures=figures, problems=problems, done=done))


def _is_there(standing: Standing) -> Plan[bool]:
    column = standing.table.column
    rows = yield step("adopting.columns", table_schema=column.schema, table_name=column.table)
    return column.balance in {row["column_name"] for row in rows}


def _switch(
    standing: Standing,
    terms: Terms,
    stage: Stage,
    *,
    start: tuple[Stage, ...],
    detail: dict[str, int],
    actor: str | None,
) -> Plan[bool]:
    name = standing.name
    yield step("adopting.hold")
    # In a following statement, which sees what was committed while ours waited.
    now = yield from records.known(name)
    if now.phase == stage:
        return False
    if now.phase not in start:
        raise records.moved_meanwhile(now, "finish" if stage == "finished" else "abandon")
    yield step("adopting.set_phase", name=name, phase=stage, actor=actor, now=terms.now)
    yield from records.drop_differences(name)
    yield records.event(name, stage, detail=detail, actor=actor, now=terms.now)
    return True


def _clear(standing: Standing, terms: Terms, *, keep_balances: bool) -> Course[_Cleared]:
    """Part the accounts from their rows, page by page, each page emptied and parted in one transaction."""
    page = partial(_clear_page, standing, terms, keep_balances=keep_balances)
    cleared = _Cleared()
    while True:
        more: _Cleared = yield from giving_way(lambda: patiently(page(), ADOPTION_LOCK_TIMEOUT_MS))
        if not more.rows:
            return cleared
        cleared = cleared.and_then(more)


def _clear_page(standing: Standing, terms: Terms, *, keep_balances: bool) -> Plan[_Cleared]:
    name = standing.name
    rows = yield step("adopting.rows_of", adoption=name, rows_max=ADOPTION_IMPORT_ROWS_MAX)
    if not rows:
        return _Cleared()
    emptied, kept = (0, ()) if keep_balances else (yield from _empty(name, rows, terms))
    named = kept[:ROWS_NAMED_MAX]
    yield step("adopting.forget_rows", adoption=name, row_key=rows[-1]["row_key"])
    if kept:
        detail = {"accounts": named, "count": len(kept)}
        yield records.event(name, "balances kept", detail=detail, now=terms.now)
    return _Cleared(len(rows), emptied, len(kept), named)


def _empty(name: str, rows: Sequence[Row], terms: Terms) -> Plan[tuple[int, tuple[str, ...]]]:
    """Post what brings each account to zero; return how many were, and which accounts refused it."""
    ids = sorted(row["account_id"] for row in rows)
    # Held first, so that what is read of them is what is taken.
    yield step("locked.lock_sides", account_ids=ids, now=terms.now)
    weighed = yield step("locked.weigh_sides", account_ids=ids)
    posted = {row["account_id"]: whole(row, "posted") for row in weighed}
    holding = [row for row in rows if posted[row["account_id"]]]
    intents = [_emptying(name, row, posted[row["account_id"]]) for row in holding]
    outcomes = (yield from post_many(intents, terms, partial=True)) if intents else []
    kept = tuple(row["account"] for row, outcome in zip(holding, outcomes, strict=True) if isinstance(outcome, Refusal))
    return len(holding) - len(kept), kept


def _emptying(name: str, row: Row, posted: int) -> Intent:
    return intent(
        key=f"adopt:{name}:{row['row_key']}:abandoned",
        kind=ADJUSTMENT,
        debit=row["account"] if posted > 0 else WORLD,
        credit=WORLD if posted > 0 else row["account"],
        amount=abs(posted),
        currency=row["currency"],
        source=f"adopt:{name}",
        actor=ACTOR,
        metadata={"row": records.shown_row(row["row_key"]), "reason": "the adoption was abandoned"},
    )


def _kept_problems(cleared: _Cleared) -> tuple[str, ...]:
    if not cleared.kept:
        return ()
    named = ", ".join(map(repr, cleared.named))
    return (f"{cleared.kept} accounts keep their balances, for taking them was refused (holds, or a floor): {named}",)
