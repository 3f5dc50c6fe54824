"""The rules reason over samples: what they name, by which evidence, and what they leave alone."""

from __future__ import annotations

from typing import Any

import pytest

from lastro.doctor.findings import find
from lastro.doctor.readings import Reading, Sample
from lastro.doctor.rules import BY_CODE
from lastro.model.limits import PARTITION_TRANSFERS
from tests.doctor.windows import reading, waiting, window


def codes(samples: list[Sample]) -> list[str]:
    """The codes that are found, in their order."""
    return [finding.code for finding in find(samples)]


def test_no_samples_no_findings() -> None:
    """There is nothing to reason about."""
    assert find([]) == ()


def test_an_instant_is_no_state_of_affairs() -> None:
    """One look at a queue, or two, names no account."""
    assert codes(window(waiting("platform", 8))) == []
    assert codes(window(*[waiting("platform", 8)] * 2)) == []


@pytest.mark.case("C001")
def test_a_hot_account_kept_direct() -> None:
    """It is named with its share of waiting posts and the command that heals it."""
    [finding] = find(window(*[waiting("platform", 4)] * 5))
    assert (finding.code, finding.subject) == ("hot_account_direct", "platform BRL")
    assert "platform waits 40% of its posts" in finding.evidence
    assert "lastro keep platform BRL hot" in finding.advice
    assert finding.about["keep"] == "hot"


def test_waits_without_a_name_count_for_the_account_that_has_the_names() -> None:
    """A herd behind a row's newest version is the same queue, also where no one of it can be named."""
    herd = [
        reading("sessions_busy", 10),
        reading("lock_waits", 7, "rows that a transaction holds", blockers=[], longest_s=0.1),
    ]
    [finding] = find(window(herd, waiting("platform", 1), herd, waiting("platform", 2)))
    assert (finding.code, finding.subject) == ("hot_account_direct", "platform BRL")


def test_a_few_waits_are_no_finding() -> None:
    """Players who bet twice at once wait for themselves now and then."""
    assert (
        codes(
            window(waiting("ana", 1), [reading("sessions_busy", 10)], waiting("ben", 1), [reading("sessions_busy", 9)])
        )
        == []
    )


@pytest.mark.case("C003")
def test_debits_of_a_hot_account_are_shared_rows() -> None:
    """An account that is hot already can't be healed by keeping it hot."""
    [finding] = find(window(*[waiting("bonus", 6, keeping="hot")] * 4))
    assert finding.code == "shared_rows"
    assert "keep" not in finding.about


def test_one_old_transaction_is_no_hot_account() -> None:
    """Who waits behind one transaction for seconds waits for it, not for the account."""
    blocking = reading(
        "blocking", 8, "report (pid 7)", pid=7, state="idle in transaction", state_age_s=4.0, age_s=5.0,
        subjects=["account platform BRL"], longest_s=4.0,
    )  # fmt: skip
    old = reading(
        "transaction_age", 5.0, "report (pid 7)", pid=7, state="idle in transaction", state_age_s=4.0, query="SELECT 1"
    )
    [finding] = find(window(*[[*waiting("platform", 8, age_s=5.0 + step), blocking, old] for step in range(4)]))
    assert finding.code == "oldest_transaction"
    assert "8 sessions wait behind it" in finding.evidence


def batch(*, subjects: int, state: str = "active", state_age_s: float = 0.01, age_s: float = 3.0) -> list[Reading]:
    """A transaction that holds rows of so many accounts."""
    names = [f"account player:{number} BRL" for number in range(subjects)]
    return [
        reading("sessions_busy", 10),
        reading(
            "blocking", subjects, "settler (pid 9)", pid=9, state=state, state_age_s=state_age_s, age_s=age_s,
            subjects=names, longest_s=2.0, query="UPDATE …",
        ),
    ]  # fmt: skip


def test_a_settlement_batch_that_is_too_large() -> None:
    """One transaction at work holds several accounts for seconds, also while it is seen between two statements."""
    assert codes(window(*[batch(subjects=3, age_s=2 + step) for step in range(3)])) == ["settlement_batch"]
    between = [batch(subjects=3, age_s=2 + step, state="idle in transaction") for step in range(3)]
    assert codes(window(*between)) == ["settlement_batch"]


def test_a_batch_that_is_small_enough() -> None:
    """Short, or of one account, or idle for long, or a new one each time: none of these is a batch that is too large."""
    assert codes(window(*[batch(subjects=3, age_s=0.2)] * 3, every_s=0.1)) == []
    assert codes(window(*[batch(subjects=1, age_s=2 + step) for step in range(3)])) == []
    idle = [batch(subjects=3, age_s=2 + step, state="idle in transaction", state_age_s=3.0) for step in range(3)]
    assert codes(window(*idle)) == []
    assert codes(window(*[batch(subjects=3, age_s=1.5)] * 3, every_s=10)) == []


def test_postings_that_queued_for_long_are_still_a_queue() -> None:
    """In a long queue every transaction is old by the time it holds the row; it is a hot account all the same."""
    assert codes(window(*[waiting("platform", 8, age_s=2.0)] * 4, every_s=1.5)) == ["hot_account_direct"]


def transaction(age_s: float, *, state: str = "active", kind: str = "client backend", dead: int = 0) -> list[Reading]:
    """A transaction that keeps old versions, and so many dead rows."""
    detail: dict[str, Any] = {
        "state": state,
        "kind": kind,
        "state_age_s": age_s,
        "holds_back_transactions": 10,
        "query": "SELECT …",
        "pid": 3,
    }
    return [
        reading("transaction_age", age_s, "report (pid 3)", **detail),
        reading("dead_rows", dead, "tail", threshold=5_000, enabled=True, live_rows=10, vacuumed_ago_s=1.0),
    ]


@pytest.mark.case("C066")
def test_the_oldest_transaction() -> None:
    """Idle it is found after two seconds; at work after a minute, or sooner while dead rows rise and nothing else moves."""
    assert codes(window(transaction(3.0, state="idle in transaction"))) == ["oldest_transaction"]
    assert codes(window(transaction(30.0))) == []
    assert codes(window(transaction(61.0))) == ["oldest_transaction"]
    [finding] = find(window(transaction(20.0), transaction(21.0, dead=4_000)))
    assert "dead rows grew by 4,000" in finding.evidence
    assert codes(window(transaction(300.0, kind="walsender"))) == []


def pool(waiting: int, *, busy: int, locked: int, longest_s: float = 0.0) -> list[Reading]:
    """A pool with a queue, beside sessions of which some wait for locks."""
    return [
        reading("sessions_busy", busy),
        reading("sessions_waiting", locked),
        reading("pool_waiting", waiting, "placement", of="this process", size=4),
        reading("pool_longest_wait", longest_s, "placement"),
    ]


@pytest.mark.req("3.16")
def test_a_pool_queue_with_steady_lock_waits_is_connections() -> None:
    """A queue for the pool alone is the pool's; with most sessions in a queue for a lock it is the lock's."""
    [finding] = find(window(*[pool(5, busy=4, locked=0)] * 4))
    assert (finding.code, finding.about["by_locks"]) == ("pool_starved", False)
    [finding] = find(window(*[pool(5, busy=4, locked=4)] * 4))
    assert finding.about["by_locks"]
    assert "queue for a lock" in finding.advice
    assert codes(window(*[pool(0, busy=4, locked=0)] * 4)) == []


STATIC: dict[str, tuple[Reading, Reading]] = {
    # What is found, and what isn't.
    "connections": (reading("connections", 95, max=100), reading("connections", 80, max=100)),
    "invalid_index": (
        reading("invalid_index", "not ready", "once", table="transfer", unique=True, definition="…"),
        reading("open_incidents", 0),
    ),
    "partition_missing": (
        reading("partitions_ahead", PARTITION_TRANSFERS - 1, stray_id=None),
        reading("partitions_ahead", PARTITION_TRANSFERS, stray_id=None),
    ),
    "autovacuum_off": (
        reading("dead_rows", 0, "tail", threshold=5_000, enabled=False, live_rows=0, vacuumed_ago_s=None, alter_it="ALTER TABLE lastro.tail"),
        reading("dead_rows", 90_000, "tail", threshold=5_000, enabled=True, live_rows=0, vacuumed_ago_s=None),
    ),
    "autovacuum_behind": (
        reading("dead_rows", 100_000, "tail", threshold=5_000, enabled=True, live_rows=0, vacuumed_ago_s=121.0),
        reading("dead_rows", 100_000, "tail", threshold=5_000, enabled=True, live_rows=0, vacuumed_ago_s=12.0),
    ),
    "backlog_stands": (reading("settlement_age", 61.0), reading("settlement_age", 59.0)),
    "hot_without_need": (
        reading("hot_account_credits", 3, "gifts BRL", account="gifts", currency="BRL", debits=500),
        reading("hot_account_credits", 60, "gifts BRL", account="gifts", currency="BRL", debits=500),
    ),
    "slot_fills_disk": (
        reading("slot_kept", 2**26, "cdc", active=False, wal_status="reserved", safe_wal_bytes=None),
        reading("slot_kept", 2**30, "cdc", active=True, wal_status="reserved", safe_wal_bytes=None),
    ),
    "replica_lag": (
        reading("replica_behind", 2**29, "two", state="streaming", sync_state="async"),
        reading("replica_behind", 2**20, "two", state="streaming", sync_state="async"),
    ),
    "prepared_statements_lost": (
        reading("pooler", "transaction", prepared=True, prepared_max=0, version="1.18.0", knows_prepared=False),
        reading("pooler", "transaction", prepared=True, prepared_max=200, version="1.25.0", knows_prepared=True),
    ),
    "drift": (
        reading(
            "open_incidents", 1,
            incidents=[{"id": 4, "account": "platform", "currency": "BRL", "rule": "balance", "found": "7",
                        "expected": "0", "opened_at": "2026-11-30T20:00:00+00:00"}],
        ),
        reading("open_incidents", 0, incidents=[]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("code", STATIC)
def test_on_either_side_of_the_threshold(code: str) -> None:
    """Beyond it the rule says so, and names its subject; on this side nothing is said."""
    found, fine = STATIC[code]
    [finding] = find(window([found]))
    assert finding.code == code
    assert codes(window([fine])) == []


def test_checkpoints_by_volume() -> None:
    """Two and more that were asked for within the window, and more than two a minute, are a storm."""

    def at(requested: int) -> list[Reading]:
        return [reading("checkpoints_requested", requested), reading("wal_bytes", requested * 2**24)]

    assert codes(window(at(10), at(12), every_s=10)) == ["checkpoint_storm"]
    assert codes(window(at(10), at(11), every_s=10)) == []
    assert codes(window(at(10), at(12), every_s=90)) == []


def test_a_replica_that_applies_nothing() -> None:
    """It is behind at once, however little that is yet; one that has applied all it was sent isn't."""

    def at(behind: int, replayed: int) -> list[Reading]:
        detail = {"state": "streaming", "sync_state": "async"}
        return [
            reading("replica_behind", behind, "two", **detail),
            reading("replica_replayed", replayed, "two", **detail),
        ]

    assert codes(window(*[at(2**20 + step, 5) for step in range(4)])) == ["replica_lag"]
    assert codes(window(*[at(2**20 + step, 5 + step) for step in range(4)])) == []
    assert codes(window(*[at(0, 5)] * 4)) == []


def test_a_backlog_that_shrinks_is_no_finding() -> None:
    """What gets younger is being worked off."""
    assert codes(window([reading("tail_age", 300.0)], [reading("tail_age", 200.0)])) == []


def test_the_gravest_comes_first() -> None:
    """Critical findings stand before warnings, and of equals what others follow from."""
    broken: list[Any] = [STATIC["drift"][0], *[STATIC[code][0] for code in ("hot_without_need", "slot_fills_disk")]]
    assert codes(window(*[[*waiting("platform", 8), *broken]] * 4)) == [
        "drift", "hot_account_direct", "slot_fills_disk", "hot_without_need",
    ]  # fmt: skip


def test_what_could_not_be_read_is_no_evidence() -> None:
    """A reading with a trouble says nothing."""
    unread = Reading("open_incidents", None, "", trouble="no right")
    assert codes(window([unread])) == []


def test_every_finding_says_what_would_disprove_it() -> None:
    """Each has evidence, a reading that would prove it wrong, advice, and a section of the docs."""
    for found, _ in STATIC.values():
        [finding] = find(window([found]))
        assert finding.code in BY_CODE
        assert all((finding.subject, finding.evidence, finding.disproved_by, finding.advice))
        assert finding.page == f"docs/doctor.md#{finding.code}"
