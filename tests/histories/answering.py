"""
Lastro as the naive ledger speaks: the same operations, and answers that can be compared with its answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import aiosqlite
import asyncmy
import psycopg

import lastro
from lastro import AsyncLedger, Captured, Hold, Ledger, Placed, Posted, Released
from lastro.errors import LastroError
from lastro.ledger import HeldLedger
from lastro.testing import assert_balanced
from lastro.testing.clock import Clock
from tests.support.mariadb import arguments_of
from tests.support.stores import connected, store_of

CURRENCY = "BRL"
START = datetime(2026, 1, 1, tzinfo=UTC)
DETAILS = ("needed", "available", "floor", "left", "posted", "index")


class Answering(Protocol):
    """A ledger under test; each method answers as the naive ledger's does, and raises what Lastro raises."""

    def ask(self, operation: str, **arguments: Any) -> Any:
        """Do one operation on connections of the ledger's own."""

    def transaction(self) -> Any:
        """Yield `ask` for one transaction of the caller's, which is committed unless the block raises."""

    def close(self) -> None:
        """Close the connections."""


def answer_of(call: Callable[[], Any]) -> Any:
    """Return what a call answers, a refusal as its code and the numbers it speaks of."""
    try:
        return call()
    except LastroError as error:
        return refusal(error)


def refusal(error: LastroError) -> tuple[str, dict[str, Any]]:
    """Return a refusal as the naive ledger says it."""
    details: dict[str, Any] = {name: error.details[name] for name in DETAILS if name in error.details}
    if "fields" in error.details:
        details["fields"] = sorted(error.details["fields"])
    return error.code, details


class Blocking:
    """The blocking ledger; transactions on a connection of the driver's."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._clock = Clock(START)
        self._ledger = lastro.connect(url, ledger=name, pool_max=2, clock=self._clock)
        self._ledger.migrate()

    @property
    def ledger(self) -> Ledger:
        """The ledger itself."""
        return self._ledger

    def ask(self, operation: str, **arguments: Any) -> Any:
        """Do one operation on connections of the ledger's own, or let time pass."""
        if operation == "pass_hours":
            return _pass(self._clock, **arguments)
        return _do(self._ledger, operation, arguments)

    @contextmanager
    def transaction(self) -> Iterator[Callable[..., Any]]:
        """Yield `ask` for one transaction of the caller's, which is committed unless the block raises."""
        with closing(connected(self._url)) as connection:
            held = self._ledger.within(connection)
            yield lambda operation, **arguments: _do(held, operation, arguments)
            connection.commit()

    def close(self) -> None:
        """Close the connections."""
        self._ledger.close()


class Checked(Blocking):
    """The blocking ledger, whose books are audited at the end of each history."""

    def close(self) -> None:
        """Audit the books, then close the connections."""
        assert_balanced(self.ledger)
        super().close()


class Awaiting:
    """The awaiting ledger, on an event loop that runs for one call at a time."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._runner = asyncio.Runner()
        self._clock = Clock(START)
        self._ledger: AsyncLedger = self._run(lastro.connect_async(url, ledger=name, pool_max=2, clock=self._clock))
        self._run(self._ledger.migrate())

    def ask(self, operation: str, **arguments: Any) -> Any:
        """Do one operation on connections of the ledger's own, or let time pass."""
        if operation == "pass_hours":
            return _pass(self._clock, **arguments)
        return _do(_Run(self._ledger, self._run), operation, arguments)

    @contextmanager
    def transaction(self) -> Iterator[Callable[..., Any]]:
        """Yield `ask` for one transaction of the caller's, which is committed unless the block raises."""
        connection = self._run(_connected_awaiting(self._url))
        held = _Run(self._ledger.within(connection), self._run)
        try:
            yield lambda operation, **arguments: _do(held, operation, arguments)
            self._run(connection.commit())
        finally:
            # asyncmy's close() isn't awaited.
            self._run(getattr(connection, "ensure_closed", connection.close)())

    def close(self) -> None:
        """Close the connections."""
        self._run(self._ledger.close())
        self._runner.close()

    def _run(self, awaited: Any) -> Any:
        return self._runner.run(_awaited(awaited))


class _Run:
    """An awaiting ledger whose methods wait."""

    def __init__(self, ledger: Any, run: Callable[[Any], Any]) -> None:
        self._ledger, self._run = ledger, run

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._ledger, name)
        return lambda *args, **kwargs: self._run(method(*args, **kwargs))


async def _connected_awaiting(url: str) -> Any:
    match store_of(url):
        case "sqlite":
            return await aiosqlite.connect(url.removeprefix("sqlite:///"))
        case "mariadb":
            return await asyncmy.connect(**arguments_of(url), autocommit=False)
        case _:
            return await psycopg.AsyncConnection.connect(url)


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def _do(ledger: Ledger | HeldLedger | _Run | Any, operation: str, arguments: dict[str, Any]) -> Any:
    return _OPERATIONS[operation](ledger, **arguments)


def _open_account(ledger: Any, name: str, keeping: str, floor: int | None) -> str:
    ledger.open_account(name, CURRENCY, keeping=keeping, floor=floor)
    return "opened"


def _post(ledger: Any, **wanted: Any) -> str:
    return _word(ledger.post(**_spelled(wanted)))


def _post_many(ledger: Any, transfers: list[dict[str, Any]], partial: bool) -> list[Any]:
    outcomes = ledger.post_many([_spelled(wanted) for wanted in transfers], partial=partial)
    return [_word(outcome) if isinstance(outcome, Posted) else refusal(outcome) for outcome in outcomes]


def _reverse(ledger: Any, key: str, new_key: str, amount: int | None) -> str:
    return _word(ledger.reverse(key, new_key, amount=amount))


def _keep(ledger: Any, name: str, keeping: str) -> str:
    kept: str = ledger.keep(name, CURRENCY, keeping).keeping
    return kept


def _close_account(ledger: Any, name: str) -> str:
    assert ledger.close_account(name, CURRENCY).closed_at is not None
    return "closed"


def _place_hold(ledger: Any, *, key: str, account: str, amount: int, deadline: int, overdue: str = "expire") -> str:
    placed: Placed = ledger.place_hold(
        key=key,
        account=account,
        currency=CURRENCY,
        amount=amount,
        owner="histories",
        expires_at=START + timedelta(hours=deadline),
        overdue=overdue,
    )
    return "replayed" if placed.replayed else "created"


def _capture(ledger: Any, *, key: str, hold: str, credit: str, amount: int | None, final: bool) -> tuple[str, int, int]:
    captured: Captured = ledger.capture(key=key, hold=hold, credit=credit, kind="capture", amount=amount, final=final)
    return ("replayed" if captured.replayed else "created", captured.transfer.amount, captured.released)


def _release(ledger: Any, key: str, hold: str, amount: int | None) -> tuple[str, int]:
    released: Released = ledger.release(key=key, hold=hold, amount=amount)
    return ("replayed" if released.replayed else "created", released.amount)


def _expire_holds(ledger: Any) -> int:
    expired: int = ledger.expire_holds().holds
    return expired


def _overdue_holds(ledger: Any) -> list[str]:
    return sorted(hold.key for hold in ledger.overdue_holds(limit=1_000))


def _hold(ledger: Any, key: str) -> tuple[str, int, int, int, int]:
    hold: Hold = ledger.hold(key)
    return (hold.state, hold.captured, hold.released, hold.expired, hold.left)


def _held(ledger: Any, name: str) -> int:
    held: int = ledger.balance(name, CURRENCY).held
    return held


def _pass(clock: Clock, hours: int) -> None:
    clock.advance(timedelta(hours=hours))


def _bump(ledger: Any, counter: str, change: int) -> None:
    ledger.bump(counter, change)


def _consolidate(ledger: Any) -> None:
    ledger.consolidate()


def _balance(ledger: Any, name: str) -> int:
    balance = ledger.balance(name, CURRENCY)
    assert balance.available == balance.posted - balance.held
    posted: int = balance.posted
    return posted


def _entries(ledger: Any, name: str) -> list[tuple[str, int]]:
    return [(entry.key, entry.signed) for entry in ledger.entries(name, CURRENCY, limit=1_000)]


def _count(ledger: Any, counter: str) -> int:
    value: int = ledger.count(counter)
    return value


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "open_account": _open_account,
    "post": _post,
    "post_many": _post_many,
    "reverse": _reverse,
    "keep": _keep,
    "close_account": _close_account,
    "place_hold": _place_hold,
    "capture": _capture,
    "release": _release,
    "expire_holds": _expire_holds,
    "overdue_holds": _overdue_holds,
    "hold": _hold,
    "held": _held,
    "bump": _bump,
    "consolidate": _consolidate,
    "balance": _balance,
    "entries": _entries,
    "count": _count,
}


def _spelled(wanted: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "test", "currency": CURRENCY} | wanted


def _word(posted: Posted) -> str:
    return "replayed" if posted.replayed else "created"
