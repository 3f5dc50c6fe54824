"""
Importing: the opening balance of each row, read and posted in one transaction that holds the row.

A row that somebody writes at that moment is passed over and comes in a later pass, so an import waits for nobody's rows
and no write falls between the reading of a balance and its posting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from lastro.adopting import records
from lastro.adopting.accounting import Wanted, open_accounts, sorted_out, without_strange, without_taken
from lastro.adopting.bringing import ACTOR, OPENING, catch_up
from lastro.adopting.declaration import OldColumn, to_json
from lastro.adopting.own_table import OwnTable, Place, first_place
from lastro.adopting.records import Standing
from lastro.adopting.surveying import look_at_columns
from lastro.adopting.telling_apart import Seen, read_units
from lastro.adopting.values import AdoptionReport
from lastro.adopting.words import ENDED, Cause
from lastro.errors import AdoptionConflict, AdoptionNotReady, Refusal
from lastro.model.account import WORLD, Facts
from lastro.model.directory import Directory
from lastro.model.limits import (
    ADOPTION_IMPORT_ROWS_MAX,
    ADOPTION_LOCK_TIMEOUT_MS,
    ADOPTION_PASSES_MAX,
    ROW_KEY_CHARACTERS_MAX,
)
from lastro.model.transfer import Intent, Posted, intent
from lastro.plans.accounts import AccountKey, find_facts
from lastro.plans.batch import post_many
from lastro.plans.course import Act, Course
from lastro.plans.patience import giving_way
from lastro.plans.plan import TOGETHER, Effect, Plan, Row, step
from lastro.plans.stored import whole
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently

# Told how many rows were imported, after each transaction; False ends the import there.
AfterRows: TypeAlias = Callable[[int], bool]


class Batch(NamedTuple):
    """
    What one transaction did: rows that have an account now, rows that can't have one, and where the next begins.
    """

    imported: int
    refused: int
    after: Place | None


class Imported(NamedTuple):
    """
    What an import did in all. `ended`: it was told to stop.
    """

    imported: int
    refused: int
    ended: bool


def begin(column: OldColumn, terms: Terms, *, actor: str | None) -> Plan[Standing]:
    """
    Note the adoption of *column* unless it was begun before; AdoptionConflict where it was begun with another declaration.
    """
    yield TOGETHER
    found = yield from records.find(column.name)
    if found is None:
        made = yield from look_at_columns(column)
        if made.problems:
            raise AdoptionNotReady(
                f"adoption {column.name!r} can't begin: {'; '.join(made.problems)}",
                adoption=column.name,
                phase=None,
                step="import",
            )
        declaration = records.declared(column, made.text_ids)
        yield step("adopting.begin", name=column.name, declaration=declaration, actor=actor, now=terms.now)
        # Read in a following statement: a rival may have been first.
        found = yield from records.known(column.name)
        yield records.event(column.name, "begun", actor=actor, now=terms.now)
    if found.phase in ENDED:
        raise records.ended(found, "import")
    if to_json(found.table.column) != to_json(column):
        stored, given = found.table.column._asdict(), column._asdict()
        fields = {name: (stored[name], given[name]) for name in stored if stored[name] != given[name]}
        raise AdoptionConflict(
            f"adoption {column.name!r} was begun with another declaration ({', '.join(fields)} differs): an adoption keeps "
            "the one that it began with; take another name for another one",
            adoption=column.name,
            fields=fields,
        )
    return found


def import_rows(
    column: OldColumn, ledger: str, terms: Terms, *, actor: str | None, after_rows: AfterRows | None
) -> Course[AdoptionReport]:
    """
    Begin the adoption of *column* where it hasn't begun, give every row an account that has none, and bring the accounts
    of rows that were written since to what they hold.
    """
    standing: Standing = yield Act(partial(begin, column, terms, actor=actor))
    importing = standing.phase == "importing"
    if importing:
        # Those that are still there are found again.
        yield Act(partial(records.drop_differences, column.name))
    done = yield from import_new(standing.table, terms, after_rows=after_rows)
    left = (yield Act(partial(left_to_import, standing.table), Effect.READ)) if not done.ended else 0
    caught_up = (yield from catch_up(standing.table, terms)) if importing and not done.ended else 0
    if done.imported:
        detail = {"rows": done.imported, "refused": done.refused, "remaining": left}
        yield Act(lambda: _noted(column.name, detail, terms, actor=actor))
    again = "import again" if standing.phase != "ledger" else "admit those that the ledger never had"
    problems = (f"{left} rows have no account yet: see the differences, and {again}",) if left else ()
    figures = {"imported": done.imported, "caught_up": caught_up, "refused": done.refused, "remaining": left}
    report: AdoptionReport = yield Act(
        partial(
            records.report,
            "import",
            column.name,
            ledger=ledger,
            now=terms.now,
            figures=figures,
            problems=problems,
            done=bool(done.imported or caught_up),
        ),
        Effect.READ,
    )
    return report


def import_new(table: OwnTable, terms: Terms, *, after_rows: AfterRows | None = None) -> Course[Imported]:
    """
    Give an account to every row that has none, transaction by transaction; pass by pass, while rows are being written.
    """
    imported = refused = 0
    for _ in range(ADOPTION_PASSES_MAX):
        before = imported
        refused = 0
        place: Place | None = yield Act(partial(first_place, table), Effect.READ)
        while place is not None:
            batch: Batch = yield from giving_way(partial(import_batch, table, terms, place=place))
            imported, refused, place = imported + batch.imported, refused + batch.refused, batch.after
            if after_rows is not None and not after_rows(batch.imported):
                return Imported(imported, refused, ended=True)
        # A pass that finds nothing new ends it; most adoptions end with the look for what is left.
        if imported == before or (yield Act(partial(left_to_import, table), Effect.READ)) <= refused:
            break
    return Imported(imported, refused, ended=False)


def import_batch(table: OwnTable, terms: Terms, *, place: Place) -> Plan[Batch]:
    """
    Import up to ADOPTION_IMPORT_ROWS_MAX rows from *place* on, in one transaction.

    Locks the rows, of which it waits for none, and, shared, the adoption's phase.
    """
    return (yield from patiently(_import_batch(table, terms, place=place), ADOPTION_LOCK_TIMEOUT_MS))


def import_rest(table: OwnTable, terms: Terms) -> Plan[None]:
    """
    Give an account to every row that has none, in a transaction that is under way.
    """
    place: Place | None = yield from first_place(table)
    while place is not None:
        batch = yield from _import_batch(table, terms, place=place)
        place = batch.after


def _import_batch(table: OwnTable, terms: Terms, *, place: Place) -> Plan[Batch]:
    # What another transaction believed of its accounts, and took back, mustn't become the account of a row.
    terms = terms._replace(directory=Directory())
    phase = yield from records.phase_of(table.column.name)
    if phase in ENDED:
        return Batch(0, 0, None)
    rows = yield table.step("to_import", **table.within(place), rows_max=ADOPTION_IMPORT_ROWS_MAX)
    if not rows:
        return Batch(0, 0, None)
    wanted, refused = sorted_out(table, rows, phase)
    # Once the ledger is the truth, a row that holds something gets no account unless it has one that holds the same.
    yield from open_accounts(table.column, [one for one in wanted if phase != "ledger" or not one.units], terms)
    facts = yield from find_facts(terms.directory, [(one.account, one.currency) for one in wanted])
    wanted, strange = (yield from without_strange(wanted, facts)) if phase == "ledger" else (wanted, [])
    wanted, taken = yield from without_taken(wanted, facts)
    refused += taken
    if phase != "ledger":
        wanted, unposted = yield from _post_openings(table.column, wanted, facts, terms)
        refused += unposted
    if wanted:
        yield step(
            "adopting.put_rows",
            adoption=table.column.name,
            row_keys=[one.row["row_key"] for one in wanted],
            account_ids=[facts[one.account, one.currency].id for one in wanted],
            units=[one.units for one in wanted],
            now=terms.now,
        )
    for one, posted in strange:
        found = _unmapped(table, one.row)._replace(account=one.account, posted=posted)
        yield records.put_difference(table.column.name, found, "not_taken_over", now=terms.now)
    for row, cause in refused:
        yield records.put_difference(table.column.name, _unmapped(table, row), cause, now=terms.now)
    after = None if len(rows) < ADOPTION_IMPORT_ROWS_MAX else Place(table.ids_of(rows[-1]), inclusive=False)
    return Batch(len(wanted), len(refused) + len(strange), after)


def _post_openings(
    column: OldColumn, wanted: Sequence[Wanted], facts: dict[AccountKey, Facts], terms: Terms
) -> Plan[tuple[list[Wanted], list[tuple[Row, Cause]]]]:
    """
    Post what brings each account to its row's balance. An account that was there already may hold something: whoever
    posted to it held, or will have to wait for, the row that we hold.
    """
    ids = sorted({facts[one.account, one.currency].id for one in wanted})
    weighed = (yield step("locked.weigh_sides", account_ids=ids)) if ids else []
    posted = {row["account_id"]: whole(row, "posted") for row in weighed}
    changes = [one.units - posted[facts[one.account, one.currency].id] for one in wanted]
    intents = [
        _opening(column.name, one.row["row_key"], one.account, one.currency, change)
        for one, change in zip(wanted, changes, strict=True)
        if change
    ]
    outcomes = (yield from post_many(intents, terms, partial=True)) if intents else []
    answers = iter(outcomes)
    kept: list[Wanted] = []
    refused: list[tuple[Row, Cause]] = []
    for one, change in zip(wanted, changes, strict=True):
        outcome: Posted | Refusal | None = next(answers) if change else None
        if isinstance(outcome, Refusal):
            refused.append((one.row, "row_without_account"))
        else:
            kept.append(one)
    return kept, refused


def _opening(adoption: str, row_key: str, account: str, currency: str, change: int) -> Intent | Refusal:
    """Return the transfer that brings an account to its row's balance, once for each row."""
    try:
        return intent(
            key=f"adopt:{adoption}:{row_key}:opening",
            kind=OPENING,
            debit=WORLD if change > 0 else account,
            credit=account if change > 0 else WORLD,
            amount=abs(change),
            currency=currency,
            source=f"adopt:{adoption}",
            actor=ACTOR,
        )
    except Refusal as refusal:
        return refusal


def _unmapped(table: OwnTable, row: Row) -> Seen:
    return Seen(
        row_key=row["row_key"][:ROW_KEY_CHARACTERS_MAX],
        ids=table.ids_of(row),
        currency=row["currency"],
        raw=row["raw"],
        units=read_units(row["units"]),
        account_id=None,
        agreed=0,
        account=None,
        account_currency=None,
        posted=None,
    )


def left_to_import(table: OwnTable) -> Plan[int]:
    """
    Return how many rows have no account.
    """
    return int((yield table.step("left_to_import"))[0]["rows_left"])


def _noted(name: str, detail: dict[str, int], terms: Terms, *, actor: str | None) -> Plan[None]:
    yield records.event(name, "imported", detail=detail, actor=actor, now=terms.now)
