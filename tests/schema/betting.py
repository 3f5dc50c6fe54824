"""A row of each table of the sportsbook, and what breaks each of its constraints."""

from __future__ import annotations

from typing import Any

BETTING_HISTORY = ("submission", "bet", "bet_leg", "bet_settlement", "bet_event", "voided_bet", "market_result")
BETTING_ROWS: dict[str, dict[str, Any]] = {
    "market": {
        "id": 900, "name": "m", "currency": "BRL", "state": "open", "stake_min": 1, "stake_max": 5,
        "opened_at": "2026-01-01Z", "changed_at": "2026-01-01Z",
    },
    "selection": {
        "id": 900, "market_id": 900, "name": "s", "odds": 2050, "state": "open", "changed_at": "2026-01-01Z",
    },
    "exposure": {"market_id": 900, "selection_id": 900, "slice": 0, "bets": 1, "stakes": 5, "returns": 10},
    "barred_account": {"account": "a", "barred_at": "2026-01-01Z"},
    "submission": {"key": "raw", "bet_id": 900, "asked": "{}", "recorded_at": "2026-01-01Z"},
    "bet": {
        "id": 900, "account_id": 1, "stake": 5, "potential_return": 10, "return_max": 10, "placed_at": "2026-01-01Z",
        "settle_by": "2026-02-01Z", "key": "raw",
    },
    "bet_leg": {"bet_id": 900, "number": 1, "market_id": 900, "selection_id": 900, "odds": 2050},
    "open_bet": {"market_id": 900, "bet_id": 900},
    "stuck_bet": {"bet_id": 900, "market_id": 900, "code": "c", "message": "m", "opened_at": "2026-01-01Z"},
    "bet_settlement": {
        "bet_id": 900, "version": 1, "returned": 10, "is_void": False, "outcomes": "won", "recorded_at": "2026-01-01Z",
    },
    "voided_bet": {"bet_id": 900, "reason": "r", "actor": "a", "recorded_at": "2026-01-01Z"},
    "bet_event": {"bet_id": 900, "number": 1, "kind": "settled", "recorded_at": "2026-01-01Z"},
    "market_result": {
        "market_id": 900, "version": 1, "outcomes": "{}", "decided_at": "2026-01-01Z", "recorded_at": "2026-01-01Z",
    },
    "open_result": {"market_id": 900, "version": 1, "opened_at": "2026-01-01Z"},
    "dead_letter": {
        "topic": "t", "code": "poison", "reason": "r", "message": "m", "received_at": "2026-01-01Z",
    },
}  # fmt: skip

# As CONSTRAINTS of test_constraints.py.
BETTING_CONSTRAINTS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("market", "market_once"): [{"name": "other"}],
    ("market", "market_name_once"): [{"id": 901}],
    ("market", "market_state_known"): [{"state": "shut"}],
    ("market", "market_limits_in_order"): [{"stake_min": 0}, {"stake_max": 0}, {"liability_max": 0}],
    ("selection", "selection_once"): [{"name": "other"}],
    ("selection", "selection_name_once"): [{"id": 901}],
    ("selection", "selection_odds_above_one"): [{"odds": 1000}, {"odds": -2050}],
    ("selection", "selection_state_known"): [{"state": "closed"}],
    ("exposure", "exposure_once"): [{"bets": 2}],
    ("barred_account", "barred_account_once"): [{"reason": "other"}],
    ("submission", "submission_once"): [{"bet_id": 901}],
    ("submission", "submission_answered"): [{"bet_id": None}, {"refused": "odds_changed"}],
    ("bet", "bet_once"): [{"key": "other"}],
    ("bet", "bet_stake_positive"): [{"stake": 0}, {"stake": -5}, {"return_max": 4}],
    ("bet_leg", "bet_leg_once"): [{"market_id": 901}],
    ("bet_leg", "bet_leg_market_once"): [{"number": 2}],
    ("open_bet", "open_bet_once"): [{}],
    ("stuck_bet", "stuck_bet_once"): [{"code": "other"}],
    ("bet_settlement", "bet_settlement_once"): [{"returned": 0}],
    ("bet_settlement", "bet_settlement_from_1"): [{"version": 0}, {"returned": -1}],
    ("voided_bet", "voided_bet_once"): [{"reason": "other"}],
    ("bet_event", "bet_event_once"): [{"kind": "voided"}],
    ("bet_event", "bet_event_kind_known"): [{"kind": "lost"}],
    ("market_result", "market_result_once"): [{"source": "other"}],
    ("market_result", "market_result_from_1"): [{"version": 0}],
    ("open_result", "open_result_once"): [{"bets": 1}],
    ("dead_letter", "dead_letter_once"): [{"id": 1}],
    ("dead_letter", "dead_letter_delivery_once"): [{"delivery": "d"}],
}  # fmt: skip
