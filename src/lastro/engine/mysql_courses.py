"""
A plan on MySQL or MariaDB as a course of packets to send: in a transaction of our own, or in one that a caller holds.

The engines, blocking and awaiting, only send what a course yields and give it the answers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from lastro.engine.mysql_errors import NULL_REFUSED, is_broken, number_of
from lastro.engine.mysql_rows import Answer, as_rows
from lastro.engine.mysql_text import BEGIN, COMMIT, DIALECT, Statements, Text, written, written_each, written_rows
from lastro.errors import InvalidInput, LastroError
from lastro.plans.plan import TOGETHER, Effect, Plan, Step
from lastro.sql.catalogue import with_names

T = TypeVar("T")
Packets: TypeAlias = Generator[str, Sequence[Answer], T]

MS_IN_A_SECOND = 1_000
# What every connection of ours is set to. The isolation level is one in which each statement sees what is committed;
# the mode is one in which no value is cut to size.
_SET_UP = (
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;\n"
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION', SESSION group_concat_max_len = 16777216, "
    "SESSION innodb_lock_wait_timeout = least(@@innodb_lock_wait_timeout, {seconds})"
)
ROLLBACK = "ROLLBACK"
LET_GO = "SET SESSION lock_wait_timeout = DEFAULT;\nDO release_all_locks()"
SAVEPOINT = "SAVEPOINT lastro_call"
ROLLBACK_TO = "ROLLBACK TO SAVEPOINT lastro_call"
RELEASE = "RELEASE SAVEPOINT lastro_call"
# Where a plan has a savepoint of its own, going back to the call's would take that one away, and what it wrote.
PLANS_SAVEPOINT = "session.savepoint"
SAVEPOINT_OF_STEP = "SAVEPOINT lastro_step"
ROLLBACK_STEP = "ROLLBACK TO SAVEPOINT lastro_step"
GIVE_BACK = (
    "SET SESSION innodb_lock_wait_timeout = CAST(coalesce(@lastro_patience, @@innodb_lock_wait_timeout) AS unsigned), "
    "@lastro_patience = NULL"
)
# What makes a connection of ours usable again after a plan that failed.
UNDO = f"{ROLLBACK};\n{GIVE_BACK};\n{LET_GO}"


def set_up(lock_timeout_ms: int) -> str:
    """
    Return what makes a connection ours. The server counts the wait for a lock in whole seconds.
    """
    return _SET_UP.format(seconds=-(-lock_timeout_ms // MS_IN_A_SECOND))


@dataclass(slots=True)
class Progress:
    """
    How far a transaction of our own has come. `opens`: the next packet begins it. `ambiguous`: a COMMIT was handed over
    and not answered.

    `spent`: the session is no longer as the next plan expects it, so the connection is closed.
    """

    opens: bool = False
    begun: bool = False
    ambiguous: bool = False
    spent: bool = False
    locks_by_name: bool = False


def own_course(plan: Plan[T], effect: Effect, statements: Statements, progress: Progress) -> Packets[T]:
    """
    Run *plan* on a connection of ours: a plan that may write is one transaction from its first statement on, a step one
    packet, and the COMMIT the last; a plan that reads is one statement at a time.
    """
    progress.opens = not effect.reads
    result = yield from _own_steps(plan, statements, progress)
    if progress.begun:
        progress.ambiguous = True
        yield COMMIT
        progress.begun = progress.ambiguous = False
    if progress.locks_by_name:
        # A migrator found nothing to do: the short waits that it asked for are not for whoever comes next.
        yield f"{GIVE_BACK};\n{LET_GO}"
        progress.locks_by_name = False
    return result


def _own_steps(plan: Plan[T], statements: Statements, progress: Progress) -> Packets[T]:
    together = False
    try:
        step = next(plan)
        while True:
            answers: Sequence[Answer] = []
            if step is TOGETHER:
                together, progress.opens = True, progress.opens or not progress.begun
            elif step.script is not None or not statements[step.statement].or_none:
                answers = yield from _sent(_packets_of(statements, step, progress), progress)
            elif together:
                yield from _sent([SAVEPOINT], progress)
                answers = yield from _or_none(_sent(_packets_of(statements, step, progress), progress), ROLLBACK_TO)
            else:
                answers = yield from _or_none(_alone(statements[step.statement].alone(step.params), progress), ROLLBACK)
                progress.begun, progress.opens = False, True
            step = plan.send(as_rows(answers))
    except StopIteration as done:
        result: T = done.value
        return result


def _sent(packets: Iterable[str], progress: Progress) -> Packets[Sequence[Answer]]:
    answers: list[Answer] = []
    for packet in packets:
        opened, progress.opens, progress.begun = progress.opens, False, progress.begun or progress.opens
        answers += yield f"{BEGIN};\n{packet}" if opened else packet
    return answers


def _alone(packet: str, progress: Progress) -> Packets[Sequence[Answer]]:
    # Whatever reads of the same plan came before, their transaction ends where this one begins.
    progress.begun = progress.ambiguous = True
    try:
        answers = yield packet
    except Exception as error:
        # A server that says what is wrong hasn't come to the COMMIT, which is the packet's last word.
        progress.ambiguous = is_broken(error)
        raise
    progress.ambiguous = False
    return answers


def _or_none(sending: Packets[Sequence[Answer]], undo: str) -> Packets[Sequence[Answer]]:
    try:
        return (yield from sending)
    except Exception as error:
        if number_of(error) != NULL_REFUSED:
            raise
    yield undo
    return []


def held_course(plan: Plan[T], effect: Effect, statements: Statements) -> Packets[T]:
    """
    Run *plan* inside the caller's transaction, statement by statement, in a savepoint of its own where it may write: a
    lock that isn't granted in time undoes only a statement here, and a step is done or undone as one.
    """
    writes = not effect.reads
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
    undo, nested = ROLLBACK_TO, False
    try:
        step = next(plan)
        while True:
            answers: Sequence[Answer] = []
            if step is not TOGETHER:
                sending = _each_sent(_statements_of(statements, step, held=writes and not step.settled))
                if writes and statements[step.statement].or_none:
                    if nested:
                        yield SAVEPOINT_OF_STEP
                        undo = ROLLBACK_STEP
                    sending = _or_none(sending, undo)
                # A plan without a savepoint of its own has written nothing before such a step, and the call's will do.
                nested = nested or step.statement == PLANS_SAVEPOINT
                answers = yield from sending
            step = plan.send(as_rows(answers))
    except StopIteration as done:
        result: T = done.value
        return result


def _each_sent(statements: Iterable[str]) -> Packets[Sequence[Answer]]:
    answers: list[Answer] = []
    for statement in statements:
        answers += yield statement
    return answers


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
        if text.held or not text.is_for(step.params):
            continue
        if step.copied is None and not text.each:
            together.append(_written(text.plain, step))
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
        if (text.held and not held) or not text.is_for(step.params):
            continue
        if step.copied is None and not text.each:
            yield _written(text.current if held else text.plain, step)
        else:
            yield from _of_many(text, step)


def _written(template: str, step: Step) -> str:
    # The names last: a parameter's text is digits by then and can't be taken for one.
    return with_names(written(template, step.params), step.own, dialect=DIALECT)


def _of_many(text: Text, step: Step) -> Iterator[str]:
    return written_each(text, step.params) if step.copied is None else written_rows(text.plain, step.copied)


def _said(statements: Statements, step: Step) -> Sequence[Text]:
    said = statements[step.statement]
    if said.refused:
        raise InvalidInput(f"this database can't do that: {said.refused}", argument="ledger")
    return said.texts
