"""
Amounts and moments as a statement's files say them: exact integers, and decimal text where the currency's places are known.
"""

from __future__ import annotations

from datetime import datetime

from lastro.errors import InvalidInput
from lastro.model import currencies
from lastro.model.money import Money


def places_of(currency: str) -> int | None:
    """
    Return how many decimals a currency has; None for a unit outside ISO 4217.
    """
    try:
        return currencies.exponent(currency, stated=None)
    except InvalidInput:
        return None


def decimal_text(minor: int, currency: str, places: int | None) -> str:
    """
    Return an amount as people write it; in minor units where nobody knows the currency's decimals.
    """
    return str(minor) if places is None else Money.format(minor, currency, exponent=places)


def moment_text(moment: datetime | None) -> str:
    """
    Return a moment as ISO 8601 in UTC; nothing for none.
    """
    return "" if moment is None else moment.isoformat()
