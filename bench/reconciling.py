"""
Reconciliation: accounts a second that are passed over and compared as fast as it goes, its memory, and posts beside it
when it rests between batches, as it does where nobody says otherwise.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench import pgbench, scripts
from bench.books import CURRENCY, SPREAD_ACCOUNTS, Books, books
from bench.figures import Run, in_process
from bench.loads import Load
from bench.pgbench import Script

CLIENTS = 8
# Rounds that let what the filling moved come to rest, before a round that finds nothing moved is timed.
RESTING_ROUNDS = 2


def measure(run: Run) -> None:
    """As many accounts as the scale says, kept direct, each with one entry, then with one more; and the posts' p99."""
    with books(run.server, f"bench_reconciling_{run.flush.lower()}") as made:
        accounts = run.scale.reconciled_accounts
        made.execute(
            f"""
            INSERT INTO account (id, name, currency, opened_at)
            SELECT n, 'more:' || n, '{CURRENCY}', now()
            FROM generate_series({SPREAD_ACCOUNTS + 1}, {accounts}) AS n;
            INSERT INTO base (account_id, keeping, floor, changed_at)
            SELECT n, 'direct', 0, now() FROM generate_series({SPREAD_ACCOUNTS + 1}, {accounts}) AS n;
            """
        )
        _credit_all(made, accounts, before=0)
        first = _rounds(made, rounds=1, rest=0)[0]
        run.note("reconciling.first", accounts=accounts, per_s=first["accounts"] / first["seconds"])
        still = _rounds(made, rounds=RESTING_ROUNDS, rest=0)[-1]
        _must_be(still, accounts=0)
        rested = _rounds(made, rounds=1)[0]
        _must_be(rested, accounts=0)
        run.note(
            "reconciling.skip",
            accounts=accounts,
            per_s=still["skipped"] / still["seconds"],
            rested_per_s=rested["skipped"] / rested["seconds"],
        )
        _credit_all(made, accounts, before=1)
        moved = _rounds(made, rounds=1, rest=0)[0]
        _must_be(moved, accounts=accounts)
        run.note(
            "reconciling.moved",
            accounts=accounts,
            per_s=moved["accounts"] / moved["seconds"],
            most_mib=moved["most_kib"] / 1024,
            growth=moved["most_kib"] / moved["first_kib"] - 1,
        )
        _beside_posts(run, made)


def _credit_all(made: Books, accounts: int, *, before: int) -> None:
    # Not by postings, of which there would be a million.
    made.execute(
        f"""
        WITH named AS (
            INSERT INTO transfer_key (key, transfer_id, debit_id)
            SELECT 'credit:{before}:' || n, nextval('transfer_id'), {made.account_id("world")}
            FROM generate_series(1, {accounts}) AS n
            RETURNING key, transfer_id, debit_id, split_part(key, ':', 3)::bigint AS account_id
        ),

        written AS (
            INSERT INTO transfer (
                id, debit_id, credit_id, amount, credit_before, credit_after, occurred_at, recorded_at, key, kind
            )
            SELECT transfer_id, debit_id, account_id, 1, {before}, {before} + 1, now(), now(), key, 'pay' FROM named
        )

        UPDATE base SET amount = {before} + 1, changed_at = now() FROM named WHERE base.account_id = named.account_id;
        ANALYZE;
        """
    )


def _rounds(made: Books, **order: Any) -> list[dict[str, Any]]:
    answer = in_process("bench.reconciler", {"url": made.server.url, "ledger": made.name, **order})
    rounds: list[dict[str, Any]] = answer["rounds"]
    if any(each["open_incidents"] for each in rounds):
        raise RuntimeError("drift was found where there is none")
    return rounds


def _must_be(done: dict[str, Any], *, accounts: int) -> None:
    if done["accounts"] != accounts:
        raise RuntimeError(f"{done['accounts']} accounts were compared, and {accounts} moved")


def _beside_posts(run: Run, made: Books) -> None:
    script = scripts.post_credit_spread(made.name, world_id=made.account_id("world"), accounts=SPREAD_ACCOUNTS)
    alone, beside = _post(run, script), _post_beside(run, made, script)
    run.note(
        "reconciling.posts",
        alone_per_s=alone.per_s,
        beside_per_s=beside.per_s,
        alone_p99_ms=alone.p99_ms,
        beside_p99_ms=beside.p99_ms,
        p99_ratio=beside.p99_ms / alone.p99_ms,
    )


def _post(run: Run, script: Script) -> Load:
    return pgbench.run(run.server.embedded, script, clients=CLIENTS, seconds=run.scale.subject_s, seed=run.next_seed())


def _post_beside(run: Run, made: Books, script: Script) -> Load:
    # Round after round without a pause: the worker leaves ten minutes between two.
    with ThreadPoolExecutor(1) as pool:
        going_on = pool.submit(_rounds, made, seconds=run.scale.subject_s)
        load = _post(run, script)
        going_on.result()
    return load
