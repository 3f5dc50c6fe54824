"""
Results as messages, from a queue that delivers them at least once and keyed by market: each has one named outcome.

A consumer hands every message to `ledger.betting.take(message)` and acknowledges it when that returns, whatever the
outcome: what can't be taken as a result is kept in `dead_letter` with its reason. Only a fault (the database can't be
reached) raises: the message is then to be delivered again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

from lastro.betting.results import ResultIntent, result_intent, take_result, void_intent
from lastro.errors import InvalidInput, Refusal, ResultConflict, UnknownMarket
from lastro.model.bet import DeadLetter
from lastro.model.limits import RESULT_MESSAGE_BYTES_MAX
from lastro.model.text import shown
from lastro.plans.plan import TOGETHER, Plan, step
from lastro.plans.transfers import Terms
from lastro.plans.waiting import patiently, undone_when_refused

Outcome: TypeAlias = Literal["recorded", "duplicate", "outdated", "conflict", "unknown_market", "poison"]
FIELDS: Final = frozenset({"market", "version", "outcomes", "others", "void", "decided_at", "source", "actor"})


class Taken(NamedTuple):
    """
    What became of a message. `reason` says why it was no result; it is in the dead letters then.
    """

    outcome: Outcome
    market: str | None
    version: int | None
    reason: str | None


class Message(NamedTuple):
    """
    A message as it came: its bytes, the market that its key names (None where it has none), and the topic. `delivery`
    names where it came from, the same whenever it is delivered again.
    """

    body: bytes
    market: str | None
    topic: str
    delivery: str | None


def take(message: Message, terms: Terms) -> Plan[Taken]:
    """
    Take a message as a result, once; keep what is none with its reason.
    """
    return (yield from patiently(_take(message, terms), terms.lock_timeout_ms))


def _take(message: Message, terms: Terms) -> Plan[Taken]:
    yield TOGETHER
    wanted: ResultIntent | None = None
    try:
        wanted = _parsed(message)
        taken = yield from undone_when_refused(take_result(wanted, terms))
        return Taken(taken.outcome, taken.market, taken.version, None)
    except (InvalidInput, UnknownMarket, ResultConflict) as refusal:
        outcome = _outcome_of(refusal)
        yield step(
            "betting_results.bury",
            topic=message.topic,
            code=outcome,
            reason=str(refusal),
            message=message.body[:RESULT_MESSAGE_BYTES_MAX].hex(),
            delivery=message.delivery,
            now=terms.now,
        )
        market, version = (None, None) if wanted is None else (wanted.market, wanted.version)
        return Taken(outcome, market, version, str(refusal))


def _outcome_of(refusal: Refusal) -> Outcome:
    match refusal:
        case ResultConflict():
            return "conflict"
        # A market that isn't there may come; a selection that isn't there is a message that can't be right.
        case UnknownMarket() if refusal.selection is None:
            return "unknown_market"
        case _:
            return "poison"


def message_of(body: object, *, market: object, topic: str, delivery: str | None) -> Message:
    """
    Return a message as it came, from bytes, text or a mapping.
    """
    if isinstance(market, bytes):
        market = market.decode("utf-8", "replace")
    if isinstance(body, Mapping):
        try:
            body = json.dumps(dict(body), default=_as_text)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"a message must be plain JSON: {error}", argument="message") from error
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if not isinstance(body, bytes) or not (market is None or isinstance(market, str)):
        raise InvalidInput(
            f"a message is bytes, text or a mapping, and its key the market's name; got {type(body).__name__}",
            argument="message",
        )
    return Message(body, market, topic, delivery)


def _parsed(message: Message) -> ResultIntent:
    try:
        return parse(message)
    except InvalidInput:
        raise
    except Exception as error:  # parsing is arithmetic on what somebody sent: whatever it ends in, the message did it
        raise InvalidInput(f"the message can't be read: {type(error).__name__}: {error}") from error


def parse(message: Message) -> ResultIntent:
    """
    Return the result that a message reports. InvalidInput says why it is none.
    """
    if len(message.body) > RESULT_MESSAGE_BYTES_MAX:
        raise InvalidInput(
            f"a message may have {RESULT_MESSAGE_BYTES_MAX} bytes; this one has {len(message.body)}, and is kept cut off"
        )
    try:
        said = json.loads(
            message.body.decode("utf-8"), object_pairs_hook=_without_doubles, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the message isn't JSON: {error}") from error
    if not isinstance(said, dict) or not {"market", "version"} <= said.keys() or not said.keys() <= FIELDS:
        raise InvalidInput(
            f"a message is an object with market, version and outcomes or void; it may have {', '.join(sorted(FIELDS))}"
        )
    if message.market is not None and message.market != said["market"]:
        raise InvalidInput(
            f"the message's key names market {shown(message.market)}, and its content {shown(said['market'])}"
        )
    if said["version"] is None:
        raise InvalidInput("a message has a version: without it a repetition would be a correction")
    return _intent(said)


def _intent(said: dict[str, Any]) -> ResultIntent:
    if said.pop("void", False) is True:
        if said.keys() & {"outcomes", "others", "decided_at"}:
            raise InvalidInput("a message that voids a market has no outcomes")
        return void_intent(**said)
    decided_at = said.pop("decided_at", None)
    if decided_at is not None:
        try:
            decided_at = datetime.fromisoformat(decided_at)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"decided_at isn't a moment like 2026-11-30T12:00:00Z: {error}") from error
    return result_intent(**({"outcomes": {}} | said), decided_at=decided_at)


def dead_letters(*, limit: int) -> Plan[list[DeadLetter]]:
    """
    Return a page of the messages that were no results, the newest first.
    """
    rows = yield step("betting_results.dead_letters", rows_max=limit)
    return [
        DeadLetter(
            row["id"],
            row["topic"],
            row["code"],
            row["reason"],
            bytes.fromhex(row["message"]),
            row["received_at"],
        )
        for row in rows
    ]


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return said


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no JSON")
