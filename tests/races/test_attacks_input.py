"""Input made to be misread: texts with a mind of their own, the ends of the calendar, what only looks like a NUL."""

from __future__ import annotations

import enum
from datetime import UTC, datetime, timedelta, timezone
from itertools import cycle
from typing import Any

import pytest

import lastro
from lastro import InvalidInput, Ledger
from lastro.model.moment import EARLIEST, LATEST
from lastro.testing import assert_balanced
from tests.support.money import CURRENCY, fund, posted, transfer

# One statement, the few statements of a checkout, and the bulk load.
BY_ONE, BY_FEW, BY_MANY = 1, 3, 60


class Kind(str, enum.Enum):  # noqa: UP042  (a StrEnum shows its value, which is the harmless case)
    """What an application names its kinds by; `str()` of a member isn't its value."""

    SALE = "sale"


class Markup(str):
    """A text of a class of its own, as template and SQL libraries have them, that answers otherwise than a str."""

    __slots__ = ()

    def translate(self, table: Any, /) -> str:
        """Leave everything as it is: a bulk load that trusted this would copy rows that nobody posted."""
        del table
        return self


def post_all(ledger: Ledger, wanted: list[dict[str, Any]]) -> list[bool]:
    """Post one by `post`, more by `post_many`; return which of them were replayed."""
    if len(wanted) == BY_ONE:
        return [ledger.post(**wanted[0]).replayed]
    return [outcome.replayed for outcome in ledger.post_many(wanted) if isinstance(outcome, lastro.Posted)]


@pytest.mark.parametrize("transfers", [BY_ONE, BY_FEW, BY_MANY])
def test_a_text_of_another_class_is_stored_as_its_characters(ledger: Ledger, transfers: int) -> None:
    """An Enum or a Markup is stored, and found again by a retry, as the text that it equals, on every way to post."""
    fund(ledger, "seller", 0)
    wanted = [
        transfer(Markup(f"sale {number}"), "world", Markup("seller"), 5, kind=kind, cause=Markup("order"))
        for number, kind in zip(range(transfers), cycle((Kind.SALE, "sale")), strict=False)
    ]
    assert post_all(ledger, wanted) == [False] * transfers
    stored = [ledger.transfer(f"sale {number}") for number in range(transfers)]
    assert {(found.kind, found.cause, found.credit) for found in stored if found} == {("sale", "order", "seller")}
    assert None not in stored
    plain = [
        transfer(f"sale {number}", "world", "seller", 5, kind="sale", cause="order") for number in range(transfers)
    ]
    assert post_all(ledger, plain) == [True] * transfers
    assert_balanced(ledger)


def test_no_text_smuggles_a_row_into_the_bulk_load(ledger: Ledger) -> None:
    """Tabs and line ends in a text of any class are stored as such and never end a field or a row."""
    fund(ledger, "seller", 0)
    smuggled = "x\t\\N\n900001\t1\t2\t777777"
    wanted = [transfer(f"sale {number}", "world", "seller", 5, cause=Markup(smuggled)) for number in range(BY_MANY)]
    assert len(ledger.post_many(wanted)) == BY_MANY
    found = ledger.transfer("sale 0")
    assert found is not None
    assert found.cause == smuggled
    assert len(ledger.entries("seller", CURRENCY)) == BY_MANY
    assert posted(ledger, "seller") == 5 * BY_MANY


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Sao_Paulo", "Pacific/Kiritimati", "Etc/GMT+12"])
def test_the_ends_of_time_are_readable_in_every_zone(
    ledger: Ledger, server_url: str, ledger_name: str, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """The first and the last moment that may be stored come back the same, whatever the zone of the session."""
    fund(ledger, "seller", 0)
    monkeypatch.setenv("PGTZ", zone)
    with lastro.connect(server_url, ledger=ledger_name) as elsewhere:
        for number, moment in enumerate((EARLIEST, LATEST)):
            single = elsewhere.post(**transfer(f"one {number}", "world", "seller", 1, occurred_at=moment))
            assert single.transfer.occurred_at == moment
            for transfers in (BY_FEW, BY_MANY):
                keys = [f"{transfers} {number} {part}" for part in range(transfers)]
                wanted = [transfer(key, "world", "seller", 1, occurred_at=moment) for key in keys]
                assert post_all(elsewhere, wanted) == [False] * transfers
                assert post_all(elsewhere, wanted) == [True] * transfers
                found = elsewhere.transfer(keys[0])
                assert found is not None
                assert found.occurred_at == moment
    assert_balanced(ledger)


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=5))),
    ],
)
def test_beyond_the_ends_of_time_nothing_is_written(ledger: Ledger, moment: datetime) -> None:
    """A moment that some session could not show, or that isn't one in UTC, is refused before it is stored."""
    fund(ledger, "seller", 0)
    wanted = transfer("late", "world", "seller", 1, occurred_at=moment)
    with pytest.raises(InvalidInput) as caught:
        ledger.post(**wanted)
    assert caught.value.details["argument"] == "occurred_at"
    with pytest.raises(InvalidInput):
        ledger.post_many([wanted, transfer("other", "world", "seller", 1)])
    assert ledger.transfer("late") is None
    assert ledger.transfer("other") is None


@pytest.mark.parametrize("backslashes", range(6))
def test_only_a_real_nul_is_refused_in_metadata(ledger: Ledger, backslashes: int) -> None:
    """Text that looks like the escape of a NUL is stored as it is; a NUL after just as many backslashes is refused."""
    fund(ledger, "seller", 0)
    looks = "\\" * (backslashes + 1) + "u0000"
    metadata = {"regex": looks, looks: [looks]}
    for transfers in (BY_ONE, BY_FEW, BY_MANY):
        keys = [f"{transfers} {part}" for part in range(transfers)]
        post_all(ledger, [transfer(key, "world", "seller", 1, metadata=metadata) for key in keys])
        found = ledger.transfer(keys[-1])
        assert found is not None
        assert found.metadata == metadata
    real = "\\" * backslashes + "\0"
    for refused in ({"regex": real}, {real: 1}, {"deep": [{"er": f"a{real}b"}]}):
        with pytest.raises(InvalidInput):
            ledger.post(**transfer("nul", "world", "seller", 1, metadata=refused))
    assert ledger.transfer("nul") is None
