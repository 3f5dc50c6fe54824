"""
Looking at a page of the old table, each row beside its account, in one snapshot.
"""

from __future__ import annotations

from typing import NamedTuple

from lastro.adopting.own_table import OwnTable, Place
from lastro.adopting.telling_apart import Seen, read_seen
from lastro.model.limits import ADOPTION_COMPARE_ROWS_MAX
from lastro.plans.plan import Plan


class Page(NamedTuple):
    """
    What a page has: how many rows, which of them don't agree, which agree on something new, and where the next begins.
    """

    rows: int
    differing: tuple[Seen, ...]
    moved: tuple[Seen, ...]
    after: Place | None


def look(table: OwnTable, place: Place) -> Plan[Page]:
    """
    Look at one page, in one snapshot.
    """
    found = yield table.step("compare", **table.within(place), rows_max=ADOPTION_COMPARE_ROWS_MAX)
    if not found:
        return Page(0, (), (), None)
    rows = int(found[-1]["place"])
    after = Place(table.ids_of(found[-1]), inclusive=False) if rows == ADOPTION_COMPARE_ROWS_MAX else None
    seen = [read_seen(row, table.ids_of(row)) for row in found]
    return Page(
        rows,
        tuple(one for one in seen if not one.agrees),
        tuple(one for one in seen if one.agrees and one.units != one.agreed),
        after,
    )
