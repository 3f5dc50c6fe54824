"""Every line and every transfer of a reference ends in one group, the right one, whatever order they come in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastro.matching.rules import judge, judge_without_reference
from lastro.matching.sums import Budget, adding_up
from lastro.matching.values import Group, Item, Window
from tests.matching.naive import faults

FIRST = date(2026, 11, 10)
WINDOW = Window(days_before=1, days_after=3)

AMOUNTS = st.integers(-4, 9)
WINDOWS = st.builds(Window, st.integers(0, 2), st.integers(0, 2))


def item(place: int, amount: int, day: int = 0, *, inside: bool = True) -> Item:
    """An item so many days after the first."""
    return Item(FIRST + timedelta(days=day), f"i{place}", place, amount, inside)


def items(amounts: st.SearchStrategy[int], most: int) -> st.SearchStrategy[list[Item]]:
    """Some items with small amounts on a few days, inside the period or not."""
    drawn = st.lists(st.tuples(amounts, st.integers(0, 5), st.booleans() | st.just(True)), max_size=most)
    return drawn.map(
        lambda each: [item(place, amount, day, inside=inside) for place, (amount, day, inside) in enumerate(each, 1)]
    )


LINES = items(AMOUNTS, 6)
TRANSFERS = items(AMOUNTS.filter(bool), 7)


def everything_inside(some: Sequence[Item]) -> list[Item]:
    """The same items, all of this period."""
    return [each._replace(inside=True) for each in some]


@given(LINES, TRANSFERS, WINDOWS)
def test_every_item_ends_in_one_group_the_right_one(lines: list[Item], transfers: list[Item], window: Window) -> None:
    """The groups hold against all subsets and all pairs, with a neighbouring period and without one."""
    assert list(faults(lines, transfers, window, judge(lines, transfers, window))) == []
    lines, transfers = everything_inside(lines), everything_inside(transfers)
    assert list(faults(lines, transfers, window, judge(lines, transfers, window))) == []


@given(LINES, TRANSFERS, WINDOWS, st.integers(0, 2**32))
def test_the_order_of_the_items_changes_nothing(
    lines: list[Item], transfers: list[Item], window: Window, seed: int
) -> None:
    """However the items are shuffled, the groups are the same, in the same order."""
    expected = judge(lines, transfers, window)
    chance = Random(seed)
    chance.shuffle(lines)
    chance.shuffle(transfers)
    assert judge(lines, transfers, window) == expected


@given(LINES, TRANSFERS, WINDOWS, st.integers(0, 12))
def test_a_search_that_is_cut_short_says_so_and_loses_nothing(
    lines: list[Item], transfers: list[Item], window: Window, sums_max: int
) -> None:
    """With next to nothing to search by each item is still in one group, and what was matched is right."""
    lines, transfers = everything_inside(lines), everything_inside(transfers)
    cut, full = judge(lines, transfers, window, sums_max=sums_max), judge(lines, transfers, window)
    undone = [fault for fault in faults(lines, transfers, window, cut) if "could have been matched" not in fault]
    assert undone == []
    if cut != full:
        assert any(group.cut_short for group in cut) or _whole(cut)


def _whole(groups: Sequence[Group]) -> bool:
    """Whether what wasn't searched came out as one neighbourhood that adds up."""
    return any(group.outcome == "matched" and len(group.lines) > 1 and len(group.transfers) > 1 for group in groups)


@given(st.lists(st.integers(-9, 9), max_size=9), st.integers(-20, 20).filter(bool))
def test_the_search_finds_what_adds_up_if_anything_does(amounts: list[int], target: int) -> None:
    """Against all subsets: an answer adds up, and there is none only where no subset does."""
    places = adding_up(target, amounts, Budget(10**6))
    assert len(set(places)) == len(places)
    assert sum(amounts[place] for place in places) == (target if places else 0)
    reachable = {0}
    for amount in amounts:
        reachable |= {total + amount for total in reachable}
    assert bool(places) == (target in reachable)


def _outcomes(groups: Sequence[Group]) -> list[tuple[str, list[int], list[int], int]]:
    return [
        (
            group.outcome,
            [line.place for line in group.lines],
            [transfer.place for transfer in group.transfers],
            group.difference,
        )
        for group in groups
    ]


@pytest.mark.parametrize(
    ("lines", "transfers", "expected"),
    [
        pytest.param([(100, 0)], [(100, 0)], [("matched", [1], [1], 0)], id="one to one"),
        pytest.param([(100, 0)], [(60, 0), (40, 1)], [("matched", [1], [1, 2], 0)], id="one line, two transfers"),
        pytest.param([(60, 0), (40, 1)], [(100, 0)], [("matched", [1, 2], [1], 0)], id="two lines, one transfer"),
        pytest.param(
            [(60, 0), (50, 0)], [(70, 0), (40, 0)], [("matched", [1, 2], [1, 2], 0)], id="together they are the same"
        ),
        pytest.param([(101, 0)], [(60, 0), (40, 0)], [("amount_differs", [1], [1, 2], 1)], id="a cent more"),
        pytest.param([(99, 0)], [(100, 0)], [("amount_differs", [1], [1], -1)], id="a cent less"),
        pytest.param(
            [(100, 0), (100, 0)],
            [(100, 0)],
            [("matched", [1], [1], 0), ("missing_in_ledger", [2], [], 100)],
            id="a line twice",
        ),
        pytest.param([], [(60, 0), (40, 0)], [("missing_in_statement", [], [1, 2], -100)], id="no line"),
        pytest.param(
            [(100, 4)],
            [(100, 0)],
            [("missing_in_ledger", [1], [], 100), ("missing_in_statement", [], [1], -100)],
            id="too late by a day",
        ),
        pytest.param([(100, 3)], [(100, 0)], [("matched", [1], [1], 0)], id="the last day"),
        pytest.param([(100, 0)], [(100, 1)], [("matched", [1], [1], 0)], id="the first day"),
        pytest.param([(-40, 0), (100, 0)], [(100, 0), (-40, 0)], [("matched", [1], [2], 0), ("matched", [2], [1], 0)],
                     id="a refund"),
        pytest.param([(0, 0)], [], [("matched", [1], [], 0)], id="a line that moves nothing"),
        pytest.param([(100, 0)], [(120, 0), (-20, 0)], [("matched", [1], [1, 2], 0)], id="less what came back"),
    ],
)  # fmt: skip
def test_what_each_rule_makes_of_an_example(
    lines: list[tuple[int, int]],
    transfers: list[tuple[int, int]],
    expected: list[tuple[str, list[int], list[int], int]],
) -> None:
    """An example a rule, its groups written out by hand."""
    found = judge(
        [item(place, amount, day) for place, (amount, day) in enumerate(lines, 1)],
        [item(place, amount, day) for place, (amount, day) in enumerate(transfers, 1)],
        WINDOW,
    )
    assert _outcomes(found) == expected


def test_a_neighbouring_period_explains_and_is_not_reported() -> None:
    """A line of the next month takes a transfer of this one; what is left of the neighbours is no difference."""
    of_next_month = item(1, 100, 3, inside=False)
    assert _outcomes(judge([of_next_month], [item(1, 100, 2)], WINDOW)) == [("matched", [1], [1], 0)]
    assert judge([of_next_month], [item(1, 90, 3, inside=False)], WINDOW) == []


def test_without_a_reference_each_stands_alone() -> None:
    """Equal amounts of the same day are not taken for each other where no reference says so."""
    found = judge_without_reference([item(1, 100), item(2, 0), item(3, 5, inside=False)], [item(1, 100)])
    assert _outcomes(found) == [
        ("matched", [2], [], 0),
        ("missing_in_ledger", [1], [], 100),
        ("missing_in_statement", [], [1], -100),
    ]


def test_many_items_of_one_reference_end_in_time() -> None:
    """Amounts of which no sum is another's can't make the search run away; what wasn't tried is said."""
    lines = [item(place, 3**12 * place + 1) for place in range(1, 400)]
    transfers = [item(place, 3**12 * place * 2 + 2**place % 7_919 + 2) for place in range(1, 400)]
    found = judge(lines, transfers, WINDOW)
    assert [group.cut_short for group in found if group.outcome == "amount_differs"] == [True]
