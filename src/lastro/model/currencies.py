"""
How many decimals a currency has: ISO 4217's minor units, pinned.

The table is our own, so that neither a library's update nor a locale's data moves a decimal point: CLDR says 0 for HUF,
MGA, IQD and IRR, which is how people write them and not how ISO counts them.

How it was made: every code and minor unit of ISO 4217 list one as published by the maintenance agency (SIX) on
2026-01-01, two copies of it compared and found equal. List one drops a code when it is withdrawn, and list three gives
no minor units, so `WITHDRAWN` holds the codes that have left since 2012 with the minor unit of the last list one read
that had them (those of 2012-12, 2014-03, 2017-01, 2018-08 and 2024-06). To renew it: replace the groups by the new list
one, move what is gone to `WITHDRAWN`, and never change the exponent of a code that is already here (ISO did: UGX went
from 2 to 0; a book that holds such amounts needs a conversion, not a new table).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from lastro.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

LIST_ONE_PUBLISHED: Final = "2026-01-01"

# 10^18 is the largest power of ten in a signed 64-bit integer: with more decimals not even 1 could be written.
EXPONENT_MAX: Final = 18

_ACTIVE: Final[dict[int, str]] = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: """
        AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY
        COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS
        INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR
        MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP
        STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG
    """,
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_WITHDRAWN: Final[dict[int, str]] = {
    0: "BYR",
    2: "ANG BGN CUC HRK LTL LVL MRO SLL STD USS VEF ZMK ZWL",
}


def _by_code(groups: dict[int, str]) -> Mapping[str, int]:
    return MappingProxyType({code: exponent for exponent, codes in groups.items() for code in codes.split()})


ACTIVE: Final = _by_code(_ACTIVE)
WITHDRAWN: Final = _by_code(_WITHDRAWN)

# Metals, bond units, funds and the codes for tests and for "no currency": ISO gives their minor unit as "N.A.".
WITHOUT_MINOR_UNIT: Final = frozenset("XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX".split())

_EXPONENTS: Final = MappingProxyType({**ACTIVE, **WITHDRAWN})


def exponent(code: str, *, stated: int | None = None) -> int:
    """
    The number of decimals of an amount in this currency: 2 for BRL, 0 for JPY, 3 for KWD.

    A currency that ISO 4217 gives no minor unit (POINTS, XAU) has none unless the caller states it, 0 … EXPONENT_MAX.
    Of an ISO currency the stated exponent must be ISO's: two scales in one currency make its stored integers
    unreadable.

    Raises `InvalidInput` when there is no exponent, when the stated one contradicts ISO's, or is not one at all.
    """
    if not isinstance(code, str):
        raise InvalidInput(f"A currency is a text such as 'BRL', not a {type(code).__name__}.")
    if stated is not None:
        _check_stated(stated)
    known = _EXPONENTS.get(code)
    if known is None:
        if stated is None:
            raise InvalidInput(_why_unknown(code), currency=code)
        return stated
    if stated is not None and stated != known:
        raise InvalidInput(
            f"{code} has {known} decimals by ISO 4217, and exponent={stated} was given. Leave the exponent out; "
            "for another scale use a currency name of your own.",
            currency=code,
            exponent=stated,
            expected=known,
        )
    return known


def _check_stated(stated: int) -> None:
    if isinstance(stated, bool) or not isinstance(stated, int):
        raise InvalidInput(f"exponent must be an int, a number of decimals, not a {type(stated).__name__}.")
    if not 0 <= stated <= EXPONENT_MAX:
        raise InvalidInput(f"exponent must be a number of decimals from 0 to {EXPONENT_MAX}.", exponent=stated)


def _why_unknown(code: str) -> str:
    if code in WITHOUT_MINOR_UNIT:
        return f"ISO 4217 gives {code} no minor unit: pass the number of decimals, for example exponent=0."
    # Codes are upper case in ISO and distinct by case in the ledger; guessing here would open a second "brl" account.
    if code.upper() in _EXPONENTS:
        return f"{code!r} is not an ISO 4217 code, {code.upper()!r} is: use that, or pass exponent= if it is your own."
    return (
        f"{code!r:.60} is not an ISO 4217 currency, so its number of decimals isn't known: "
        "pass it, for example exponent=0 for whole points."
    )
