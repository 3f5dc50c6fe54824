"""
What people type: account and currency, amounts as "5.90" or in minor units, moments, metadata.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

import typer

from lastro.errors import InvalidInput
from lastro.model import currencies
from lastro.model.money import Money

Name = Annotated[str, typer.Argument(metavar="ACCOUNT", help="The account's name.", show_default=False)]
Currency = Annotated[
    str, typer.Argument(metavar="CURRENCY", help="ISO 4217 code, or a unit of your own.", show_default=False)
]
Amount = Annotated[
    str | None,
    typer.Option("--amount", metavar="DECIMAL", help="The amount as people write it: 5.90", show_default=False),
]
Minor = Annotated[
    str | None,
    typer.Option("--minor", metavar="INTEGER", help="The amount in minor units: 590", show_default=False),
]
Cause = Annotated[str | None, typer.Option("--cause", help="What it happened for.", show_default=False)]
Source = Annotated[str | None, typer.Option("--source", help="Where it came from.", show_default=False)]
Actor = Annotated[str | None, typer.Option("--actor", help="Who did it.", show_default=False)]
OccurredAt = Annotated[
    str | None,
    typer.Option(
        "--occurred-at",
        metavar="MOMENT",
        help="When it happened, ISO 8601 with its time zone.",
        show_default="now",
    ),
]
By = Annotated[
    str, typer.Option("--by", metavar="CLOCK", help="Which moment of an entry counts: recorded, or occurred.")
]
Metadata = Annotated[str | None, typer.Option("--metadata", metavar="JSON", help="A JSON object.", show_default=False)]


def amount_of(amount: str | None, minor: str | None, currency: str) -> int:
    """
    Return the amount in minor units from exactly one of the two ways to write it.
    """
    if (amount is None) == (minor is None):
        raise typer.BadParameter("give the amount once: --amount 5.90 or --minor 590", param_hint="--amount")
    if amount is not None:
        return parse(amount, currency, option="--minor")
    return whole(minor or "", "--minor")


def parse(amount: str, currency: str, *, option: str) -> int:
    """
    Return *amount*, as people write it, in minor units; *option* is the one that takes minor units.
    """
    if not has_exponent(currency):
        raise InvalidInput(
            f"{currency!r} has no number of decimals in ISO 4217, so {amount!r} may mean anything: "
            f"give the amount in minor units with {option}",
            argument="amount",
        )
    return Money.parse(amount, currency)


def floor_of(floor: str | None, floor_minor: str | None, *, without: bool, currency: str) -> int | None:
    """
    Return an account's floor in minor units: zero unless said otherwise, None for none.
    """
    if sum((floor is not None, floor_minor is not None, without)) > 1:
        raise typer.BadParameter("give one of --floor, --floor-minor and --no-floor", param_hint="--floor")
    if without:
        return None
    if floor is not None:
        return parse(floor, currency, option="--floor-minor")
    return 0 if floor_minor is None else whole(floor_minor, "--floor-minor")


def shown_amount(minor: int | None, currency: str) -> str:
    """
    Return an amount for people: with the currency's decimals, or in minor units where ISO 4217 knows none.
    """
    if minor is None:
        return ""
    return Money.format(minor, currency) if has_exponent(currency) else str(minor)


def moment_of(text: str | None, *, option: str) -> datetime | None:
    """
    Return a moment from ISO 8601 text. That it has a time zone is checked where it is used.
    """
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{option} takes a moment like 2026-11-30T12:00:00Z or 2026-11-30T09:00:00-03:00; got {text!r}",
            argument=option,
        ) from None


def metadata_of(text: str | None) -> dict[str, Any] | None:
    """
    Return metadata from JSON text, which must be an object.
    """
    if text is None:
        return None
    try:
        metadata = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--metadata takes a JSON object; this isn't JSON: {error}", argument="metadata") from None
    if not isinstance(metadata, dict):
        raise InvalidInput(f"--metadata takes a JSON object; got {type(metadata).__name__}", argument="metadata")
    return metadata


def has_exponent(currency: str) -> bool:
    """
    Say whether ISO 4217 gives the currency a number of decimals.
    """
    return currency in currencies.ACTIVE or currency in currencies.WITHDRAWN


def whole(text: str, option: str) -> int:
    """
    Return a whole number of minor units from text.
    """
    # int() would take blanks, underscores, a plus and the digits of other scripts.
    try:
        return Money.parse(text, "minor units", exponent=0)
    except InvalidInput as error:
        if type(error) is not InvalidInput:
            raise
        raise InvalidInput(f"{option} takes a whole number of minor units; got {text!r}", argument=option) from None
