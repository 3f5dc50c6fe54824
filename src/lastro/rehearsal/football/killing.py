"""
Killing a settler in the middle of a batch, for certain: its bets are held up until it waits for them, and there it dies.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from lastro.rehearsal.cast import Cast, Member, RehearsalBroken
from lastro.rehearsal.football.script import Round
from lastro.rehearsal.stage import Stage

LOOK_S = 0.02
PATIENCE_S = 60.0

# A settler of these markets has its result in hand by then, and waits for us before it has written anything.
_LOCK_BETS = """
SELECT bet.id
FROM {ledger}.bet AS bet
WHERE bet.id IN (
    SELECT leg.bet_id
    FROM {ledger}.bet_leg AS leg
    INNER JOIN {ledger}.market AS market ON leg.market_id = market.id
    WHERE market.name = ANY(%(markets)s)
)
ORDER BY bet.id
FOR UPDATE
"""

# Who waits for the holder, and who waits behind those: two markets may have a multiple in common.
_HELD_UP = """
WITH first AS (
    SELECT pid FROM pg_catalog.pg_stat_activity WHERE %(holder)s::integer = ANY(pg_blocking_pids(pid))
)
SELECT count(*)
FROM pg_catalog.pg_stat_activity AS activity
WHERE activity.pid IN (SELECT pid FROM first) OR pg_blocking_pids(activity.pid) && ARRAY(SELECT pid FROM first)
"""

_WAITING = """
SELECT DISTINCT market.name
FROM {ledger}.open_result AS open_result
INNER JOIN {ledger}.market AS market ON open_result.market_id = market.id
"""


class Kill(NamedTuple):
    """
    How the settler ended: its exit code, and the markets whose results waited then.
    """

    exit_code: int
    caught: tuple[str, ...]


@contextmanager
def held_up(stage: Stage, one: Round) -> Iterator[int]:
    """
    Hold the bets of a round's matches, for as long as the `with` lasts; give the process id of the backend that does.
    """
    markets = [match.market for match in one.matches]
    with stage.connect() as connection, connection.transaction():
        connection.execute(sql.SQL(_LOCK_BETS).format(**stage.names()), {"markets": markets})
        yield connection.info.backend_pid


def kill_at_work(
    cast: Cast, settlers: Sequence[Member], stage: Stage, connection: psycopg.Connection[Any], *, holder: int
) -> Kill:
    """
    Wait until each of the *settlers* has a market in hand and waits for the *holder*; kill the first of them there.

    Each has a market of its own in hand: a round needs as many matches as there are settlers. The *connection* looks on:
    not the holder's, whose transaction would see the same backends for as long as it lasts.
    """
    gives_up_s = time.monotonic() + PATIENCE_S
    while _count(connection.execute(_HELD_UP, {"holder": holder})) < len(settlers):
        if time.monotonic() > gives_up_s:
            name = settlers[0].name
            raise RehearsalBroken(f"{name} had no bets in hand within {PATIENCE_S:.0f} s", member=name)
        time.sleep(LOOK_S)
    waiting = connection.execute(sql.SQL(_WAITING).format(**stage.names())).fetchall()
    return Kill(cast.kill(settlers[0]), tuple(market for (market,) in waiting))


def _count(cursor: psycopg.Cursor[Any]) -> int:
    row = cursor.fetchone()
    assert row is not None, "an aggregate has one row"
    found: int = row[0]
    return found
