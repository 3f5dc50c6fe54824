"""Jobs that can't be charged step back: however many there are, those behind them are charged, and all come up again."""

from __future__ import annotations

import pytest

from lastro.charging.setback import FAILED_A_TICK_MAX, STEPPED_BACK_MAX, SetBack

pytestmark = pytest.mark.req("2.9")


class Due:
    """Jobs that are due by a claim that always takes the first one it may."""

    def __init__(self, bad: int, good: int) -> None:
        self.bad = [f"bad {number}" for number in range(bad)]
        self.good = [f"good {number}" for number in range(good)]
        self.set_back = SetBack()
        self.tried: list[str] = []

    def tick(self) -> int:
        """What a charger does; return how many were charged."""
        self.set_back.begin()
        charged = 0
        while not self.set_back.is_full:
            claimed = self.claim()
            if claimed is None and self.set_back.let_back():
                claimed = self.claim()
            if claimed is None:
                break
            if claimed in self.bad:
                self.tried.append(claimed)
                self.set_back.failed(claimed)
            else:
                self.good.remove(claimed)
                charged += 1
        return charged

    def claim(self) -> str | None:
        """The first that isn't to be skipped."""
        return next((each for each in self.bad + self.good if each not in self.set_back.skipped), None)


def test_the_good_ones_are_charged_and_the_bad_ones_take_turns() -> None:
    """Behind 250 bad jobs, after so many ticks as those fill; from then on at once. Each bad one has turns."""
    due = Due(bad=250, good=5)
    assert [due.tick() for _ in range(3)] == [0, 0, 5]
    due.good = ["good again"]
    assert due.tick() == 1
    for _ in range(6):
        due.tick()
    tried = [due.tried.count(each) for each in due.bad]
    assert max(tried) - min(tried) <= 2
    assert len(due.tried) == 10 * FAILED_A_TICK_MAX


def test_what_is_gone_or_mended_keeps_no_place() -> None:
    """A job that doesn't come up when it is let back is forgotten, and one that was mended is charged."""
    due = Due(bad=3, good=0)
    due.tick()
    due.bad.remove("bad 0")
    due.bad.remove("bad 1")
    due.good.append("bad 1")
    assert due.tick() == 1
    due.tick()
    assert due.set_back._failed == {"bad 2": None}


def test_what_is_remembered_is_bounded() -> None:
    """Of more bad jobs than that those of the longest ago are forgotten."""
    due = Due(bad=STEPPED_BACK_MAX + 150, good=0)
    for _ in range(STEPPED_BACK_MAX // FAILED_A_TICK_MAX + 3):
        due.tick()
    assert len(due.set_back._failed) <= STEPPED_BACK_MAX
