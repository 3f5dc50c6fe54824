"""What a kind may be, and which accounts it covers: no database is asked."""

from __future__ import annotations

from typing import Any

import pytest

from lastro import PREPAID, InvalidInput, Kind
from lastro.model.kind import checked_kinds, covers

pytestmark = pytest.mark.req("2.2")


def test_the_prepaid_set() -> None:
    """Seven kinds: three lower a balance, three raise it, one goes either way; the amount has no sign."""
    ways = {kind.name: (kind.allows("customer:42", "world"), kind.allows("world", "customer:42")) for kind in PREPAID}
    assert ways == {
        **dict.fromkeys(("debit", "refund", "reversal"), (True, False)),
        **dict.fromkeys(("credit", "bonus", "free_grant"), (False, True)),
        "adjustment": (True, True),
    }
    assert checked_kinds(PREPAID) == list(PREPAID)
    names = {kind.name: kind for kind in PREPAID}
    for kind in PREPAID:
        assert kind.undone_by is not None
        undoing = names[kind.undone_by]
        way = ("customer:42", "world") if kind.allows("customer:42", "world") else ("world", "customer:42")
        assert undoing.allows(*reversed(way)), f"{kind.name} can be undone by the kind that it names"


@pytest.mark.parametrize(
    ("pattern", "covered", "others"),
    [
        ("*", ["a", "*", "world", "ключ"], []),
        ("world", ["world"], ["World", "world ", "worlds", "wor"]),
        ("customer:*", ["customer:", "customer:42", "customer:*"], ["customer", "Customer:42", " customer:42"]),
        ("сч\u0451т*", ["сч\u0451т", "сч\u0451т:1"], ["сче\u0308т:1", "счет"]),
        ("a%b_*", ["a%b_c"], ["aXbYc"]),
    ],
)
def test_patterns_cover_names(pattern: str, covered: list[str], others: list[str]) -> None:
    """A name covers itself, a beginning with * what begins so, byte by byte; no other sign has a meaning."""
    assert [name for name in covered + others if covers(pattern, name)] == covered


@pytest.mark.parametrize(
    "kinds",
    [
        None,
        "debit",
        Kind("debit"),
        ["debit"],
        [("debit", "*", "*", False, None)],
        [Kind("")],
        [Kind("   ")],
        [Kind("k" * 17)],
        [Kind("ё" * 17)],
        [Kind("a\x00b")],
        [Kind(7)],  # type: ignore[arg-type]
        [Kind("k", debit="")],
        [Kind("k", debit="a*b")],
        [Kind("k", debit="**")],
        [Kind("k", debit=None)],  # type: ignore[arg-type]
        [Kind("k", credit="n" * 341)],
        [Kind("k", either_way=1)],  # type: ignore[arg-type]
        [Kind("k", undone_by="")],
        [Kind("k", undone_by="u" * 17)],
        [Kind("k"), Kind("k", debit="world")],
        [Kind(f"k{number}") for number in range(101)],
    ],
)
def test_what_is_no_kind_is_refused(kinds: Any) -> None:
    """Names, patterns and numbers out of their limits are refused before any SQL."""
    with pytest.raises(InvalidInput):
        checked_kinds(kinds)


def test_the_longest_kind() -> None:
    """Sixteen characters, whatever they are, and a pattern as long as an account's name."""
    longest = Kind("ё" * 16, debit="n" * 339 + "*", credit="ё" * 340, undone_by="я" * 16)
    assert checked_kinds(iter([longest])) == [longest]
