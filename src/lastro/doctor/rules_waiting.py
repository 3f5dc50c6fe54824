"""
Rules on who waits: for one account's row, behind one transaction, for a connection.

Read together: waits for locks that rise with a batch are shared rows; a queue for connections while waits for locks stay
as they are is a pool that is too small; dead rows that rise while neither moves are the oldest transaction's doing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from lastro.doctor.finding import Finding, page_of
from lastro.doctor.on_sessions import IDLE_IN_TRANSACTION, is_unnamed
from lastro.doctor.readings import Reading, Sample
from lastro.doctor.window import Window
from lastro.model.limits import BETS_SETTLED_MAX

# Waits for a row are a mechanism, and not an accident, from here on: in so many of the samples, so many sessions on
# average, and such a share of those that are busy.
SEEN_SHARE_MIN: Final = 0.5
WAITING_MEAN_MIN: Final = 1.0
WAITING_SHARE_MIN: Final = 0.2
NEARLY_ALL_SHARE: Final = 2 / 3
# A transaction that others wait behind for so long isn't a posting. Its age is told at a second's grain by some stores.
BLOCKER_AGE_MIN_S: Final = 1.0
SAME_BEGINNING_S: Final = 1.0
BATCH_ACCOUNTS_MIN: Final = 2
HELD_SAMPLES_MIN: Final = 2
ACCOUNTS_TOLD_MAX: Final = 5
BETWEEN_STATEMENTS_MAX_S: Final = 0.5
IDLE_MIN_S: Final = 2.0
# A transaction at work may take its time, unless dead rows pile up behind it.
OLD_MIN_S: Final = 60.0
OLD_BESIDE_DEAD_ROWS_MIN_S: Final = 10.0
DEAD_ROWS_GROWTH_MIN: Final = 1_000
CONNECTIONS_SHARE_MAX: Final = 0.9
# PgBouncer's own measure of a pool that isn't keeping up.
LONGEST_WAIT_MIN_S: Final = 0.5


def oldest_transaction(samples: Sequence[Sample]) -> Iterator[Finding]:
    """A transaction that idles, or is old while dead rows pile up: vacuum can remove nothing that it may still see."""
    window = Window(samples)
    dead = _dead_rows_growth(window)
    told = [reading for reading in window.latest("transaction_age") if _is_old(reading, dead)]
    if not told:
        return
    oldest = max(told, key=lambda reading: _number(reading.value))
    detail = oldest.detail
    behind = next((one for one in window.latest("blocking") if one.subject == oldest.subject), None)
    waiting = f"; {behind.value:.0f} sessions wait behind it" if behind and behind.value else ""
    growing = f"; dead rows grew by {dead:,.0f} in {window.span_s:.0f} s" if dead >= DEAD_ROWS_GROWTH_MIN else ""
    idle_s = detail.get("state_age_s")
    idling = f", for {idle_s:.1f} s" if idle_s is not None and _idles(detail) else ""
    yield Finding(
        "oldest_transaction",
        "warning",
        oldest.subject,
        f"its transaction is {_number(oldest.value):.1f} s old and {detail.get('state') or 'at work'}{idling}"
        f"{waiting}{growing}; its last statement: {detail.get('query') or 'unknown'}",
        "transaction_age below 2 s for sessions that idle in a transaction, while lock_waits and dead_rows stay as high",
        "end it (SELECT pg_terminate_backend(pid), or COMMIT PREPARED), make the application commit before it waits for "
        "anything, and set idle_in_transaction_session_timeout so that the server ends the next one",
        page_of("oldest_transaction"),
        {"pid": detail.get("pid"), "application": detail.get("application"), "sessions_more": len(told) - 1},
    )


def settlement_batch(samples: Sequence[Sample]) -> Iterator[Finding]:
    """One transaction at work holds the rows of several accounts while others wait for them: its batch is too large."""
    window = Window(samples)
    for subject in window.subjects("blocking"):
        seen = [one for one in _of_one_transaction(samples, subject) if _works(one.detail)]
        if len(seen) < HELD_SAMPLES_MIN:
            continue
        behind = sorted({each for one in seen for each in one.detail["subjects"] if each.startswith("account ")})
        age_s = max(one.detail.get("age_s") or 0.0 for one in seen)
        if len(behind) < BATCH_ACCOUNTS_MIN or age_s < BLOCKER_AGE_MIN_S:
            continue
        most = max(_number(one.value) for one in seen)
        longest_s = max(one.detail.get("longest_s") or 0.0 for one in seen)
        yield Finding(
            "settlement_batch",
            "warning",
            subject,
            f"one transaction, {age_s:.1f} s old, holds rows that up to {most:.0f} sessions wait for, {longest_s:.1f} s "
            f"at the longest: {', '.join(behind[:ACCOUNTS_TOLD_MAX])}{' …' if len(behind) > ACCOUNTS_TOLD_MAX else ''}; "
            f"its statement: {seen[-1].detail.get('query') or 'unknown'}",
            f"blocking by {subject} for less than {BLOCKER_AGE_MIN_S:.0f} s, or for one account only",
            f"commit smaller batches: `lastro work settle` takes {BETS_SETTLED_MAX} bets a transaction; a job of your own "
            "should post in batches of 100 to 1,000 and commit each",
            page_of("settlement_batch"),
            {"pid": seen[-1].detail.get("pid"), "accounts": behind},
        )


def hot_account_direct(samples: Sequence[Sample]) -> Iterator[Finding]:
    """An account that everybody posts to is kept direct: its row is a queue."""
    for subject, waiting, busy, detail in _contended(samples):
        if detail.get("account") is None or detail.get("keeping") != "direct":
            continue
        account, currency = detail["account"], detail["currency"]
        yield Finding(
            "hot_account_direct",
            "warning",
            f"{account} {currency}",
            f"{account} waits {waiting / busy:.0%} of its posts: on average {waiting:.1f} of {busy:.1f} busy sessions "
            f"wait for its row, {detail['longest_s'] * 1000:.0f} ms at the longest; it is kept direct",
            f'lock_waits of "{subject}" below {WAITING_SHARE_MIN:.0%} of sessions_busy',
            f"`lastro keep {account} {currency} hot`: credits then lock nothing, and no posting is refused meanwhile",
            page_of("hot_account_direct"),
            {"account": account, "currency": currency, "keep": "hot"},
        )


def shared_rows(samples: Sequence[Sample]) -> Iterator[Finding]:
    """Sessions queue for rows that they share, and it is no account that could be kept otherwise."""
    for subject, waiting, busy, detail in _contended(samples):
        if detail.get("keeping") == "direct":
            continue
        whose = "debits of it" if detail.get("account") else "sessions"
        yield Finding(
            "shared_rows",
            "warning",
            subject.removeprefix("account "),
            f"on average {waiting:.1f} of {busy:.1f} busy sessions wait for rows of {subject}, "
            f"{detail['longest_s'] * 1000:.0f} ms at the longest",
            f'lock_waits of "{subject}" below {WAITING_SHARE_MIN:.0%} of sessions_busy',
            f"let fewer {whose} queue inside the database: bound them before the transaction opens, keep what the "
            "transaction does while it holds the row short, and take the row last; a counter goes into slices (`bump`)",
            page_of("shared_rows"),
            {"subject": subject},
        )


def pool_starved(samples: Sequence[Sample]) -> Iterator[Finding]:
    """Callers queue for a connection, of a pool of ours or of a PgBouncer."""
    window = Window(samples)
    if not window.is_long:
        return
    busy, waiting = window.mean("sessions_busy"), window.mean("sessions_waiting")
    for name in window.subjects("pool_waiting"):
        queue, seen = window.mean("pool_waiting", name), window.seen("pool_waiting", name)
        longest_s = max((_number(one.value) for one in window.of("pool_longest_wait", name)), default=0.0)
        if (queue < WAITING_MEAN_MIN or seen < SEEN_SHARE_MIN) and longest_s < LONGEST_WAIT_MIN_S:
            continue
        by_locks = busy > 0 and waiting / busy >= SEEN_SHARE_MIN
        detail = next(iter(window.of("pool_waiting", name))).detail
        yield Finding(
            "pool_starved",
            "warning",
            name,
            f"on average {queue:.1f} callers wait for a connection of this pool of {detail.get('size', '?')} "
            f"({detail.get('of')}), while {waiting:.1f} of {busy:.1f} busy sessions wait for a lock"
            + (f"; the longest has waited {longest_s:.1f} s" if longest_s else ""),
            f'pool_waiting of "{name}" at 0 in most samples, or sessions_waiting above half of sessions_busy (then the '
            "pool is only where the queue for a lock shows)",
            "the connections stand in a queue for a lock: heal that first, a larger pool only lengthens it"
            if by_locks
            else "give the pool more connections, or the work shorter transactions; give placement and settlement pools "
            "of their own, so that one can't starve the other",
            page_of("pool_starved"),
            {"pool": name, "by_locks": by_locks},
        )


def connections(samples: Sequence[Sample]) -> Iterator[Finding]:
    """The server has hardly a connection left."""
    for reading in samples[-1].named("connections"):
        most = reading.detail.get("max") or 0
        if most and _number(reading.value) / most >= CONNECTIONS_SHARE_MAX:
            yield Finding(
                "connections",
                "critical",
                "the server",
                f"{reading.value} of {most} connections are taken",
                f"connections below {CONNECTIONS_SHARE_MAX:.0%} of the server's",
                "put a pooler in transaction mode in front, or lower pool_max of the applications; raising "
                "max_connections adds processes, and takes a restart",
                page_of("connections"),
            )


def _contended(samples: Sequence[Sample]) -> Iterator[tuple[str, float, float, dict[str, Any]]]:
    """
    The rows for which sessions queue behind one another, most waited for first: how many wait, of how many that are busy.

    Not those that one transaction holds all the while: that is another mechanism.
    """
    window = Window(samples)
    if not window.is_long:
        return
    busy = max(window.mean("sessions_busy"), 1.0)
    found = []
    for subject, waiting in _waiting_by_subject(window).items():
        seen = sum(count > 0 for count in waiting) / len(samples)
        mean = sum(waiting) / len(samples)
        if mean < WAITING_MEAN_MIN or mean / busy < WAITING_SHARE_MIN or seen < SEEN_SHARE_MIN:
            continue
        readings = list(window.of("lock_waits", subject))
        by_one = _by_one_transaction(samples, subject)
        if by_one >= HELD_SAMPLES_MIN and by_one * 2 > len(readings):
            continue
        longest_s = max(one.detail["longest_s"] for one in readings)
        found.append((subject, mean, busy, {**readings[-1].detail, "longest_s": longest_s}))
    yield from sorted(found, key=lambda each: -each[1])


def _of_one_transaction(samples: Sequence[Sample], session: str) -> list[Reading]:
    """The readings in which a session blocks others by one and the same transaction: the one that did so most often."""
    by_beginning: dict[float, list[Reading]] = {}
    for sample in samples:
        for one in sample.named("blocking"):
            if one.subject == session:
                began_s = sample.at.timestamp() - (one.detail.get("age_s") or 0.0)
                same = next((known for known in by_beginning if abs(known - began_s) < SAME_BEGINNING_S), began_s)
                by_beginning.setdefault(same, []).append(one)
    return max(by_beginning.values(), key=len, default=[])


def _by_one_transaction(samples: Sequence[Sample], subject: str) -> int:
    """
    In how many samples *subject* is waited for behind one and the same transaction. In a queue of postings each holds the
    row for moments, however old its transaction has become by waiting.
    """
    counts: Counter[tuple[str, float]] = Counter()
    for sample in samples:
        for one in sample.named("lock_waits"):
            for who in one.detail["blockers"] if one.subject == subject else ():
                began_s = sample.at.timestamp() - (who["age_s"] or 0.0)
                known = (
                    each for each in counts if each[0] == who["session"] and abs(each[1] - began_s) < SAME_BEGINNING_S
                )
                counts[next(known, (who["session"], began_s))] += 1
    return max(counts.values(), default=0)


def _waiting_by_subject(window: Window) -> dict[str, list[float]]:
    """
    How many wait for what, sample by sample. Waits for rows without a name count for the one that has nearly all waits
    with a name: who waits for a row's newest version is seen behind its holder, and its place isn't.
    """
    counts = {
        subject: [sample.number("lock_waits", subject) or 0.0 for sample in window.samples]
        for subject in window.subjects("lock_waits")
    }
    unnamed = [subject for subject in counts if is_unnamed(subject)]
    known = {subject: sum(waiting) for subject, waiting in counts.items() if subject not in unnamed}
    most = max(known, key=lambda subject: known[subject], default=None)
    if most is not None and unnamed and known[most] >= NEARLY_ALL_SHARE * sum(known.values()):
        for subject in unnamed:
            counts[most] = [one + other for one, other in zip(counts[most], counts.pop(subject), strict=True)]
    return counts


def _is_old(reading: Reading, dead_rows_growth: float) -> bool:
    age_s, detail = _number(reading.value), reading.detail
    if detail.get("kind") == "walsender":
        return False
    if _idles(detail):
        return (detail.get("state_age_s") or 0.0) >= IDLE_MIN_S
    if detail.get("state") == "prepared":
        return age_s >= OLD_BESIDE_DEAD_ROWS_MIN_S
    beside = dead_rows_growth >= DEAD_ROWS_GROWTH_MIN and detail.get("holds_back_transactions") is not None
    return age_s >= (OLD_BESIDE_DEAD_ROWS_MIN_S if beside else OLD_MIN_S)


def _idles(detail: Any) -> bool:
    return str(detail.get("state") or "").startswith(IDLE_IN_TRANSACTION)


def _works(detail: Any) -> bool:
    """Say whether a session is at work: between two statements it idles for moments."""
    return not _idles(detail) or (detail.get("state_age_s") or 0.0) < BETWEEN_STATEMENTS_MAX_S


def _dead_rows_growth(window: Window) -> float:
    return max((window.growth("dead_rows", table) or 0.0 for table in window.subjects("dead_rows")), default=0.0)


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0.0
