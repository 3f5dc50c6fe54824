"""
The pinned ISO 4217 table: which codes have which exponent, and what happens to a code that has none.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from lastro.errors import InvalidInput
from lastro.model import currencies

ZERO = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split()
THREE = "BHD IQD JOD KWD LYD OMR TND".split()
FOUR = "CLF UYW".split()


def test_the_table_has_the_size_of_list_one() -> None:
    """165 codes with a minor unit and 13 without are list one of 2026-01-01; a renewal changes the numbers here too."""
    assert currencies.LIST_ONE_PUBLISHED == "2026-01-01"
    assert len(currencies.ACTIVE) == 165
    assert len(currencies.WITHOUT_MINOR_UNIT) == 13


def test_exactly_these_codes_do_not_have_two_decimals() -> None:
    """Every active code has 2 decimals but the 17 with none, the 7 with three and the 2 with four."""
    others = {code: exponent for code, exponent in currencies.ACTIVE.items() if exponent != 2}
    assert others == dict.fromkeys(ZERO, 0) | dict.fromkeys(THREE, 3) | dict.fromkeys(FOUR, 4)


def test_every_code_is_three_capitals_and_stands_in_one_list() -> None:
    """A code written in two groups would silently take the later one's exponent, so the lists must not overlap."""
    groups = [*currencies._ACTIVE.values(), *currencies._WITHDRAWN.values(), " ".join(currencies.WITHOUT_MINOR_UNIT)]
    codes = [code for group in groups for code in group.split()]
    assert all(re.fullmatch("[A-Z]{3}", code) for code in codes)
    assert sorted(codes) == sorted(set(codes))


@pytest.mark.parametrize(
    ("code", "exponent"),
    [("BRL", 2), ("EUR", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4), ("HUF", 2), ("MGA", 2), ("MRU", 2), ("IRR", 2)],
)
def test_the_exponent_is_iso_s_and_not_a_locale_s(code: str, exponent: int) -> None:
    """HUF, MGA and IRR are written without decimals by locale data; ISO counts them in hundredths."""
    assert currencies.exponent(code) == exponent


def test_iqd_has_three_decimals() -> None:
    """IQD has three decimals by ISO, none by locale data: a factor of a thousand."""
    assert currencies.exponent("IQD") == 3


@pytest.mark.parametrize(("code", "exponent"), [("BGN", 2), ("HRK", 2), ("ANG", 2), ("BYR", 0), ("VEF", 2), ("LVL", 2)])
def test_withdrawn_codes_still_read(code: str, exponent: int) -> None:
    """A book keeps its history after a currency is gone, so its amounts must still be written and read."""
    assert code not in currencies.ACTIVE
    assert currencies.exponent(code) == exponent


@pytest.mark.parametrize(
    "code", ["POINTS", "XAU", "XXX", "", "brl", "BRL ", pytest.param("B" * 10_000, id="long"), "ＢＲＬ"]
)
def test_a_code_without_a_minor_unit_needs_a_stated_exponent(code: str) -> None:
    """Nothing is guessed for a code that isn't ISO's: an error that asks for the exponent, or the stated one."""
    with pytest.raises(InvalidInput, match="exponent") as caught:
        currencies.exponent(code)
    assert len(str(caught.value)) < 300
    assert currencies.exponent(code, stated=0) == 0
    assert currencies.exponent(code, stated=currencies.EXPONENT_MAX) == 18


def test_a_lower_case_code_is_told_the_right_one() -> None:
    """Lower case is an easy slip; the message names the code that was meant."""
    with pytest.raises(InvalidInput, match="'BRL' is"):
        currencies.exponent("brl")


# The pure half of C030: no call can give an ISO currency another scale. That a currency of one's own keeps the exponent
# of its first use is the book's to refuse, where the first use is known.
@pytest.mark.case("C030")
def test_one_currency_has_one_scale_whatever_the_call_says() -> None:
    """The exponent of an ISO currency can be repeated by the caller but not changed."""
    assert currencies.exponent("BRL", stated=2) == 2
    for other in (0, 1, 3, 18):
        with pytest.raises(InvalidInput, match="BRL has 2 decimals") as caught:
            currencies.exponent("BRL", stated=other)
        assert caught.value.expected == 2


@pytest.mark.parametrize("stated", [-1, 19, pytest.param(10**5_000, id="huge"), True, False, 2.0, "2"])
def test_a_stated_exponent_must_be_a_number_of_decimals(stated: Any) -> None:
    """An exponent is an int from 0 to 18; a bool is not taken for 0 or 1, for ISO's currencies and others alike."""
    for code in ("POINTS", "BRL"):
        with pytest.raises(InvalidInput, match="exponent must be"):
            currencies.exponent(code, stated=stated)


def test_a_currency_is_a_text() -> None:
    """A numeric code (986 is BRL) or None is refused by type."""
    for code in (986, None, b"BRL"):
        wrong: Any = code
        with pytest.raises(InvalidInput, match="A currency is a text"):
            currencies.exponent(wrong)


def test_the_table_can_not_be_changed_at_run_time() -> None:
    """No caller can change the scale of another caller's currency."""
    table: Any = currencies.ACTIVE
    with pytest.raises(TypeError):
        table["BRL"] = 3
