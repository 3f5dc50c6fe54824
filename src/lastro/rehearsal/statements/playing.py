"""
Part three: a statement of part one is sent with mistakes, merged by two at once, corrected the same way, and matched.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import lastro
from lastro.imports import parse, ready_specs, staged_rows, take
from lastro.matching import MatchRun
from lastro.rehearsal.marketplace import Order
from lastro.rehearsal.progress import Progress, silent
from lastro.rehearsal.proof import Proof, Proofs
from lastro.rehearsal.stage import Stage
from lastro.rehearsal.statements.books import Found, read_found, read_history
from lastro.rehearsal.statements.lines import read_paid, said_of
from lastro.rehearsal.statements.merging import MERGERS, Merged, merge_twice
from lastro.rehearsal.statements.planting import plant, with_mistakes
from lastro.rehearsal.statements.proofs import SHEETS, Sent, prove, prove_merged, prove_untouched
from lastro.rehearsal.statements.workbooks import write_zip

FOLDER = "lastro-statements-"


class Given(NamedTuple):
    """
    A zip that somebody else made, and the month that it is of.
    """

    file: Path
    period: str


def play(stage: Stage, orders: Sequence[Order], *, progress: Progress = silent) -> tuple[Sent, Merged, Merged, Found]:
    """
    Play part three on the stage of part one, and return what was sent, what both merges did, and what was found.
    """
    with tempfile.TemporaryDirectory(prefix=FOLDER) as folder, stage.connect() as connection:
        paid, payouts = read_paid(connection, stage)
        said, planted = plant(said_of(orders, paid, payouts))
        first, mistakes = with_mistakes(said)
        commissions = sum(item.commission > 0 for order in orders for item in order.items)
        sales = sum(len({item.seller for item in order.items}) for order in orders)
        sent = Sent(
            first,
            said,
            mistakes,
            planted,
            transfers={"movements": commissions + sales + len(payouts), "billing": commissions},
        )
        before = read_history(connection, stage)
        progress(f"a statement of {len(first.movements)} movements and its corrections, merged by {MERGERS} at once")
        zips = (
            write_zip(Path(folder) / "statements.zip", first),
            write_zip(Path(folder) / "corrections.zip", said),
        )
        merged, corrected = merge_twice(stage, zips, said.period)
        return sent, merged, corrected, read_found(connection, stage, _match(stage, said.period), before)


def run(stage: Stage, orders: Sequence[Order], *, given: Given | None = None, progress: Progress = silent) -> Proofs:
    """
    Play part three, and prove that exactly the differences are reported that were planted.

    With a zip that is *given*: merge that one by two at once and match it. What differs in it is counted, and nothing
    to be proved.
    """
    if given is not None:
        return _run_given(stage, given, progress)
    sent, first, corrected, found = play(stage, orders, progress=progress)
    return Proofs(prove(sent, first, corrected, found), _figures(found))


def _run_given(stage: Stage, given: Given, progress: Progress) -> Proofs:
    with stage.connect() as connection:
        before = read_history(connection, stage)
        progress(f"{given.file.name} of {given.period}, merged by {MERGERS} at once")
        (merged,) = merge_twice(stage, [given.file], given.period)
        found = read_found(connection, stage, _match(stage, given.period), before)
    return Proofs(
        (*prove_merged("zip", merged), *_prove_given(merged, found), *prove_untouched(found)), _figures(found)
    )


def _prove_given(merged: Merged, found: Found) -> list[Proof]:
    proofs = []
    for matched in found.matched:
        sheet = matched.run.spec
        stored = sum(key[0] == sheet for key in found.lines)
        seen = MERGERS * stored
        proofs += [
            Proof(
                f"{sheet}: lines written once, left alone by the other process", stored, merged.of(sheet, "inserted")
            ),
            Proof(f"{sheet}: lines that both processes found", seen, merged.of(sheet, "inserted", "unchanged")),
            Proof(f"{sheet}: lines that ended in a group", stored, matched.items.lines),
        ]
    return proofs


def _match(stage: Stage, period: str) -> list[MatchRun]:
    with stage.open_ledger() as ledger:
        return [ledger.matching.match(sheet, period=period, actor="demo") for sheet in SHEETS]


def read_given(file: Path) -> Given:
    """
    Return a zip with the month of most of its rows. Raises InvalidInput where none of it can be read.
    """
    months = Counter[str]()
    with tempfile.TemporaryDirectory(prefix=FOLDER) as folder:
        members, staged = Path(folder) / "members", Path(folder) / "staged"
        members.mkdir()
        staged.mkdir()
        specs = ready_specs()
        dated = {spec.name: spec.period for spec in specs}
        reports = parse(take(file, members).sources, specs, folder=staged)
        for sheet in (sheet for report in reports for sheet in report.sheets):
            place = sheet.fields.index(dated[sheet.spec] or "")
            months.update(str(fields[place])[: len("2026-11")] for _, fields in staged_rows(sheet.staged))
    if not months:
        raise lastro.InvalidInput(
            f"nothing in {file} can be read as billing or movements; `lastro import {file} --check` says why",
            argument="statements",
        )
    return Given(file, max(months, key=lambda month: (months[month], month)))


def _figures(found: Found) -> dict[str, int | float | str]:
    figures: dict[str, int | float | str] = {}
    for matched in found.matched:
        run = matched.run
        for outcome in ("matched", "amount_differs", "missing_in_ledger", "missing_in_statement"):
            figures[f"{run.spec}_{outcome}"] = getattr(run, outcome)
    return figures
