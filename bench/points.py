"""
Points: an earning beside a member's long history, and the expiry of many lots while members go on spending.
"""

from __future__ import annotations

import threading
import time
from statistics import median

import lastro
from bench.books import Books, books
from bench.figures import Run
from bench.loads import percentile
from lastro.model.limits import BATCH_TRANSFERS_MAX
from lastro.points.expiring import LOTS_EXPIRED_MAX

CURRENCY = "PTS"
REWARD = "reward:mug"
ISSUED = "points:issued"
# Beyond what any run earns in a week, so that every earning takes room under the cap and none is refused.
CAP = 2**60
LOTS_A_MEMBER = 100
WARM_UP = 10


def measure(run: Run) -> None:
    """Measure both on ledgers of their own."""
    with books(run.server, f"bench_points_{run.flush.lower()}") as made:
        _prepare(made)
        _earn(run, made)
    with books(run.server, f"bench_expiry_{run.flush.lower()}") as made:
        _prepare(made)
        _expire(run, made)


def _prepare(made: Books) -> None:
    points = made.ledger.points
    made.ledger.open_account(REWARD, CURRENCY, keeping="hot", floor=None)
    points.define_rule("game", activity="game", points=1, currency=CURRENCY, cap=CAP, period="week", lot_days=30)


def _earn(run: Run, made: Books) -> None:
    """Earn under a weekly cap beside 10, 1,000, … earlier movements, all of them in that week."""
    p50s: dict[int, float] = {}
    for movements in run.scale.movements:
        member = f"member:{movements}"
        made.ledger.points.earn(f"first:{member}", activity="game", member=member)
        _fill(made, [member], movements, due=False)
        made.execute("VACUUM ANALYZE activity, earning, lot, open_lot, allowance, transfer")
        times_ms = []
        for number in range(WARM_UP + run.scale.reads):
            began = time.perf_counter()
            made.ledger.points.earn(f"earn:{member}:{number}", activity="game", member=member)
            times_ms.append((time.perf_counter() - began) * 1000)
        p50s[movements] = median(times_ms[WARM_UP:])
        run.note(
            f"points.earn.{movements}", p50_ms=p50s[movements], p99_ms=percentile(sorted(times_ms[WARM_UP:]), 0.99)
        )
    fewest, most = min(p50s), max(p50s)
    run.note("points.earn.flat", times=p50s[most] / p50s[fewest], fewest=fewest, most=most)


def _expire(run: Run, made: Books) -> None:
    """Expire many lots in batches while somebody spends, one member after the other."""
    members = [f"member:{number}" for number in range(max(1, run.scale.due_lots // LOTS_A_MEMBER))]
    for member in members:
        made.ledger.points.earn(f"first:{member}", activity="game", member=member, units=1_000)
    _fill(made, members, LOTS_A_MEMBER, due=True)
    made.execute("VACUUM ANALYZE lot, open_lot, transfer")
    due = int(made.value("SELECT count(*) FROM open_lot WHERE expires_at <= now()"))
    batches_ms: list[float] = []
    began = last = time.perf_counter()

    def after_batch(_: int) -> bool:
        nonlocal last
        now = time.perf_counter()
        batches_ms.append((now - last) * 1000)
        last = now
        return True

    expired = 0
    with _Spending(made, members) as spending:
        while done := made.ledger.points.expire(after_batch=after_batch).lots:
            expired += done
        elapsed = time.perf_counter() - began
    if expired != due:
        raise RuntimeError(f"{due} lots were due, {expired} have expired")
    spend_p50_ms, spend_max_ms = percentile(spending.times_ms, 0.5), spending.times_ms[-1]
    run.note(
        "points.expiry",
        lots=expired,
        lots_a_batch_max=LOTS_EXPIRED_MAX,
        lots_per_s=expired / elapsed,
        batch_p50_ms=median(batches_ms),
        batch_max_ms=max(batches_ms),
        spends=len(spending.times_ms),
        spend_p50_ms=spend_p50_ms,
        spend_max_ms=spend_max_ms,
        # Who waits no longer than the longest batch takes was held up by one batch at most; a spend itself takes time too.
        wait_over_batch=(spend_max_ms - spend_p50_ms) / max(batches_ms),
    )


def _fill(made: Books, members: list[str], movements: int, *, due: bool) -> None:
    """Give each member so many earlier earnings of 1 point with all that hangs on them, of this week, quickly."""
    keys = [(f"filled:{member}:{number}", member) for member in members for number in range(movements)]
    for start in range(0, len(keys), BATCH_TRANSFERS_MAX):
        made.ledger.post_many(
            [
                {"key": key, "kind": "earn", "debit": ISSUED, "credit": member, "amount": 1, "currency": CURRENCY}
                for key, member in keys[start : start + BATCH_TRANSFERS_MAX]
            ]
        )
    expires_at = "now() - interval '1 hour'" if due else "now() + interval '30 days'"
    wanted = "transfer.key LIKE 'filled:%' AND NOT EXISTS (SELECT FROM lot WHERE lot.transfer_id = transfer.id)"
    made.execute(
        f"""
        INSERT INTO activity (key, member_id, kind, units, occurred_at, recorded_at)
        SELECT transfer.key, points_member.id, 'game', 1, transfer.occurred_at, transfer.recorded_at
        FROM transfer
        INNER JOIN account ON transfer.credit_id = account.id
        INNER JOIN points_member ON account.name = points_member.name
        WHERE {wanted};
        INSERT INTO earning (activity_id, rule, number, transfer_id, version, amount)
        SELECT activity.id, 'game', 1, transfer.id, 1, transfer.amount
        FROM transfer INNER JOIN activity ON transfer.key = activity.key
        WHERE {wanted};
        WITH brought AS (
            INSERT INTO lot (transfer_id, part, account_id, amount, earned_at, expires_at)
            SELECT transfer.id, 1, transfer.credit_id, transfer.amount, transfer.occurred_at, {expires_at}
            FROM transfer WHERE {wanted}
            RETURNING transfer_id, part, account_id, amount, earned_at, expires_at
        )
        INSERT INTO open_lot (account_id, transfer_id, part, left_over, earned_at, expires_at)
        SELECT account_id, transfer_id, part, amount, earned_at, expires_at FROM brought;
        """
    )


class _Spending:
    """Somebody who spends 1 point of one member after the other, and notes how long each spend took."""

    def __init__(self, made: Books, members: list[str]) -> None:
        self.times_ms: list[float] = []
        self._url, self._name, self._members = made.server.url, made.name, members
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with lastro.connect(self._url, ledger=self._name, pool_max=1) as ledger:
            number = 0
            while not self._stop.is_set() or not self.times_ms:
                member = self._members[number % len(self._members)]
                began = time.perf_counter()
                ledger.points.spend(key=f"spend:{number}", member=member, amount=1, currency=CURRENCY, reward=REWARD)
                self.times_ms.append((time.perf_counter() - began) * 1000)
                number += 1

    def __enter__(self) -> _Spending:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.times_ms.sort()
