"""
Taking results: each version of a market's result once, and the row of the queue that makes its settlement due.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from lastro.betting.markets import lock_market
from lastro.betting.reading import unknown_market
from lastro.errors import InvalidInput, ResultConflict
from lastro.model.bet import ResultTaken, market_name, result_version, selection_name
from lastro.model.limits import ACTOR_CHARACTERS_MAX, RESULT_AHEAD_MS_MAX, SELECTIONS_MAX, SOURCE_CHARACTERS_MAX
from lastro.model.moment import optional_utc
from lastro.model.odds import VOID, outcome_word
from lastro.model.text import as_differences, optional_text, shown
from lastro.plans.plan import TOGETHER, Plan, Row, Rows, step
from lastro.plans.transfers import Terms


class ResultIntent(NamedTuple):
    """
    A result that somebody reports, checked. `others` is the outcome of the selections that `outcomes` doesn't name.

    No `decided_at` means now; no `version` means the one after the newest.
    """

    market: str
    version: int | None
    outcomes: dict[str, str]
    others: str | None
    decided_at: datetime | None
    source: str | None
    actor: str | None


def result_intent(
    *,
    market: object,
    version: object,
    outcomes: object,
    others: object = None,
    decided_at: object = None,
    source: object = None,
    actor: object = None,
) -> ResultIntent:
    """
    Check a result; InvalidInput says what is wrong.
    """
    if not isinstance(outcomes, Mapping) or len(outcomes) > SELECTIONS_MAX or (not outcomes and others is None):
        raise InvalidInput(
            f"outcomes is a mapping of selections to outcomes, as in {{'home': 'won'}}; got {shown(outcomes)}",
            argument="outcomes",
        )
    return ResultIntent(
        market_name(market),
        None if version is None else result_version(version),
        {selection_name(name): outcome_word(outcome) for name, outcome in outcomes.items()},
        None if others is None else outcome_word(others, argument="others"),
        optional_utc(decided_at, argument="decided_at"),
        optional_text(source, argument="source", characters_max=SOURCE_CHARACTERS_MAX),
        optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
    )


def void_intent(*, market: object, version: object, source: object = None, actor: object = None) -> ResultIntent:
    """
    Check the result of a market that counts for nothing: every selection is void.
    """
    return result_intent(market=market, version=version, outcomes={}, others=VOID, source=source, actor=actor)


def take_result(wanted: ResultIntent, terms: Terms) -> Plan[ResultTaken]:
    """
    Take a result once. One that is there is a duplicate; one older than the newest is outdated, and changes nothing.

    Bets placed after it was decided are void by it. Locks the market's row, which no placement waits for. Raises
    UnknownMarket, ResultConflict where the version is there with other content, InvalidInput for a selection without an
    outcome, or a decision in the future.
    """
    yield TOGETHER
    market = yield from lock_market(wanted.market)
    selections = yield step("betting_markets.selections", market_ids=[market["id"]])
    outcomes = _resolved(wanted, selections)
    stored = yield from _stored(market["id"], wanted, terms)
    newest: int = stored["newest"]
    version = newest + 1 if wanted.version is None else wanted.version
    if stored["version"] is not None:
        _refuse_other(wanted, version, outcomes, stored, selections)
        return ResultTaken("duplicate", wanted.market, version, newest)
    if version < newest:
        return ResultTaken("outdated", wanted.market, version, newest)
    now: datetime = stored["now"].astimezone(UTC)
    # A feed's clock may be a little ahead of the database's: a result isn't lost for that.
    if wanted.decided_at is not None and wanted.decided_at > now + timedelta(milliseconds=RESULT_AHEAD_MS_MAX):
        raise InvalidInput(
            f"decided_at must not lie more than {RESULT_AHEAD_MS_MAX} ms in the future; it is {now.isoformat()}, got "
            f"{wanted.decided_at.isoformat()}",
            argument="decided_at",
        )
    yield step(
        "betting_results.record",
        market_id=market["id"],
        version=version,
        outcomes=json.dumps(outcomes, sort_keys=True),
        decided_at=wanted.decided_at or now,
        recorded_at=now,
        source=wanted.source,
        actor=wanted.actor,
        corrects=newest > 0,
    )
    is_void = all(outcome == VOID for outcome in outcomes.values())
    yield step(
        "betting_markets.change_state",
        market_id=market["id"],
        state="void" if is_void else "settled",
        now=terms.now,
    )
    return ResultTaken("recorded", wanted.market, version, version)


def _stored(market_id: int, wanted: ResultIntent, terms: Terms) -> Plan[Row]:
    (row,) = yield step("betting_results.versions", market_id=market_id, version=wanted.version, now=terms.now)
    return row


def _resolved(wanted: ResultIntent, selections: Rows) -> dict[str, str]:
    """
    Return the outcome of every selection by its id.
    """
    names = {row["name"]: row["id"] for row in selections}
    for name in wanted.outcomes:
        if name not in names:
            raise unknown_market(wanted.market, name)
    without = [name for name in names if name not in wanted.outcomes]
    if without and wanted.others is None:
        raise InvalidInput(
            f"a result says what became of every selection, and this one leaves out {', '.join(map(repr, without[:5]))} "
            "of market "
            f"{wanted.market!r}: name them, or say what the others are (others='lost')",
            argument="outcomes",
        )
    return {str(names[name]): wanted.outcomes.get(name, wanted.others or VOID) for name in names}


def _refuse_other(
    wanted: ResultIntent, version: int, outcomes: Mapping[str, str], stored: Row, selections: Rows
) -> None:
    there: dict[str, str] = json.loads(stored["outcomes"])
    fields: dict[str, tuple[Any, Any]] = {
        row["name"]: (there.get(str(row["id"])), outcomes[str(row["id"])])
        for row in selections
        if there.get(str(row["id"])) != outcomes[str(row["id"])]
    }
    decided_at = stored["decided_at"].astimezone(UTC)
    if wanted.decided_at is not None and wanted.decided_at != decided_at:
        fields["decided_at"] = (decided_at, wanted.decided_at)
    if fields:
        raise ResultConflict(
            f"result {version} of market {wanted.market!r} is there with other content ({as_differences(fields)}); a correction has "
            "a higher version",
            market=wanted.market,
            version=version,
            fields=fields,
        )
