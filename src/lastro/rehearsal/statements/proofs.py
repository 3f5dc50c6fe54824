"""
The proofs of part three: what was merged, what was found to differ, and that the ledger is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lastro.rehearsal.proof import Proof, differing, shown
from lastro.rehearsal.statements.books import Found
from lastro.rehearsal.statements.lines import Said
from lastro.rehearsal.statements.merging import MERGERS, Merged
from lastro.rehearsal.statements.planting import Difference, Mistakes

SHEETS: Final = ("movements", "billing")


@dataclass(frozen=True)
class Sent:
    """
    What was sent, and what must come of it: the statement as corrected, what the first zip got wrong, and what was
    planted. `transfers`: what the marketplace's own books say that each sheet is to be matched with.
    """

    first: Said
    said: Said
    mistakes: Mapping[str, Mistakes]
    planted: Sequence[Difference]
    transfers: Mapping[str, int]


def prove(sent: Sent, first: Merged, corrected: Merged, found: Found) -> tuple[Proof, ...]:
    """
    Hold what was merged and matched against what was sent.
    """
    return (
        *_prove_merges(sent, first, corrected),
        *_prove_lines(sent, found),
        *_prove_differences(sent, found),
        *prove_untouched(found),
    )


def _prove_merges(sent: Sent, first: Merged, corrected: Merged) -> Iterator[Proof]:
    for name, merged in (("first zip", first), ("corrections", corrected)):
        yield from prove_merged(name, merged)
    for sheet in SHEETS:
        rows = len(sent.first.sheet(sheet))
        mistakes = sent.mistakes[sheet]
        written = mistakes.corrected + mistakes.added
        yield Proof(
            f"{sheet}: lines of the first zip written once, left alone by the other process",
            _counts(inserted=rows, updated=0, unchanged=(MERGERS - 1) * rows, deleted=0),
            _counts_of(first, sheet),
        )
        yield Proof(
            f"{sheet}: lines that the corrections changed, once",
            _counts(
                inserted=mistakes.added,
                updated=mistakes.corrected,
                unchanged=MERGERS * len(sent.said.sheet(sheet)) - written,
                deleted=mistakes.withdrawn,
            ),
            _counts_of(corrected, sheet),
        )


def prove_merged(name: str, merged: Merged) -> Iterator[Proof]:
    """
    Show that every file was merged by both processes.
    """
    files = merged.files.total()
    found = ", ".join(f"{count} {status}" for status, count in sorted(merged.files.items()))
    yield Proof(f"{name}: files merged by {MERGERS} processes at once", f"{files} merged", found or "none")


def _prove_lines(sent: Sent, found: Found) -> Iterator[Proof]:
    due: dict[tuple[str, ...], tuple[Any, ...]] = {("movements", line.number): line for line in sent.said.movements}
    due |= {("billing", *line.key): line for line in sent.said.billing}
    yield Proof("lines stored other than the corrections say", "none", differing(due, found.lines))


def _prove_differences(sent: Sent, found: Found) -> Iterator[Proof]:
    reported = [difference for matched in found.matched for difference in matched.differences]
    yield Proof("differences reported", len(sent.planted), len(reported))
    yield Proof("differences other than the planted", "none", _otherwise(sent.planted, reported))
    for matched in found.matched:
        sheet = matched.run.spec
        planted = sum(difference.cents for difference in sent.planted if difference.sheet == sheet)
        yield Proof(f"{sheet}: lines that ended in a group", len(sent.said.sheet(sheet)), matched.items.lines)
        yield Proof(f"{sheet}: transfers that ended in a group", sent.transfers[sheet], matched.items.transfers)
        yield Proof(
            f"{sheet}: what the statement says more than the ledger, in cents",
            planted,
            matched.items.said - matched.items.booked,
        )


def prove_untouched(found: Found) -> Iterator[Proof]:
    """
    Show that merging and matching changed nothing of the ledger's history.
    """
    yield Proof("transfers after matching", found.before.transfers, found.after.transfers)
    yield Proof("digest of the history after matching", found.before.digest, found.after.digest)


def _counts(**rows: int) -> str:
    return ", ".join(f"{count} {what}" for what, count in rows.items())


def _counts_of(merged: Merged, sheet: str) -> str:
    return _counts(**{what: merged.of(sheet, what) for what in ("inserted", "updated", "unchanged", "deleted")})


def _otherwise(planted: Sequence[Difference], reported: Sequence[Difference]) -> str:
    unexpected = [f"reported: {' '.join(map(str, each))}" for each in reported if each not in planted]
    missed = [f"not reported: {' '.join(map(str, each))}" for each in planted if each not in reported]
    wrong = [*unexpected, *missed]
    return shown(wrong) if wrong else "none"
