"""A comparison goes through a table page by page, and holds no more of it than a page and the differences it may note."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from lastro.adopting import looking
from lastro.adopting.comparing import Compared, look_behind, look_through
from lastro.adopting.declaration import OldColumn
from lastro.adopting.own_table import OwnTable
from lastro.model.directory import Directory
from lastro.model.kind import Registry
from lastro.model.limits import ADOPTION_DIFFERENCES_MAX
from lastro.plans.course import Act
from lastro.plans.plan import Step
from lastro.plans.transfers import Terms

pytestmark = [pytest.mark.case("C001"), pytest.mark.req("2.7")]

PAGE, PAGES = 200, 100
BYTES_MAX = 2_000_000


class Table:
    """A table of which every row differs, as the statements would tell it."""

    def __init__(self) -> None:
        self.noted = self.pages = self.rows_max = 0

    def answer(self, step: Step) -> list[dict[str, Any]]:
        """What a statement finds."""
        match step.statement:
            case "adopting_own.first":
                return [{"id_1": 0, "id_2": 0}]
            case "adopting_own.compare":
                start, self.rows_max = step.params["from_1"], step.params["rows_max"]
                self.pages += start >= self.pages * PAGE
                rows = PAGE if start < (PAGES - 1) * PAGE else 1
                return [row(start + place, place) for place in range(1, rows + 1)]
            case "adopting.put_difference":
                self.noted += 1
        return []


def row(number: int, place: int) -> dict[str, Any]:
    """A row that differs from its account: the column says one more, in another currency."""
    return {
        "id_1": number, "id_2": number, "row_key": f"{'a rather long key ' * 10}{number}", "currency": "USD", "raw": "1",
        "units": 1, "place": place, "account_id": number, "agreed": 0, "account": f"customer:{number}",
        "account_currency": "BRL", "posted": 0,
    }  # fmt: skip


def walk(course: Any, table: Table) -> Any:
    """Run a course on answers made up."""
    going = next(course)
    while True:
        answer = None
        if isinstance(going, Act):
            plan = going.make()
            try:
                step = next(plan)
                while True:
                    step = plan.send(table.answer(step))
            except StopIteration as done:
                answer = done.value
        try:
            going = course.send(answer)
        except StopIteration as done:
            return done.value


@pytest.mark.parametrize("look", [look_through, look_behind])
def test_a_table_that_differs_everywhere(look: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty thousand differing rows are counted, a thousand are noted, and memory stays that of a page."""
    own = OwnTable(OldColumn("users", "users", "id", "balance", "customer:{id}", currency="BRL"), (False,))
    table = Table()
    monkeypatch.setattr(looking, "ADOPTION_COMPARE_ROWS_MAX", PAGE)
    tracemalloc.start()
    try:
        done, ended = walk(look(own, Terms(Directory(), Registry()), settle_ms=1), table)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    rows = (PAGES - 1) * PAGE + 1
    assert isinstance(done, Compared)
    assert (done.rows, done.differing, ended) == (rows, rows, False)
    assert (table.noted, table.pages, table.rows_max) == (ADOPTION_DIFFERENCES_MAX, PAGES, PAGE)
    assert peak < BYTES_MAX, f"{peak} bytes at the peak"
