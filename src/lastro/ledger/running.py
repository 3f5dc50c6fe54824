"""
Running what is asked of a blocking ledger: a plan in one transaction, a course in several.
"""

from __future__ import annotations

import time
from typing import Any, Protocol, TypeVar

from lastro.errors import KindNotAllowed, LastroError, PeriodClosed
from lastro.ledger.asking import Ask, called, was_news
from lastro.ledger.operations import Operations
from lastro.model.outbox import Emission
from lastro.plans.course import Act, Course, Pause, Rest
from lastro.plans.plan import Effect, MakePlan
from lastro.plans.versions import check_version
from lastro.schema.migrate import latest
from lastro.telemetry import listening, measure

T = TypeVar("T")


class HeldEngine(Protocol):
    """What a ledger needs of the caller's transaction."""

    dialect: str

    def run(self, make: MakePlan[T], effect: Effect) -> T:
        """Run a plan to its result."""
        ...


class Engine(HeldEngine, Protocol):
    """What a ledger needs of a database."""

    def held(self, connection: object) -> HeldEngine:
        """Return an engine for the transaction that a caller holds."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class Runs:
    """
    Runs plans, on a caller's transaction or on connections of the ledger's own. What a ledger can do builds on it.
    """

    def __init__(self, engine: HeldEngine, operations: Operations, emission: Emission | None = None) -> None:
        self._engine = engine
        self._operations = operations
        self._emission = emission

    def _run(self, ask: Ask[T]) -> T:
        if not listening():
            return self._answered(ask)
        began_s = time.monotonic()
        try:
            return self._answered(ask)
        finally:
            measure("lastro_call_ms", (time.monotonic() - began_s) * 1000, call=called(ask.make))

    def _answered(self, ask: Ask[T]) -> T:
        if not self._operations.schema_checked:
            self._check_schema()
        try:
            return self._engine.run(self._operations.emitting(ask, self._emission).make, ask.effect)
        except (KindNotAllowed, PeriodClosed) as refusal:
            if was_news(refusal):
                self._operations.kinds_known.forget()
            raise

    def _check_schema(self) -> None:
        ledger = self._operations.ledger
        expected = latest(self._engine.dialect, ledger)
        self._engine.run(lambda: check_version(ledger, expected), Effect.READ)
        self._operations.schema_checked = True


class Walks(Runs):
    """
    Runs courses too: several transactions one after the other, which only connections of the ledger's own allow.
    """

    _engine: Engine

    def __init__(self, engine: Engine, operations: Operations, emission: Emission | None = None) -> None:
        super().__init__(engine, operations, emission)

    def _run(self, ask: Ask[T]) -> T:
        try:
            return super()._run(ask)
        except (KindNotAllowed, PeriodClosed) as refusal:
            if not was_news(refusal):
                raise
        return super()._run(ask)

    def _walk(self, course: Course[T], *, migrating: bool = False) -> T:
        if not (migrating or self._operations.schema_checked):
            self._check_schema()
        try:
            going, acted_s = next(course), 0.0
            while True:
                if isinstance(going, Rest):
                    going, acted_s = going.after(acted_s), 0.0
                began = time.monotonic()
                try:
                    answer = self._act(going)
                    acted_s += time.monotonic() - began if isinstance(going, Act) else 0.0
                except LastroError as error:
                    going = course.throw(error)
                else:
                    going = course.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result

    def _act(self, going: Act | Pause) -> Any:
        if isinstance(going, Act):
            return self._engine.run(going.make, going.effect)
        return time.sleep(going.ms / 1000)
