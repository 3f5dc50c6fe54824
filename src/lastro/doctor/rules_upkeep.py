"""
Rules on upkeep: drift, indexes, partitions, vacuum, work that nobody does, accounts kept hot for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lastro.doctor.finding import Finding, page_of
from lastro.doctor.readings import Sample
from lastro.doctor.window import Window
from lastro.model.limits import PARTITION_TRANSFERS, PARTITIONS_AHEAD

INCIDENTS_TOLD_MAX: Final = 3
# Vacuum is behind where so many times what calls it is dead, more than is alive, and it was not there for so long.
BEHIND_TIMES: Final = 20
BEHIND_MIN_S: Final = 120.0
STANDS_MIN_S: Final = 60.0
# A hot account's credits lock nothing. With fewer than one a minute nobody would have waited anyway.
HOT_CREDITS_MIN: Final = 60
# What waits, and the work that does it.
_BACKLOGS: Final = {
    "tail_age": ("the tail", "consolidate"),
    "settlement_age": ("settlement", "settle"),
    "outbox_age": ("the outbox", "relay"),
    "holds_overdue_age": ("holds past their deadline", "expire"),
    "imports_age": ("imports", "import"),
}


def drift(samples: Sequence[Sample]) -> Iterator[Finding]:
    """An open incident: what is stored isn't what the history says."""
    for reading in samples[-1].named("open_incidents"):
        for one in reading.detail.get("incidents", ())[:INCIDENTS_TOLD_MAX]:
            account = f"{one['account']} {one['currency']}" if one["account"] else "no account"
            yield Finding(
                "drift",
                "critical",
                account,
                f"incident {one['id']} ({one['rule']}): {one['found']} is stored where the history says "
                f"{one['expected']}, since {one['opened_at']}; {reading.value} open in all",
                "open_incidents at 0, after a round of `lastro reconcile --full` that finds nothing",
                f"find out what happened after the last agreed transfer, then `lastro incidents explain {one['id']} "
                "--explanation …`; where money has to be put right, post it as a transfer with its cause",
                page_of("drift"),
                {"incident": one["id"], "account": one["account"], "currency": one["currency"]},
            )


def invalid_index(samples: Sequence[Sample]) -> Iterator[Finding]:
    """An index exists and doesn't hold; a unique one may let duplicates in."""
    for reading in samples[-1].named("invalid_index"):
        unique = bool(reading.detail["unique"])
        yield Finding(
            "invalid_index",
            "critical" if unique else "warning",
            reading.subject,
            f"{'unique ' if unique else ''}index {reading.subject} of {reading.detail['table']} is {reading.value}: "
            + ("IF NOT EXISTS accepts it, and it refuses no duplicate" if unique else "no query uses it"),
            f'no reading invalid_index of "{reading.subject}"',
            f"REINDEX INDEX CONCURRENTLY {reading.subject}; where that fails there are duplicates: find them first",
            page_of("invalid_index"),
            {"index": reading.subject, "definition": reading.detail["definition"]},
        )


def partition_missing(samples: Sequence[Sample]) -> Iterator[Finding]:
    """The ids run up to the last partition, or went beyond it."""
    for reading in samples[-1].named("partitions_ahead"):
        strays = reading.detail.get("stray_id") is not None
        ahead = _number(reading.value)
        if not strays and ahead >= PARTITION_TRANSFERS:
            continue
        yield Finding(
            "partition_missing",
            "critical" if strays else "warning",
            "transfer",
            (
                f"transfers up to id {reading.detail['stray_id']} went to the default partition"
                if strays
                else f"{ahead:,.0f} ids are left before the last partition ends"
            )
            + f", where {PARTITIONS_AHEAD * PARTITION_TRANSFERS:,} should lie ahead",
            f"partitions_ahead at {PARTITION_TRANSFERS:,} or more, and no stray id",
            "`lastro doctor --apply` or `lastro migrate` now (postings wait while strays are checked), and `lastro work "
            "partitions` always",
            page_of("partition_missing"),
            {"stray_id": reading.detail.get("stray_id")},
        )


def autovacuum_off(samples: Sequence[Sample]) -> Iterator[Finding]:
    """Nobody vacuums: the server's autovacuum is off, or a table's own."""
    sample = samples[-1]
    off = [one.subject for one in sample.named("setting") if one.subject in _VACUUM_NEEDS and one.value == "off"]
    for name in off:
        yield _vacuum_off("the server", f"{name} is off", f"ALTER SYSTEM SET {name} = 'on'; SELECT pg_reload_conf();")
    for reading in sample.named("dead_rows"):
        if not reading.detail["enabled"]:
            yield _vacuum_off(
                reading.subject,
                f"autovacuum_enabled is off for {reading.subject}, which has {reading.value:,} dead rows beside "
                f"{reading.detail['live_rows']:,} live ones",
                f"{reading.detail['alter_it']} RESET (autovacuum_enabled);",
            )


_VACUUM_NEEDS: Final = ("autovacuum", "track_counts")


def _vacuum_off(subject: str, evidence: str, advice: str) -> Finding:
    return Finding(
        "autovacuum_off",
        "warning",
        subject,
        evidence,
        "storage_settings of the table as migrated, and the settings autovacuum and track_counts on",
        advice,
        page_of("autovacuum_off"),
        {"table": subject},
    )


def autovacuum_behind(samples: Sequence[Sample]) -> Iterator[Finding]:
    """Dead rows pile up although autovacuum is on, and no old transaction keeps them."""
    window = Window(samples)
    for reading in window.latest("dead_rows"):
        detail, dead = reading.detail, _number(reading.value)
        threshold, ago_s = detail["threshold"], detail["vacuumed_ago_s"]
        if threshold is None or not detail["enabled"]:
            continue
        if (
            dead < BEHIND_TIMES * threshold
            or dead < detail["live_rows"]
            or (ago_s is not None and ago_s < BEHIND_MIN_S)
        ):
            continue
        yield Finding(
            "autovacuum_behind",
            "warning",
            reading.subject,
            f"{dead:,.0f} dead rows beside {detail['live_rows']:,} live ones, {dead / threshold:.0f} times what calls "
            f"autovacuum; the last one was {'never' if ago_s is None else f'{ago_s:.0f} s ago'}",
            f"dead_rows of {reading.subject} below {BEHIND_TIMES * threshold:,}; or a transaction_age as old as the last "
            "vacuum, which then is what keeps the rows",
            f"VACUUM {reading.subject} now; then autovacuum_naptime = '10s', more autovacuum_max_workers, and a higher "
            "autovacuum_vacuum_cost_limit",
            page_of("autovacuum_behind"),
            {"table": reading.subject},
        )


def backlog_stands(samples: Sequence[Sample]) -> Iterator[Finding]:
    """Work waits, and gets older: nobody does it, or it can't keep up."""
    window = Window(samples)
    for name, (what, work) in _BACKLOGS.items():
        age_s, growth_s = window.last.number(name) or 0.0, window.growth(name)
        if age_s < STANDS_MIN_S or (growth_s is not None and growth_s <= 0):
            continue
        oldest = max(
            (one for one in window.latest(name) if one.subject), key=lambda one: _number(one.value), default=None
        )
        yield Finding(
            "backlog_stands",
            "warning",
            what if oldest is None else f"{what}: {oldest.subject}",
            f"the oldest of it has waited {age_s:.0f} s, and no less than at the window's beginning",
            f"{name} falling, or below {STANDS_MIN_S:.0f} s",
            f"see that `lastro work {work}` runs and what it logs; several may run at once",
            page_of("backlog_stands"),
            {"reading": name, "work": work},
        )


def hot_without_need(samples: Sequence[Sample]) -> Iterator[Finding]:
    """An account is kept hot that hardly anybody credits, and whose debits pay for it."""
    for reading in samples[-1].named("hot_account_credits"):
        came, went = _number(reading.value), reading.detail["debits"]
        if came >= HOT_CREDITS_MIN or went < HOT_CREDITS_MIN:
            continue
        account, currency = reading.detail["account"], reading.detail["currency"]
        yield Finding(
            "hot_without_need",
            "notice",
            reading.subject,
            f"in an hour {came:.0f} entries came to it and {went} went from it: it is kept hot, so each of its "
            "debits sums its tail, and few credits gain by it",
            f'hot_account_credits of "{reading.subject}" at {HOT_CREDITS_MIN} an hour or more',
            f"`lastro keep {account} {currency} direct`",
            page_of("hot_without_need"),
            {"account": account, "currency": currency, "keep": "direct"},
        )


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0.0
