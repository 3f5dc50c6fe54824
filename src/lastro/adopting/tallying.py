"""
Keeping an adoption's differences up to date while its table is gone through, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from lastro.adopting import records
from lastro.adopting.own_table import OwnTable
from lastro.adopting.telling_apart import Seen
from lastro.adopting.words import Cause
from lastro.model.limits import ADOPTION_DIFFERENCES_MAX
from lastro.plans.course import Act, Course, Pause
from lastro.plans.plan import TOGETHER, Effect, Plan, step
from lastro.plans.transfers import Terms

# Told how many rows each page had, or that each page wrote; False ends the round there.
AfterPage: TypeAlias = Callable[[int], bool]
Found: TypeAlias = tuple[Seen, Cause]


class Tally:
    """
    Which of the differences that were known before are still there, and how many there are in all. Keeps no more than
    the 1,000 that were known, however much of the table differs.
    """

    def __init__(self, name: str, before: frozenset[str]) -> None:
        self._name = name
        self._before = before
        self._still: set[str] = set()
        self.differing = 0
        self.new = 0

    @property
    def gone(self) -> list[str]:
        """The rows that differed before and don't now."""
        return sorted(self._before - self._still)

    def knew(self, row_key: str) -> bool:
        """Say whether the row differed before."""
        return row_key in self._before

    def still(self, row_key: str) -> None:
        """Count a row that differs, and that is not to be noted anew."""
        self.differing += 1
        if row_key in self._before:
            self._still.add(row_key)

    def note(self, found: Iterable[Found], terms: Terms, *, moved: Sequence[Seen] = ()) -> Plan[None]:
        """
        Note what was found on one page, while there is room, and on what its other rows agree now.
        """
        yield TOGETHER
        if moved:
            yield step(
                "adopting.put_rows",
                adoption=self._name,
                row_keys=[one.row_key for one in moved],
                account_ids=[one.account_id for one in moved],
                units=[one.units for one in moved],
                now=terms.now,
            )
        for one, cause in found:
            yield records.put_difference(self._name, one, cause, now=terms.now)
            if one.row_key not in self._before:
                detail = {"cause": cause, "account": one.account, "expected": one.expected, "found": one.posted}
                yield records.event(self._name, "difference", row_key=one.row_key, detail=detail, now=terms.now)

    def take(self, seen: Sequence[Seen]) -> list[Seen]:
        """
        Count the rows of a page that differ; return those for which there is room.
        """
        room = max(0, ADOPTION_DIFFERENCES_MAX - self.differing)
        for one in seen:
            self.still(one.row_key)
        self.new += sum(one.row_key not in self._before for one in seen[:room])
        return list(seen[:room])


def begin(name: str) -> Course[Tally]:
    """
    Begin a tally, with the differences that are known.
    """
    before: frozenset[str] = yield Act(lambda: _known(name), Effect.READ)
    return Tally(name, before)


def note(tally: Tally, found: Sequence[Found], terms: Terms, *, moved: Sequence[Seen] = ()) -> Course[None]:
    """
    Write down what one page came to.
    """
    if found or moved:
        yield Act(lambda: tally.note(found, terms, moved=moved))


def keep_known(tally: Tally, row_keys: Iterable[str]) -> None:
    """
    Keep what was noted of these rows before, if anything was: by an import, of one that can have no account; by a mirror,
    of one whose column doesn't take its balance.
    """
    for row_key in row_keys:
        if tally.knew(row_key):
            tally.still(row_key)


def note_lost(table: OwnTable, tally: Tally, terms: Terms, *, settle_ms: int) -> Course[None]:
    """
    Note the accounts that hold something and whose rows are gone.
    """
    lost = yield from _settled_lost(table, settle_ms)
    yield from note(tally, [(one, "account_without_row") for one in tally.take(lost)], terms)


def end(name: str, tally: Tally, terms: Terms, *, rows: int | None = None) -> Course[None]:
    """
    Forget the differences that are gone; with *rows*, note that so many were compared from end to end.
    """
    gone = tally.gone
    if gone or rows is not None:
        yield Act(lambda: _end(name, gone, rows, tally.differing, terms))


def _known(name: str) -> Plan[frozenset[str]]:
    rows = yield step("adopting.differences", adoption=name, rows_max=ADOPTION_DIFFERENCES_MAX)
    return frozenset(row["row_key"] for row in rows)


def _settled_lost(table: OwnTable, settle_ms: int) -> Course[list[Seen]]:
    lost: list[Seen] = yield Act(lambda: _lost(table), Effect.READ)
    if not lost:
        return []
    yield Pause(settle_ms)
    again: list[Seen] = yield Act(lambda: _lost(table), Effect.READ)
    # Gone at both looks, whatever was posted between them: an account in use is never at rest.
    before = {one.row_key for one in lost}
    return [one for one in again if one.row_key in before]


def _lost(table: OwnTable) -> Plan[list[Seen]]:
    rows = yield table.step("lost", rows_max=ADOPTION_DIFFERENCES_MAX)
    return [
        Seen(
            row_key=row["row_key"],
            ids=(),
            currency=row["account_currency"],
            raw=None,
            units=None,
            account_id=row["account_id"],
            agreed=int(row["agreed"]),
            account=row["account"],
            account_currency=row["account_currency"],
            posted=int(row["posted"]),
        )
        for row in rows
    ]


def _end(name: str, gone: Sequence[str], rows: int | None, differing: int, terms: Terms) -> Plan[None]:
    yield TOGETHER
    for row_key in gone:
        yield step("adopting.drop_difference", adoption=name, row_key=row_key)
        yield records.event(name, "agreed again", row_key=row_key, now=terms.now)
    if rows is not None:
        yield step("adopting.note_look", adoption=name, rows_seen=rows, differences=differing, now=terms.now)
