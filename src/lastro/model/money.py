"""
Amounts between people and the ledger: "5.90" in BRL is 590 minor units, exactly, and back.

The ledger knows integers only. This is the one border where decimals are read and written, without a float and without
rounding: what is not exactly a number of minor units is refused.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from lastro.errors import AmountOutOfRange, InvalidInput
from lastro.model import currencies
from lastro.model.limits import BALANCE_MAX, BALANCE_MIN

# ASCII digits by name: \d would also take Arabic ones, as int() does. No plus, blank, exponent, leading zero, bare dot.
_AMOUNT: Final = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?")

# The digits of 2^63. A longer number is out of range, and is never turned into an int (whose cost grows with it).
_DIGITS_MAX: Final = 19
_SHOWN_CHARACTERS_MAX: Final = 40
_SHOWN_INT_BITS_MAX: Final = 128


class Money:
    """Reads and writes amounts by the currency's ISO 4217 exponent. A namespace: amounts themselves are plain ints."""

    __slots__ = ()

    @staticmethod
    def parse(text: str | Decimal, currency: str, *, exponent: int | None = None) -> int:
        r"""
        The amount in minor units: `Money.parse("5.90", "BRL")` is 590, `Money.parse("590", "JPY")` is 590.

        Takes text of the form `-?(0|[1-9][0-9]*)(\.[0-9]+)?` or a finite Decimal, with at most the currency's decimals;
        trailing zeros count ("5.900" BRL is refused: whoever wrote it had another scale in mind). A currency outside
        ISO 4217 needs its `exponent`, the number of decimals.

        Raises `AmountOutOfRange` outside -2^63 … 2^63-1 minor units and `InvalidInput` for everything else: a float
        (it can't hold 5.90), a bool, an int (it doesn't say whether it counts major or minor units), other text.
        """
        places = currencies.exponent(currency, stated=exponent)
        if isinstance(text, str):
            return _from_text(text, currency, places)
        if isinstance(text, Decimal):
            return _from_decimal(text, currency, places)
        raise _wrong_type(text)

    @staticmethod
    def format(minor: int, currency: str, *, exponent: int | None = None) -> str:
        """
        The amount as text with all of the currency's decimals: `Money.format(590, "BRL")` is "5.90". `parse` reads it.

        Raises `InvalidInput` for anything but an int and for a currency whose exponent isn't known, `AmountOutOfRange`
        outside the 64-bit range.
        """
        places = currencies.exponent(currency, stated=exponent)
        minor = minor_units(minor, name="minor")
        sign = "-" if minor < 0 else ""
        digits = str(abs(minor)).rjust(places + 1, "0")
        if places == 0:
            return sign + digits
        return f"{sign}{digits[:-places]}.{digits[-places:]}"


def minor_units(value: object, *, name: str) -> int:
    """
    The value itself, when it is a signed 64-bit integer; `name` is what the message calls it.

    Raises `InvalidInput` for a bool, a float or any other type, `AmountOutOfRange` outside -2^63 … 2^63-1.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(
            f"{name} must be an int of minor units (590 for BRL 5.90), not {_shown(value)} of type "
            f"{type(value).__name__}. Money.parse reads text and Decimals."
        )
    if not BALANCE_MIN <= value <= BALANCE_MAX:
        raise AmountOutOfRange(
            f"{name} needs {value.bit_length() + 1} bits; minor units must lie within -2^63 … 2^63-1.",
            minimum=BALANCE_MIN,
            maximum=BALANCE_MAX,
        )
    return value


def _from_text(text: str, currency: str, places: int) -> int:
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"{_shown(text)} is not an amount. Expected digits, perhaps a '-' in front and decimals after one '.', "
            "as in '-1234.50': no '+', blanks, thousands separators, exponents or leading zeros.",
            currency=currency,
        )
    sign, whole, decimals = match.group(1), match.group(2), match.group(3) or ""
    _check_decimals(text, len(decimals), currency, places)
    if len(whole) > _DIGITS_MAX:
        raise _out_of_range(text, currency)
    minor = int(whole + decimals.ljust(places, "0"))
    if sign:
        minor = -minor
    if not BALANCE_MIN <= minor <= BALANCE_MAX:
        raise _out_of_range(text, currency)
    return minor


def _from_decimal(value: Decimal, currency: str, places: int) -> int:
    """Checks the size before the digits are written out: Decimal("1E+999999") would be a megabyte of them."""
    tens = value.as_tuple().exponent
    if not isinstance(tens, int):
        raise InvalidInput(f"{value} is not an amount: a finite number was expected.", currency=currency)
    _check_decimals(value, -tens, currency, places)
    if value and value.adjusted() + places >= _DIGITS_MAX:
        raise _out_of_range(value, currency)
    # The "f" form is exact. normalize() would round to the context's precision and turn 1000 into 1E+3.
    return _from_text(f"{value:f}", currency, places)


def _check_decimals(given: str | Decimal, decimals: int, currency: str, places: int) -> None:
    if decimals > places:
        raise InvalidInput(
            f"{_shown(given)} has {decimals} decimals and {currency} has {places}. Round it where you decide how, "
            "then pass the rounded amount: nothing is rounded here.",
            currency=currency,
            decimals=decimals,
            exponent=places,
        )


def _out_of_range(given: str | Decimal, currency: str) -> AmountOutOfRange:
    return AmountOutOfRange(
        f"{_shown(given)} {currency} is outside -2^63 … 2^63-1 minor units, the range of the ledger.",
        currency=currency,
        minimum=BALANCE_MIN,
        maximum=BALANCE_MAX,
    )


def _wrong_type(given: object) -> InvalidInput:
    if isinstance(given, float):
        why = "a float can't hold most decimal amounts, so a cent may be lost already"
    elif isinstance(given, int) and not isinstance(given, bool):
        why = "an int doesn't say whether it counts major or minor units; minor units need no parsing"
    else:
        why = f"a {type(given).__name__} is not an amount"
    return InvalidInput(f"{_shown(given)} was refused: {why}. Pass text such as '5.90', or a Decimal.")


def _shown(given: object) -> str:
    """A value as it may stand in a message: short, whatever was passed."""
    if isinstance(given, str):
        # Cut before quoting, so that a text of a gigabyte isn't copied for its first line.
        return repr(given) if len(given) <= _SHOWN_CHARACTERS_MAX else f"{given[:_SHOWN_CHARACTERS_MAX]!r}…"
    if isinstance(given, int):
        return str(given) if given.bit_length() <= _SHOWN_INT_BITS_MAX else f"an int of {given.bit_length()} bits"
    shown = repr(given)
    return shown if len(shown) <= _SHOWN_CHARACTERS_MAX else f"{shown[:_SHOWN_CHARACTERS_MAX]}…"
