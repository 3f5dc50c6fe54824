"""
The vocabulary of a plan: it yields steps, receives rows, and returns a result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeAlias, TypeVar

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]
# The parts of each name that stands in the place of one of the statement's own: ("own_table", ("billing", "users")).
OwnNames: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
T = TypeVar("T")


class Step(NamedTuple):
    """
    One statement to execute: its name in the SQL catalogue and its parameters.

    A bulk load brings the rows to copy; a migration brings its own text in place of a statement of the catalogue. What is
    `settled` never changes once it is there: any snapshot that has it will do, and nothing need be locked to read it.
    A statement on a table of the application's own brings that table's names as `own`, which the engine quotes; one on
    a merged sheet brings as `its` the sheet's, each of which may be a list. A load that was `written` already as COPY's
    text takes it brings its bytes.
    """

    statement: str
    params: Mapping[str, Any]
    copied: Iterable[Sequence[Any]] | None = None
    script: str | None = None
    settled: bool = False
    own: OwnNames = ()
    its: OwnNames = ()
    written: Iterable[bytes] | None = None


Plan: TypeAlias = Generator[Step, Rows, T]
MakePlan: TypeAlias = Callable[[], Plan[T]]


class Effect(Enum):
    """
    What running a plan a second time would do, for the engine to know which lost answers it may ask for again.
    """

    READ = "reads only"
    GLANCE = "reads only, and what it missed isn't asked for again: the next look will do"
    KEYED = "writes under a key, or to the same end: a second run does no harm"
    ONCE = "writes without a key: a second run would count twice"

    @property
    def reads(self) -> bool:
        """Whether it writes nothing."""
        return self in (Effect.READ, Effect.GLANCE)


# From here on the plan's statements belong to one transaction. On the caller's connection that is the caller's own
# transaction and nothing happens; on a connection of ours the engine begins one and commits it when the plan returns.
# A plan that never asks for it is one statement at a time, each its own transaction.
TOGETHER = Step("together", {})


def step(statement: str, **params: Any) -> Step:
    """
    Name a statement of the catalogue and its parameters.
    """
    return Step(statement, params)
