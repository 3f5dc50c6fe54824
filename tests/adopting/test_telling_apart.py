"""What went wrong with a row is told by the amounts on both sides and the account's newest entries alone."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lastro.adopting.telling_apart import Moved, Seen, cause_of, read_units, since_agreed
from lastro.adopting.words import Cause

pytestmark = pytest.mark.case("C001")


def seen(units: int | None, posted: int | None, *, agreed: int = 1_000, currency: str = "BRL") -> Seen:
    """A row and its account."""
    return Seen("1", ("1",), currency, str(units), units, None if posted is None else 7, agreed, "a", "BRL", posted)


@pytest.mark.parametrize(
    ("row", "moved", "cause"),
    [
        (seen(1_300, 1_000), [], "old_write_without_posting"),
        (seen(1_000, 1_300), [Moved(300, "o:1")], "posting_without_old_write"),
        (seen(1_300, 1_200), [Moved(200, "o:1")], "posted_other_amount"),
        (seen(1_300, 700), [Moved(-300, "o:1")], "posted_other_amount"),
        (seen(1_300, 1_600), [Moved(300, "o:1"), Moved(300, "o:1")], "posted_twice"),
        (seen(1_000, 1_300), [Moved(300, "o:1"), Moved(300, "o:1"), Moved(-300, "o:2")], "posted_twice"),
        (seen(1_300, 1_600), [Moved(300, "o:1"), Moved(300, "o:2")], "posting_without_old_write"),
        (seen(1_300, 1_100), [Moved(60, "o:1"), Moved(40, "o:2")], "unclear"),
        (seen(1_300, 1_400), [Moved(300, "o:1"), Moved(100, "o:2")], "posting_without_old_write"),
        (seen(1_040, 4_010), [Moved(10, "o:1"), Moved(3_000, "o:2")], "unit_mismatch"),
        (seen(700, 400), [Moved(-300, None), Moved(-300, None)], "posted_twice"),
        (seen(1_300, 31_000), [Moved(30_000, "o:1")], "unit_mismatch"),
        (seen(31_000, 1_300), [Moved(300, "o:1")], "unit_mismatch"),
        (seen(1_300, 1_300, currency="EUR"), [], "currency_differs"),
        (seen(None, 1_000), [], "unreadable_balance"),
        (seen(1_300, None), [], "row_without_account"),
    ],
)
def test_the_cause_is_named(row: Seen, moved: list[Moved], cause: Cause) -> None:
    """Each of them by its own name."""
    assert cause_of(row, moved) == cause
    assert not row.agrees


def test_only_what_was_posted_since_counts() -> None:
    """An entry that stood there before both sides agreed is no second one."""
    newest = [Moved(300, None), Moved(-50, None), Moved(300, None)]
    assert since_agreed(newest, 300) == newest[:1]
    assert since_agreed(newest, 250) == newest[:2]
    assert since_agreed(newest, 1) == newest
    assert since_agreed(newest, 0) == ()


@pytest.mark.parametrize(
    ("held", "units"),
    [
        (0, 0),
        (10**18, 10**18),
        (Decimal("1999.000"), 1999),
        (Decimal(-5), -5),
        (2**63 - 1, 2**63 - 1),
        (2**63, None),
        (-(2**63) - 1, None),
        (Decimal("0.5"), None),
        (Decimal("NaN"), None),
        (Decimal("Infinity"), None),
        (None, None),
    ],
)
@pytest.mark.case("C032")
def test_only_whole_minor_units_are_an_amount(held: Decimal | int | None, units: int | None) -> None:
    """Nothing is rounded, and nothing that isn't one is taken for an amount."""
    assert read_units(held) == units
