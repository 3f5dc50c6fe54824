"""
A plan on MySQL or MariaDB as a course of packets to send: in a transaction of our own, or in one that a caller holds.

The engines, blocking and awaiting, only send what a course yields and give it the answers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from lastro.engine.mysql_rows import Answer, as_rows
from lastro.engine.mysql_text import Statements, Text, written, written_each, written_rows
from lastro.errors import InvalidInput, LastroError
from lastro.plans.plan import TOGETHER, Effect, Plan, Step

T = TypeVar("T")
Packets: TypeAlias = Generator[str, Sequence[Answer], T]

# What every connection of ours is set to. The isolation level is one in which each statement sees what is committed;
# the mode is one in which no value is cut to size.
SET_UP = (
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;\n"
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION', SESSION group_concat_max_len = 16777216"
)
BEGIN = "START TRANSACTION"
COMMIT = "COMMIT"
LET_GO = "SET SESSION lock_wait_timeout = DEFAULT;\nDO release_all_locks()"
SAVEPOINT = "SAVEPOINT lastro_call"
ROLLBACK_TO = "ROLLBACK TO SAVEPOINT lastro_call"
RELEASE = "RELEASE SAVEPOINT lastro_call"
GIVE_BACK = (
    "SET SESSION innodb_lock_wait_timeout = coalesce(@lastro_patience, @@innodb_lock_wait_timeout), "
    "@lastro_patience = NULL"
)
# What makes a connection of ours usable again after a plan that failed.
UNDO = f"ROLLBACK;\n{GIVE_BACK};\n{LET_GO}"


@dataclass(slots=True)
class Progress:
    """
    How far a transaction of our own has come. `ambiguous`: a COMMIT was handed over and not answered.

    `spent`: the session is no longer as the next plan expects it, so the connection is closed.
    """

    begun: bool = False
    ambiguous: bool = False
    spent: bool = False
    locks_by_name: bool = False


def own_course(plan: Plan[T], effect: Effect, statements: Statements, progress: Progress) -> Packets[T]:
    """
    Run *plan* on a connection of ours: a plan that may write is one transaction from its first statement on, a step one
    packet, and the COMMIT the last; a plan that reads is one statement at a time.
    """
    result = yield from _own_steps(plan, statements, progress, opens=effect is not Effect.READ)
    if progress.begun:
        progress.ambiguous = True
        yield COMMIT
        progress.begun = progress.ambiguous = False
    if progress.locks_by_name:
        # A migrator found nothing to do: the short waits that it asked for are not for whoever comes next.
        yield f"{GIVE_BACK};\n{LET_GO}"
        progress.locks_by_name = False
    return result


def _own_steps(plan: Plan[T], statements: Statements, progress: Progress, *, opens: bool) -> Packets[T]:
    try:
        step = next(plan)
        while True:
            answers: list[Answer] = []
            if step is TOGETHER:
                opens = opens or not progress.begun
            else:
                for packet in _packets_of(statements, step, progress):
                    opened, opens, progress.begun = opens, False, progress.begun or opens
                    answers += yield f"{BEGIN};\n{packet}" if opened else packet
            step = plan.send(as_rows(answers))
    except StopIteration as done:
        result: T = done.value
        return result


def held_course(plan: Plan[T], effect: Effect, statements: Statements) -> Packets[T]:
    """
    Run *plan* inside the caller's transaction, statement by statement, in a savepoint of its own where it may write: a
    lock that isn't granted in time undoes only a statement here, and a step is done or undone as one.
    """
    writes = effect is not Effect.READ
    if writes:
        yield SAVEPOINT
    try:
        result = yield from _held_steps(plan, statements, writes=writes)
    except GeneratorExit:
        raise
    except BaseException as error:
        if writes:
            yield from _undo(settings_too=not isinstance(error, LastroError))
        raise
    if writes:
        yield RELEASE
    return result


def _held_steps(plan: Plan[T], statements: Statements, *, writes: bool) -> Packets[T]:
    try:
        step = next(plan)
        while True:
            answers: list[Answer] = []
            if step is not TOGETHER:
                for statement in _statements_of(statements, step, held=writes and not step.settled):
                    answers += yield statement
            step = plan.send(as_rows(answers))
    except StopIteration as done:
        result: T = done.value
        return result


def _undo(*, settings_too: bool) -> Packets[None]:
    # A driver's error here says that the transaction is over (a deadlock) or that the connection is gone.
    with suppress(Exception):
        yield ROLLBACK_TO
        yield RELEASE
    if settings_too:
        with suppress(Exception):
            yield GIVE_BACK


def _packets_of(statements: Statements, step: Step, progress: Progress) -> Iterator[str]:
    if step.script is not None:
        progress.spent = True
        yield step.script
        return
    progress.locks_by_name = progress.locks_by_name or statements[step.statement].locks_by_name
    together: list[str] = []
    for text in _said(statements, step):
        if text.held:
            continue
        if step.copied is None and not text.each:
            together.append(written(text.plain, step.params))
            continue
        if together:
            yield ";\n".join(together)
            together.clear()
        yield from _of_many(text, step)
    if together:
        yield ";\n".join(together)


def _statements_of(statements: Statements, step: Step, *, held: bool) -> Iterator[str]:
    assert step.script is None, "a script has its own transactions"
    for text in _said(statements, step):
        if text.held and not held:
            continue
        if step.copied is None and not text.each:
            yield written(text.current if held else text.plain, step.params)
        else:
            yield from _of_many(text, step)


def _of_many(text: Text, step: Step) -> Iterator[str]:
    return written_each(text, step.params) if step.copied is None else written_rows(text.plain, step.copied)


def _said(statements: Statements, step: Step) -> Sequence[Text]:
    said = statements[step.statement]
    if said.refused:
        raise InvalidInput(f"this database can't do that: {said.refused}", argument="ledger")
    return said.texts
