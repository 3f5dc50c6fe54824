"""What a posting sends to MySQL and MariaDB, and what becomes of the one error that means "nothing was written"."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lastro.engine.mysql_courses import ROLLBACK, ROLLBACK_TO, SAVEPOINT, Packets, Progress, held_course, own_course
from lastro.engine.mysql_errors import NULL_REFUSED
from lastro.engine.mysql_text import BEGIN, COMMIT, statements_of
from lastro.plans.plan import TOGETHER, Effect, Plan, Rows, Step

DEADLOCK, GONE = 1213, 2013
PARAMS = dict.fromkeys(
    ("cause", "reverses", "source", "actor", "occurred_at", "metadata", "now"), None
) | {
    "key": "k", "kind": "sale", "debit_id": 1, "credit_id": 2, "amount": 3, "unlocked_base_max": 4,
    "lock_timeout": "4000ms", "debit_keeping": "summed", "credit_keeping": "hot",
}  # fmt: skip


class DriversError(Exception):
    """As a driver raises it: the server's number first."""


def posting(*, together: bool) -> Plan[Rows]:
    """A plan of one posting."""
    if together:
        yield TOGETHER
    return (yield Step("posting.post_to_hot", PARAMS))


def own(progress: Progress, *, together: bool = False) -> Packets[Rows]:
    """The course of such a plan on a connection of ours."""
    return own_course(posting(together=together), Effect.KEYED, statements_of("lastro"), progress)


def result_of(send: Callable[[], object]) -> object:
    """What the course returns when it ends with this."""
    with pytest.raises(StopIteration) as ended:
        send()
    return ended.value.value


def test_a_posting_is_one_packet() -> None:
    """Begin, write and commit go together, and nothing that only a caller's transaction needs."""
    progress = Progress()
    course = own(progress)
    packet = next(course)
    assert packet.startswith(f"{BEGIN};")
    assert packet.endswith(f";\n{COMMIT}")
    assert "lock_wait_timeout" not in packet
    assert progress.ambiguous  # until the answer is there
    assert result_of(lambda: course.send([])) == []
    assert not progress.ambiguous


def test_a_refused_null_is_no_row() -> None:
    """The transaction is undone, and the plan hears that nothing was written."""
    progress = Progress()
    course = own(progress)
    next(course)
    assert course.throw(DriversError(NULL_REFUSED, "Column 'id' cannot be null")) == ROLLBACK
    assert result_of(lambda: course.send([])) == []
    assert not progress.begun


@pytest.mark.parametrize(("number", "ambiguous"), [(DEADLOCK, False), (GONE, True)])
def test_other_errors_are_raised(number: int, *, ambiguous: bool) -> None:
    """A server that says what is wrong hasn't committed; of a broken connection nobody knows."""
    progress = Progress()
    course = own(progress)
    next(course)
    with pytest.raises(DriversError):
        course.throw(DriversError(number, "what it was"))
    assert progress.ambiguous is ambiguous


def test_in_a_longer_transaction_only_the_posting_is_undone() -> None:
    """Where a plan asked for one transaction, a refused NULL takes back what the step wrote and nothing else."""
    course = own(Progress(), together=True)
    assert next(course) == f"{BEGIN};\n{SAVEPOINT}"
    assert COMMIT not in course.send([])
    assert course.throw(DriversError(NULL_REFUSED, "Column 'id' cannot be null")) == ROLLBACK_TO
    assert course.send([]) == COMMIT
    assert result_of(lambda: course.send([])) == []


def test_in_a_callers_transaction_only_the_call_is_undone() -> None:
    """The caller's transaction stays, with its work."""
    course = held_course(posting(together=False), Effect.KEYED, statements_of("lastro"))
    assert next(course) == SAVEPOINT
    sent = course.send([])
    while "INSERT INTO lastro.transfer (" not in sent:
        sent = course.send([])
    assert course.throw(DriversError(NULL_REFUSED, "Column 'id' cannot be null")) == ROLLBACK_TO


def test_only_hot_sides_get_a_row_in_the_tail() -> None:
    """What a side that isn't kept hot doesn't need isn't sent."""
    said = statements_of("lastro")["posting.post_unlocked"]
    assert "lastro.tail" not in said.alone(PARAMS | {"credit_keeping": "summed"})
    assert said.alone(PARAMS | {"debit_keeping": "hot"}).count("INSERT INTO lastro.tail") == 2
