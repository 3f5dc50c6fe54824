"""
Exact numbers from cells: from text as its column is written, and from the floats that spreadsheets store.

A spreadsheet's 0.1 + 0.2 is 0.30000000000000004. Nobody typed that; it is 0.3 with the dust of binary fractions, and is
read as 0.3. A third decimal that somebody did type is refused, never rounded.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Final

from lastro.imports.cells import CellRefused, shown
from lastro.imports.limits import FLOAT_DIGITS_MAX

# How far a float may lie from the number that it stands for: what a few additions leave behind, and always less than
# the digit that follows the declared ones.
DUST: Final = Decimal("1E-9")
DUST_RELATIVE: Final = Decimal(2) ** -50
BIGINT_MAX: Final = 2**63 - 1
_PATTERNS_CACHED_MAX: Final = 64
_MINUS: Final = "−"


def units_of_float(value: float, places: int) -> int:
    """
    Return a spreadsheet's number as a whole number of units of 10^-places: 12.34 with two places is 1234.

    Raises `CellRefused` for more decimals than that, for more than 15 digits and for what is no number.
    """
    if not isfinite(value):
        raise CellRefused("is no number")
    power: int = 10**places
    scaled = value * power
    if abs(scaled) >= 10**FLOAT_DIGITS_MAX:
        raise CellRefused(
            f"needs more than {FLOAT_DIGITS_MAX} digits, which a number of a spreadsheet doesn't hold exactly: "
            "write it as text"
        )
    units = round(scaled)
    # The division rounds correctly: it gives this very float exactly where its shortest text has so few decimals.
    if units / power == value:
        return units
    typed = Decimal(repr(value))
    dust = min(max(DUST, abs(typed) * DUST_RELATIVE), Decimal(1).scaleb(-places - 1))
    if abs(typed - Decimal(units).scaleb(-places)) < dust:
        return units
    raise CellRefused(f"has more than {_decimals(places)}")


def units_of_text(text: str, places: int, *, decimal_mark: str, thousands: str, symbol: str) -> int:
    """
    Return a number written as text as a whole number of units of 10^-places.

    Only as declared: the mark before the decimals, what separates groups of exactly three digits, the symbol before or
    behind. Raises `CellRefused` for any other form, for more decimals (zeros too), and for leading zeros.
    """
    plain = text.removeprefix(symbol).removesuffix(symbol).strip() if symbol else text
    match = _pattern(decimal_mark, thousands).fullmatch(plain)
    if match is None:
        raise CellRefused(_not_a_number(decimal_mark, thousands))
    decimals = match["decimals"] or ""
    if len(decimals) > places:
        raise CellRefused(f"has more than {_decimals(places)}")
    whole = match["whole"].replace(thousands, "") if thousands else match["whole"]
    if len(whole) > 1 and whole.startswith("0"):
        raise CellRefused("has leading zeros: a code isn't a number")
    if len(whole) + places > len(str(BIGINT_MAX)):
        raise CellRefused("is too large")
    units = int(whole + decimals.ljust(places, "0"))
    return -units if match["minus"] else units


def bounded(units: int) -> int:
    """
    Return *units* where 64 bits hold them.
    """
    if not -BIGINT_MAX <= units <= BIGINT_MAX:
        raise CellRefused("is outside the range of 64 bits")
    return units


def written(units: int, places: int) -> str:
    """
    Return a whole number of units of 10^-places as plain decimal text: `-12.34`.
    """
    if places == 0:
        return str(units)
    digits = str(abs(units)).rjust(places + 1, "0")
    return f"{'-' if units < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def text_of_number(value: float, width: int) -> str:
    """
    Return the text of a number that stands in a column of text: whole, without `.0`, filled up to a declared width.
    """
    if not isfinite(value) or not value.is_integer():
        raise CellRefused(f"is the number {shown(repr(value))} in a column of text: format the cell as text")
    if abs(value) >= 10**FLOAT_DIGITS_MAX:
        raise CellRefused(
            f"is a number of more than {FLOAT_DIGITS_MAX} digits in a column of text, and its last digits are lost: "
            "format the cell as text and write it again"
        )
    if value < 0:
        raise CellRefused("is a negative number in a column of text: format the cell as text")
    return str(int(value)).rjust(width, "0")


@lru_cache(maxsize=_PATTERNS_CACHED_MAX)
def _pattern(decimal_mark: str, thousands: str) -> re.Pattern[str]:
    whole = "[0-9]+"
    if thousands:
        whole = rf"[0-9]{{1,3}}(?:{re.escape(thousands)}[0-9]{{3}})+|{whole}"
    return re.compile(rf"(?P<minus>[-{_MINUS}])?(?P<whole>{whole})(?:{re.escape(decimal_mark)}(?P<decimals>[0-9]+))?")


def _decimals(places: int) -> str:
    return "1 decimal" if places == 1 else f"{places} decimals"


def _not_a_number(decimal_mark: str, thousands: str) -> str:
    groups = f"groups of three separated by {thousands!r}" if thousands else "no separators"
    return f"is no number as its column is written ({decimal_mark!r} before the decimals, {groups})"
