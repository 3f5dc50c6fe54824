"""
The first answer to a submission, accepted or refused: kept with what was asked, and given again for its repetitions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from lastro.betting.reading import find_bet
from lastro.errors import (
    AccountBarred,
    AccountClosed,
    AmountOutOfRange,
    BetConflict,
    BetInProgress,
    CurrencyMismatch,
    InsufficientFunds,
    LiabilityExceeded,
    MarketClosed,
    OddsChanged,
    Refusal,
    StakeOutOfRange,
    UnknownAccount,
    UnknownMarket,
)
from lastro.model.bet import BetIntent, PlacedBet
from lastro.model.text import as_differences
from lastro.plans.plan import Plan, Row, step
from lastro.plans.transfers import Terms

# Refusals that answer a submission for good. What isn't a bet at all (InvalidInput) uses no key up.
KEPT: Final[tuple[type[Refusal], ...]] = (
    AccountBarred,
    AccountClosed,
    AmountOutOfRange,
    CurrencyMismatch,
    InsufficientFunds,
    LiabilityExceeded,
    MarketClosed,
    OddsChanged,
    StakeOutOfRange,
    UnknownAccount,
    UnknownMarket,
)
_BY_CODE: Final = {kind.code: kind for kind in KEPT}

Answer: TypeAlias = PlacedBet | Refusal


def keep(wanted: BetIntent, refusal: Refusal, terms: Terms) -> Plan[Answer]:
    """
    Keep a refusal as the first answer and return it; the answer that is there by now, where a rival was first.
    """
    details = json.dumps(refusal.details, default=_as_text, sort_keys=True)
    rows = yield step(
        "betting_placing.refuse",
        key=wanted.key,
        refused=refusal.code,
        message=str(refusal),
        details=details,
        asked=asked_json(wanted),
        now=terms.now,
    )
    if rows:
        # As a repetition will hear it: the same words, the same details.
        return _refused(refusal.code, str(refusal), json.loads(details), replayed=False)
    return (yield from given_before(wanted))


def given_before(wanted: BetIntent) -> Plan[Answer]:
    """
    Return the answer that a rival wrote, whose key was met; BetInProgress where it wasn't committed after all.
    """
    # A following statement: the one that met the key doesn't see what it met.
    rows = yield step("betting_placing.answer", key=wanted.key)
    if not rows:
        raise in_progress(wanted.key)
    return (yield from again(wanted, rows[0]))


def again(wanted: BetIntent, row: Row) -> Plan[Answer]:
    """
    Return the stored answer as replayed. Raises BetConflict where the key was used for another bet.
    """
    asked = wanted.asked()
    fields = {name: (row["asked"].get(name), asked[name]) for name in asked if row["asked"].get(name) != asked[name]}
    if fields:
        raise BetConflict(
            f"submission {wanted.key!r} was another bet ({as_differences(fields)}); one key names one intended bet: use a new key "
            "for a new one",
            key=wanted.key,
            fields=fields,
        )
    if row["refused"] is not None:
        return _refused(row["refused"], row["message"], row["details"], replayed=True)
    bet = yield from find_bet(wanted.key)
    assert bet is not None, "an accepted submission has its bet"
    return PlacedBet(bet, replayed=True)


def in_progress(key: str) -> BetInProgress:
    """
    Return the fault of a submission that is being placed by somebody else at this moment.
    """
    return BetInProgress(
        f"submission {key!r} is being placed at this moment; the same call again finds its answer", key=key
    )


def asked_json(wanted: BetIntent) -> str:
    """
    Return what was asked as it is stored.
    """
    return json.dumps(wanted.asked(), sort_keys=True, separators=(",", ":"))


def _refused(code: str, message: str, details: Mapping[str, Any], *, replayed: bool) -> Refusal:
    kind = _BY_CODE.get(code, Refusal)
    return kind(message, **(dict(details) | {"replayed": replayed}))


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
