"""Each constraint and trigger of the schema refuses what it is named after, whoever writes it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import errors

from lastro import Ledger
from tests.schema.adoption import ADOPTION_CONSTRAINTS, ADOPTION_ROWS
from tests.schema.betting import BETTING_CONSTRAINTS, BETTING_HISTORY, BETTING_ROWS
from tests.schema.closings import CLOSING_CONSTRAINTS, CLOSING_ROWS
from tests.schema.imports import IMPORT_CONSTRAINTS, IMPORT_HISTORY, IMPORT_ROWS
from tests.schema.matching import MATCHING_CONSTRAINTS, MATCHING_ROWS
from tests.schema.outbox import OUTBOX_CONSTRAINTS, OUTBOX_ROWS

# Rows that are right; each test changes what its constraint is about.
ROWS: dict[str, dict[str, Any]] = {
    "account": {"id": 1, "name": "n", "currency": "BRL", "opened_at": "2026-01-01Z"},
    "base": {"account_id": 1, "keeping": "hot", "changed_at": "2026-01-01Z"},
    "transfer": {
        "id": 900, "debit_id": 1, "credit_id": 2, "amount": 5, "occurred_at": "2026-01-01Z",
        "recorded_at": "2026-01-01Z", "key": "raw", "kind": "pay",
    },
    "transfer_key": {"key": "raw", "transfer_id": 900, "debit_id": 1},
    "tail": {"account_id": 1, "transfer_id": 900, "amount": 5},
    "reversal": {"original_id": 1, "already": 0, "amount": 5, "original_amount": 5, "transfer_id": 900},
    "counter": {"name": "c", "slice": 0, "value": 1},
    "period_closing": {"closed_until": "2026-01-01Z", "reopens": False, "recorded_at": "2026-01-02Z"},
    "closed_period": {"only_row": True, "closing_id": 0},
    **CLOSING_ROWS,
    "kind": {"name": "k", "debit": "*", "credit": "world", "either_way": False, "registered_at": "2026-01-01Z"},
    "hold": {
        "id": 900, "account_id": 1, "amount": 5, "placed_at": "2026-01-01Z", "expires_at": "2026-02-01Z",
        "listed": False, "key": "raw", "owner": "o",
    },
    "hold_event": {
        "hold_id": 900, "number": 1, "kind": "released", "amount": 5, "taken": 5, "left_before": 5, "left_after": 0,
        "recorded_at": "2026-01-01Z",
    },
    "open_hold": {"hold_id": 900, "account_id": 1, "left_over": 5, "listed": False, "due_at": "2026-02-01Z"},
    "reconciled": {
        "account_id": 1, "amount": 5, "held": 0, "payments": 0, "changed_at": "2026-01-01Z", "id_floor": 0,
        "tailed": False,
    },
    "reconciliation": {"only_row": True, "checked_id": 0, "settled_id": 0},
    "carried_over": {"account_id": 1, "amount": 5, "id_ceiling": 9},
    "incident": {
        "id": 900, "account_id": 1, "rule": "balance", "expected": 1, "found": 2, "opened_at": "2026-01-01Z",
        "last_seen_at": "2026-01-01Z",
    },
    "points_rule": {
        "name": "r", "version": 1, "activity": "game", "points": 10, "currency": "PTS", "period": "week",
        "time_zone": "UTC", "priority": 0, "beyond_cap": "fit", "defined_at": "2026-01-01Z",
    },
    "points_member": {"id": 1, "name": "m", "joined_at": "2026-01-01Z"},
    "activity": {
        "id": 900, "key": "a", "member_id": 1, "kind": "game", "units": 1, "occurred_at": "2026-01-01Z",
        "recorded_at": "2026-01-01Z",
    },
    "activity_cancelled": {"activity_id": 1, "cancelled_at": "2026-01-01Z"},
    "earning": {"activity_id": 1, "rule": "r", "number": 1, "version": 1, "transfer_id": 900, "amount": 5},
    "allowance": {"account_id": 1, "rule": "r", "version": 1, "period_start": "2026-01-01Z", "used": 5},
    "lot": {"transfer_id": 900, "part": 1, "account_id": 1, "amount": 5, "earned_at": "2026-01-01Z"},
    "open_lot": {"account_id": 1, "transfer_id": 900, "part": 1, "left_over": 5, "earned_at": "2026-01-01Z"},
    "lot_use": {"transfer_id": 901, "number": 1, "lot_transfer_id": 900, "lot_part": 1, "amount": 5},
    "points_rebuild": {
        "rule": "r", "version": 1, "starts_at": "2026-01-01Z", "ends_at": "2026-02-01Z", "after_member": 0,
        "members": 0, "changes": 0, "given": 0, "taken": 0, "started_at": "2026-01-01Z",
    },
    **BETTING_ROWS,
    "migration": {"number": 99, "name": "n", "serves_from": 1, "checksum": "c", "applied_at": "2026-01-01Z"},
    **ADOPTION_ROWS,
    **OUTBOX_ROWS,
    **IMPORT_ROWS,
    **MATCHING_ROWS,
}  # fmt: skip

# table, constraint -> the changes that it must refuse. "twice" says: the same row again.
TWICE: dict[str, Any] = {}
CONSTRAINTS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("account", "account_pkey"): [{"name": "other"}],
    ("account", "account_name_and_currency_once"): [{"id": 2}],
    ("account", "account_name_length"): [{"name": ""}, {"name": "n" * 341}],
    ("account", "account_currency_length"): [{"currency": ""}, {"currency": "C" * 33}],
    ("account", "account_closed_after_opened"): [{"closed_at": "2025-12-31Z"}],
    ("base", "base_pkey"): [TWICE],
    ("base", "base_keeping_known"): [{"keeping": "warm"}, {"keeping": ""}],
    ("base", "base_state_known"): [{"state": "shut"}],
    ("base", "base_held_not_negative"): [{"held": -1}],
    ("base", "base_payments_not_negative"): [{"payments": -1}],
    ("transfer", "transfer_once"): [{"key": "other"}],
    ("transfer", "transfer_amount_positive"): [{"amount": 0}, {"amount": -5}],
    ("transfer", "transfer_between_two_accounts"): [{"credit_id": 1}],
    ("transfer", "transfer_adds_up"): [
        {"debit_before": 10, "debit_after": 6},
        {"debit_before": 10, "debit_after": 15},
        {"debit_before": 10},
        {"debit_after": 5},
        {"credit_before": 10, "credit_after": 14},
        {"credit_before": 10, "credit_after": 5},
        {"credit_before": 10},
        {"credit_after": 5},
        {"debit_before": 10, "debit_after": 5, "credit_before": 0, "credit_after": 4},
        {"debit_before": 10, "debit_after": 4, "credit_before": 0, "credit_after": 5},
    ],
    ("transfer_key", "transfer_key_once"): [{"transfer_id": 901}],
    ("tail", "tail_once"): [{"amount": 7}],
    ("reversal", "reversal_part_once"): [{"transfer_id": 901}],
    ("reversal", "reversal_amount_positive"): [{"amount": 0}, {"amount": -1}],
    ("reversal", "reversal_already_not_negative"): [{"already": -1}],
    ("reversal", "reversal_within_original"): [{"amount": 6}, {"already": 1}],
    ("counter", "counter_slice_once"): [{"value": 2}],
    ("counter", "counter_name_length"): [{"name": ""}, {"name": "n" * 256}],
    ("period_closing", "period_closing_once"): [{"id": 1}],
    ("period_closing", "period_closing_key_once"): [{"key": "k"}],
    ("period_closing", "period_reopened_by_name"): [
        {"reopens": True, "key": "k", "reason": "r"},
        {"reopens": True, "key": "k", "actor": "a"},
        {"reopens": True, "reason": "r", "actor": "a"},
        {"reopens": True, "key": "", "reason": "r", "actor": "a"},
    ],
    ("closed_period", "closed_period_once"): [TWICE],
    ("closed_period", "closed_period_is_one"): [{"only_row": False}],
    **CLOSING_CONSTRAINTS,
    ("kind", "kind_once"): [{"debit": "other"}],
    ("kind", "kind_names_something"): [{"name": ""}, {"debit": ""}, {"credit": ""}, {"undone_by": ""}],
    ("hold", "hold_once"): [{"key": "other"}],
    ("hold", "hold_key_once"): [{"id": 901}],
    ("hold", "hold_amount_positive"): [{"amount": 0}, {"amount": -5}, {"capture_max": 4}],
    ("hold_event", "hold_event_once"): [{"kind": "expired"}],
    ("hold_event", "hold_event_adds_up"): [
        {"kind": "lost"},
        {"amount": 4},
        {"taken": 0},
        {"taken": 6, "amount": 6, "left_after": -1},
        {"left_before": 6},
        {"kind": "captured"},
        {"kind": "captured", "amount": 4, "transfer_id": 1},
        {"kind": "expired", "left_before": 6, "left_after": 1},
    ],
    ("open_hold", "open_hold_once"): [{"left_over": 4}],
    ("open_hold", "open_hold_left_positive"): [{"left_over": 0}, {"left_over": -1}, {"captured": -1}, {"released": -1}],
    ("reconciled", "reconciled_once"): [{"amount": 6}],
    ("reconciliation", "reconciliation_once"): [TWICE],
    ("reconciliation", "reconciliation_is_one"): [{"only_row": False}],
    ("carried_over", "carried_over_once"): [{"amount": 6}],
    ("incident", "incident_once"): [{"account_id": 2}],
    ("incident", "incident_rule_known"): [{"rule": "mood"}],
    ("incident", "incident_differs"): [{"found": 1}],
    ("incident", "incident_explained_by_name"): [
        {"explained_at": "2026-01-02Z"},
        {"explained_at": "2026-01-02Z", "explanation": "e"},
        {"explained_at": "2026-01-02Z", "explained_by": "a"},
        {"explained_at": "2026-01-02Z", "explanation": "", "explained_by": "a"},
        {"explanation": "e"},
        {"explained_by": "a"},
    ],
    ("points_rule", "points_rule_version_once"): [{"points": 11}],
    ("points_rule", "points_rule_texts_length"): [
        {"name": ""}, {"name": "r" * 65}, {"activity": ""}, {"activity": "a" * 65}, {"currency": ""},
        {"currency": "C" * 33}, {"time_zone": ""}, {"time_zone": "z" * 65},
    ],
    ("points_rule", "points_rule_version_from_1"): [{"version": 0}],
    ("points_rule", "points_rule_not_negative"): [{"points": -1}, {"cap": -1}],
    ("points_rule", "points_rule_period_known"): [{"period": "year"}],
    ("points_rule", "points_rule_beyond_cap_known"): [{"beyond_cap": "ignore"}],
    ("points_rule", "points_rule_lot_days_from_1"): [{"lot_days": 0}],
    ("points_member", "points_member_pkey"): [{"name": "other"}],
    ("points_member", "points_member_name_once"): [{"id": 2}],
    ("points_member", "points_member_name_length"): [{"name": ""}, {"name": "n" * 341}],
    ("activity", "activity_pkey"): [{"key": "other"}],
    ("activity", "activity_key_once"): [{"id": 901}],
    ("activity", "activity_units_positive"): [{"units": 0}, {"units": -1}],
    ("activity_cancelled", "activity_cancelled_pkey"): [{"actor": "other"}],
    ("earning", "earning_once"): [{"transfer_id": 901}],
    ("earning", "earning_not_nothing"): [{"amount": 0}],
    ("allowance", "allowance_once"): [{"used": 6}],
    ("lot", "lot_once"): [{"amount": 6}],
    ("lot", "lot_amount_positive"): [{"amount": 0}, {"amount": -5}],
    ("open_lot", "open_lot_once"): [{"left_over": 4}],
    ("open_lot", "open_lot_holds_something"): [{"left_over": 0}, {"left_over": -1}],
    ("lot_use", "lot_use_once"): [{"amount": 4}],
    ("lot_use", "lot_use_not_nothing"): [{"amount": 0}],
    ("points_rebuild", "points_rebuild_once"): [{"changes": 1}],
    ("points_rebuild", "points_rebuild_of_some_time"): [{"ends_at": "2026-01-01Z"}, {"ends_at": "2025-01-01Z"}],
    **BETTING_CONSTRAINTS,
    **ADOPTION_CONSTRAINTS,
    **OUTBOX_CONSTRAINTS,
    **IMPORT_CONSTRAINTS,
    **MATCHING_CONSTRAINTS,
    ("migration", "migration_pkey"): [{"name": "other"}],
}  # fmt: skip

# The lengths of history's texts are their types': a CHECK each would cost every posting.
LENGTHS = {
    "transfer": {"key": 400, "kind": 16, "cause": 255, "reverses": 400, "source": 255, "actor": 255},
    "transfer_key": {"key": 400},
    "kind": {"name": 16, "debit": 340, "credit": 340, "undone_by": 16},
    "adoption": {"name": 32, "actor": 255},
    "adoption_row": {"adoption": 32, "row_key": 240},
    "hold": {"key": 400, "owner": 255, "group_name": 400, "cause": 255, "source": 255, "actor": 255},
    "hold_event": {"key": 400, "cause": 255, "source": 255, "actor": 255},
    "activity": {"key": 255, "kind": 64},
    "activity_cancelled": {"actor": 255},
    "submission": {"key": 396},
    "bet": {"key": 396, "actor": 255},
    "market_result": {"source": 255, "actor": 255},
    "voided_bet": {"reason": 255, "actor": 255},
}

# What the row that is there already says of a column that may be left out.
TAKEN = {
    "period_closing_key_once": {"key": "k"}, "adoption_event_once": {"id": 1}, "dead_letter_once": {"id": 1},
    "dead_letter_delivery_once": {"delivery": "d"},
    "import_log_once": {"line_id": 1}, "import_replaced_once": {"replaced_id": 1},
}  # fmt: skip

POINTS_HISTORY = ("points_rule", "activity", "activity_cancelled", "earning", "lot", "lot_use")
APPEND_ONLY = (
    "transfer", "transfer_key", "reversal", "period_closing", "hold", "hold_event", "mark", "closing", "closing_block",
    "adoption_event", "outbox_note", *POINTS_HISTORY, *BETTING_HISTORY, *IMPORT_HISTORY,
    "match_run",
)  # fmt: skip
NEVER_DELETED = ("account", "base", "closed_period", "incident", "market", "open_mark", "points_member", "selection")
TRIGGERS = {
    *((table, f"{table}_append_only") for table in APPEND_ONLY),
    *((table, f"{table}_not_truncated") for table in (*APPEND_ONLY, "transfer_default")),
    *((table, f"{table}_not_deleted") for table in NEVER_DELETED),
    ("closed_period", "closed_period_not_truncated"),
    ("incident", "incident_not_truncated"),
    ("closed_period", "closed_period_explained"),
    ("open_mark", "open_mark_not_truncated"),
}

# A column of each that an UPDATE may name.
SET = {
    "transfer": "key", "transfer_key": "key", "points_rule": "points", "activity": "units",
    "activity_cancelled": "cancelled_at", "period_closing": "key",
    "mark": "id_ceiling", "closing_block": "moved",
    "adoption_event": "what",
    "outbox_note": "reason",
    "submission": "asked", "bet": "stake",
    "bet_leg": "odds", "bet_settlement": "returned", "bet_event": "kind", "voided_bet": "reason",
    "market_result": "source",
    "import_request": "name", "import_file": "name", "import_outcome": "reason", "import_merge": "inserted",
    "import_log": "line", "import_quarantine": "cells", "import_replaced": "line", "match_run": "period",
}  # fmt: skip

Connection = psycopg.Connection[Any]


def insert(connection: Connection, table: str, row: dict[str, Any]) -> None:
    """Write a row by raw SQL."""
    columns, places = ", ".join(row), ", ".join(["%s"] * len(row))
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})".encode(), list(row.values()))


def without_its_row(connection: Connection) -> None:
    """Take away the row that some tables always have, so that one can be written."""
    connection.execute("SET LOCAL session_replication_role = replica")
    connection.execute("DELETE FROM closed_period")
    connection.execute("DELETE FROM open_mark")
    connection.execute("DELETE FROM reconciliation")
    connection.execute("DELETE FROM outbox_lane")
    connection.execute("SET LOCAL session_replication_role = origin")


@pytest.mark.req("2.3")
@pytest.mark.case("S05")
@pytest.mark.parametrize(("table", "constraint"), CONSTRAINTS, ids=str)
def test_the_constraint_refuses(connection: Connection, table: str, constraint: str) -> None:
    """A row that breaks the rule is refused by the constraint of that name, by INSERT and, of CHECKs, by UPDATE."""
    connection.execute("TRUNCATE counter")
    for changed in CONSTRAINTS[table, constraint]:
        without_its_row(connection)
        unique = constraint.endswith(("_once", "_pkey"))
        if unique:
            insert(connection, table, ROWS[table] | TAKEN.get(constraint, {}))
        with pytest.raises(errors.IntegrityError) as caught, connection.transaction():
            insert(connection, table, ROWS[table] | changed)
        named = caught.value.diag.constraint_name
        # A unique constraint of a partitioned table is enforced by the partition's index, which has a name of its own.
        assert named == constraint or (unique and str(named).startswith("transfer_p"))
        assert isinstance(caught.value, errors.UniqueViolation if unique else errors.CheckViolation)
        if not unique and table not in (*APPEND_ONLY, "closed_period", "open_mark"):
            insert(connection, table, ROWS[table])
            changes = ", ".join(f"{column} = %s" for column in changed)
            with pytest.raises(errors.CheckViolation, match=constraint), connection.transaction():
                connection.execute(f"UPDATE {table} SET {changes}".encode(), list(changed.values()))
        connection.rollback()


@pytest.mark.req("1.1")
@pytest.mark.parametrize("table", LENGTHS)
def test_a_text_that_is_too_long_is_refused(connection: Connection, table: str) -> None:
    """The longest text goes in whole; one character more is refused, not cut."""
    for column, characters in LENGTHS[table].items():
        insert(connection, table, ROWS[table] | {column: "é" * characters})
        stored = connection.execute(f"SELECT {column} FROM {table}".encode()).fetchone()
        assert stored == ("é" * characters,)
        connection.rollback()
        with pytest.raises(errors.StringDataRightTruncation):
            insert(connection, table, ROWS[table] | {column: "é" * (characters + 1)})
        connection.rollback()


@pytest.mark.parametrize("table", ROWS)
def test_the_rows_are_right_otherwise(connection: Connection, table: str) -> None:
    """The rows that the tests change are accepted as they are: what is refused above is refused for the change."""
    without_its_row(connection)
    insert(connection, table, ROWS[table])
    connection.rollback()


def test_what_must_be_there_is_there(connection: Connection) -> None:
    """No column that a balance or a transfer needs takes NULL."""
    without_its_row(connection)
    for table, row in ROWS.items():
        for column in row:
            if (table, column) == ("submission", "bet_id"):
                # Either this or `refused`: `submission_answered`.
                continue
            with pytest.raises(errors.NotNullViolation) as caught, connection.transaction():
                insert(connection, table, row | {column: None})
            assert caught.value.diag.column_name == column
    nullable = connection.execute(
        "SELECT table_name || '.' || column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND is_nullable = 'YES' AND table_name = ANY(%s) ORDER BY 1",
        [list(ROWS)],
    ).fetchall()
    assert [name for (name,) in nullable] == [
        "account.closed_at", "account.metadata", "activity_cancelled.actor", "adoption.actor",
        "adoption_difference.account", "adoption_difference.currency", "adoption_difference.expected",
        "adoption_difference.found", "adoption_event.actor", "adoption_event.detail", "adoption_event.row_key",
        "barred_account.actor", "barred_account.reason", "base.floor", "bet.actor", "bet.metadata", "bet_event.reason",
        "bet_event.shortfall", "bet_event.version", "carried_over.occurred_max_at", "carried_over.recorded_max_at",
        "closed_period.closed_until", "dead_letter.delivery", "hold.actor", "hold.capture_max", "hold.cause",
        "hold.group_name", "hold.metadata", "hold.source", "hold_event.actor", "hold_event.cause", "hold_event.key",
        "hold_event.source", "hold_event.transfer_id", "import_file.part", "import_file.sha256",
        "import_outcome.reason", "import_request.actor", "import_request.period", "incident.agreed_id",
        "incident.cleared_at", "incident.explained_at", "incident.explained_by", "incident.explanation",
        "incident.transfer_id", "kind.undone_by", "lot.expires_at", "market.closes_at", "market.liability_max",
        "market.settle_by", "market_result.actor", "market_result.source", "match_group.reference", "match_run.account",
        "match_run.actor", "open_hold.guard_ends_at", "open_import.holder", "open_lot.expires_at",
        "open_mark.id_ceiling", "open_mark.marked_at", "open_mark.newest_at", "open_mark.waits_for",
        "open_result.walked_to", "outbox_key.due_at", "outbox_lane.holder", "outbox_note.event",
        "outbox_target.acknowledged_at", "outbox_target.disabled_at", "outbox_target.due_at", "outbox_target.failed_at",
        "outbox_target.reason", "period_closing.actor", "period_closing.key", "period_closing.reason",
        "points_member.erased_at", "points_rebuild.done_at", "points_rule.cap", "points_rule.lot_days",
        "reconciled.history_amount", "reconciliation.candidate_id", "reconciliation.finished_at",
        "reconciliation.waits_for", "sheet_billing.description", "sheet_billing.fee", "sheet_movements.kind",
        "submission.bet_id", "submission.details", "submission.message", "submission.refused", "transfer.actor",
        "transfer.cause", "transfer.credit_after", "transfer.credit_before", "transfer.debit_after",
        "transfer.debit_before", "transfer.metadata", "transfer.reverses", "transfer.source",
    ]  # fmt: skip


def test_every_constraint_is_broken_by_a_test(connection: Connection) -> None:
    """The tests above break exactly the constraints that the schema has: a new one without a test fails here."""
    rows = connection.execute(
        "SELECT conrelid::regclass::text, conname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid "
        "WHERE connamespace = current_schema()::regnamespace AND contype <> 'n' AND NOT relispartition"
    ).fetchall()
    assert {(table, name) for table, name in rows} == set(CONSTRAINTS)


def test_every_trigger_is_pulled_by_a_test(connection: Connection) -> None:
    """The same for triggers; partitions inherit the row triggers and have a truncate trigger each."""
    rows = connection.execute(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
        "WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal"
    ).fetchall()
    partitions = {name for (name,) in connection.execute("SELECT relid::text FROM pg_partition_tree('transfer')")}
    triggers = {(table, name) for table, name in rows}
    assert {pair for pair in triggers if pair[0] not in partitions - {"transfer"}} | {
        ("transfer_default", "transfer_default_not_truncated")
    } == TRIGGERS
    for partition in partitions - {"transfer"}:
        assert {name for table, name in triggers if table == partition} == {
            "transfer_append_only", f"{partition}_not_truncated",
        }  # fmt: skip


@pytest.fixture
def written(ledger: Ledger, connection: Connection, monkeypatch: pytest.MonkeyPatch) -> Connection:
    """A ledger in which every table has rows."""
    ledger.open_account("a", "BRL", keeping="hot")
    ledger.post(key="k", kind="pay", debit="world", credit="a", amount=5, currency="BRL")
    ledger.reverse("k", "undo", amount=2)
    ledger.close_period(until=datetime(2025, 11, 1, tzinfo=UTC))
    ledger.place_hold(
        key="h", account="a", currency="BRL", amount=2, owner="o", expires_at=datetime(2100, 1, 1, tzinfo=UTC)
    )
    ledger.release(key="r", hold="h", amount=1)
    monkeypatch.setattr("lastro.plans.closing_days.CLOSING_BLOCK_ENTRIES", 1)
    ledger.close_days()
    connection.execute("INSERT INTO adoption_event (adoption, what, recorded_at) VALUES ('n', 'begun', now())")
    connection.commit()
    ledger.outbox.emit([{"event_id": "e", "topic": "t", "ordering_key": "k", "payload": {}}])
    ledger.outbox.skip("e", reason="r", actor="a")
    points = ledger.points
    points.define_rule("game", activity="game", points=10, currency="PTS")
    points.earn("g", activity="game", member="m")
    points.cancel("g")
    for table in ("incident", "match_run", *IMPORT_HISTORY):
        insert(connection, table, ROWS[table])
    connection.commit()
    betting = ledger.betting
    betting.open_market("m", "BRL", odds={"home": "2"})
    betting.place(key="b", account="a", currency="BRL", stake=1, market="m", selection="home", odds="2")
    betting.void("m")
    betting.settle()
    betting.void_bet("b", reason="r", actor="a")
    return connection


@pytest.mark.req("0.6")
@pytest.mark.req("2.1")
@pytest.mark.parametrize("table", APPEND_ONLY)
def test_append_only_refuses_update_and_delete(written: Connection, table: str) -> None:
    """No UPDATE and no DELETE of history, by any way that reaches its rows, also for the owner and superuser."""
    row_before = written.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall()
    column = SET.get(table, "amount")
    for statement in (
        f"UPDATE {table} SET {column} = {column}",
        f"DELETE FROM {table}",
        f"MERGE INTO {table} AS t USING (SELECT 1) AS s ON true WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(errors.RestrictViolation, match=rf"\.{table}\w* is append-only") as caught:
            written.execute(statement.encode())
        assert caught.value.diag.message_hint is not None
        assert "Post a new transfer" in caught.value.diag.message_hint
        written.rollback()
    assert written.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall() == row_before != []


@pytest.mark.req("0.6")
@pytest.mark.req("2.1")
def test_append_only_holds_on_partitions(written: Connection) -> None:
    """Partitions refuse the same when they are addressed by name, the default one and those made later alike."""
    names = [name for (name,) in written.execute("SELECT relid::text FROM pg_partition_tree('transfer') WHERE isleaf")]
    assert len(names) >= 3
    for name in names:
        with pytest.raises(errors.RestrictViolation):
            written.execute(f"TRUNCATE {name}".encode())
        written.rollback()
    filled = [name for name in names if written.execute(f"SELECT 1 FROM {name} LIMIT 1".encode()).fetchone()]
    assert filled
    for name in filled:
        for statement in (f"UPDATE {name} SET kind = 'x'", f"DELETE FROM {name}"):
            with pytest.raises(errors.RestrictViolation):
                written.execute(statement.encode())
            written.rollback()


@pytest.mark.req("2.1")
@pytest.mark.parametrize("table", APPEND_ONLY)
def test_not_truncated(written: Connection, table: str) -> None:
    """TRUNCATE is refused, with CASCADE too."""
    for statement in (f"TRUNCATE {table}", f"TRUNCATE {table} CASCADE"):
        with pytest.raises(errors.RestrictViolation, match="TRUNCATE refused"):
            written.execute(statement.encode())
        written.rollback()


@pytest.mark.parametrize("table", NEVER_DELETED)
def test_not_deleted(written: Connection, table: str) -> None:
    """Accounts and their base rows are closed, never deleted."""
    with pytest.raises(errors.RestrictViolation, match="DELETE refused"):
        written.execute(f"DELETE FROM {table}".encode())
    written.rollback()


def test_what_is_closed_is_explained(written: Connection) -> None:
    """The bound moves only to what a later row of the closings says; its one row isn't truncated."""
    for statement in (
        "UPDATE closed_period SET closed_until = NULL",
        "UPDATE closed_period SET closed_until = '2020-01-01Z'",
        "UPDATE closed_period SET closing_id = closing_id + 1",
        "UPDATE closed_period SET closing_id = closing_id",
        "TRUNCATE closed_period",
        "TRUNCATE open_mark",
    ):
        with pytest.raises(errors.RestrictViolation):
            written.execute(statement.encode())
        written.rollback()
