"""
What an adoption tells of itself: where it stands, what it found, and what each step of it did.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from lastro.adopting.advising import advice
from lastro.adopting.declaration import OldColumn
from lastro.adopting.words import AdoptionStep, Cause, Stage


class Difference(NamedTuple):
    """
    A row of the old table and its account that don't agree, and what by all signs went wrong since they last did.

    `row` is the row's id (of two columns: with a / between them). `expected` is what the old column says, in minor units,
    or its own text where that is no amount; `found` what the ledger says; None: there is no such side.
    """

    row: str
    account: str | None
    currency: str | None
    cause: Cause
    expected: int | str | None
    found: int | None
    first_seen_at: datetime
    last_seen_at: datetime


class Adoption(NamedTuple):
    """
    Where an adoption stands.

    `phase`: "importing" and "shadow", while the old column is the truth; "ledger", when the ledger is and the column
    mirrors it; "finished" or "abandoned", when it has ended. `rows` have an account; `differences` are open; `guarded`:
    the triggers are on the old column, which refuse its writing in the phase "ledger". `looked_at`: when both sides were
    last compared from end to end before a cut-over.
    """

    name: str
    phase: Stage
    column: OldColumn
    rows: int
    differences: int
    guarded: bool
    looked_at: datetime | None
    started_at: datetime
    changed_at: datetime
    actor: str | None


class AdoptionEvent(NamedTuple):
    """
    Something that was done to an adoption, or found in it; never changed afterwards.
    """

    id: int
    what: str
    row: str | None
    detail: str | None
    actor: str | None
    recorded_at: datetime


class AdoptionReport(NamedTuple):
    """
    What a step did. `figures` by name; `done` is False where there was nothing to do, and after a dry run.

    `problems` say in words why a step can't be done yet (a dry run), or what was left aside. `differences` are those that
    are open now, up to 1,000; `advice` says of each of their causes what it means in this phase, and what to do.
    """

    step: AdoptionStep
    adoption: Adoption
    figures: Mapping[str, int]
    differences: tuple[Difference, ...] = ()
    problems: tuple[str, ...] = ()
    done: bool = True

    @property
    def advice(self) -> Mapping[Cause, str]:
        """What each cause among the differences means, and what to do."""
        return {one.cause: advice(one.cause, self.adoption.phase) for one in self.differences}


class AdoptionSurvey(NamedTuple):
    """
    What a look at the old table found before anything is written.

    `rows`, of which `nulls` have no balance and `negative` one below zero; the `least` and the `most` in minor units;
    `currencies` with their rows (the 20 most frequent). `problems` have to be solved before the import, `advice` need not.
    """

    rows: int
    nulls: int
    negative: int
    least: int | None
    most: int | None
    currencies: Mapping[str, int]
    problems: tuple[str, ...]
    advice: tuple[str, ...]
