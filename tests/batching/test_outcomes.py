"""What each caller of a batch hears, with no ledger at all: the settling is fed with answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from lastro import ConnectionLost, Fault, InvalidInput, LastroError, OutcomeUnknown, Posted, Refusal, SchemaOutdated
from lastro.batching.outcomes import Outcome, settle
from lastro.model.transfer import Intent, intent
from tests.batching.gated import order, posted

Post = Callable[[Sequence[Intent]], list[Posted | Refusal]]


def settled(wanted: Sequence[Intent], post: Post) -> tuple[list[Outcome], list[list[str]]]:
    """Run a settling on a `post`; return its outcomes and the batches it asked for."""
    asked: list[list[str]] = []
    settling = settle(wanted)
    try:
        batch = next(settling)
        while True:
            asked.append([one.key for one in batch])
            try:
                answer = post(batch)
            except Exception as error:  # noqa: BLE001
                batch = settling.throw(error)
            else:
                batch = settling.send(answer)
    except StopIteration as done:
        return done.value, asked


def wants(count: int) -> list[Intent]:
    """Intents with keys "0" … in order."""
    return [intent(**order(str(number))) for number in range(count)]


def key_of(outcome: Outcome) -> str:
    """The key of what was posted."""
    assert isinstance(outcome, Posted)
    return outcome.transfer.key


@pytest.mark.parametrize("poison", [0, 3, 6])
@pytest.mark.parametrize("error", [InvalidInput("bad row"), LastroError("unforeseen"), ValueError("a bug")])
def test_poison_stands_alone(poison: int, error: Exception) -> None:
    """An error that nobody foresaw reaches the one whose transfer causes it; all others are posted, in order."""

    def post(batch: Sequence[Intent]) -> list[Posted | Refusal]:
        if any(one.key == str(poison) for one in batch):
            raise error
        return [posted(one) for one in batch]

    outcomes, asked = settled(wants(7), post)
    assert type(outcomes[poison]) is type(error)
    assert [key_of(outcome) for index, outcome in enumerate(outcomes) if index != poison] == [
        str(number) for number in range(7) if number != poison
    ]
    assert len(asked) <= 7, "the poison was found by halves, not one by one"


@pytest.mark.parametrize(
    "error", [ConnectionLost("gone"), OutcomeUnknown("no answer"), SchemaOutdated("no tables"), Refusal("no right")]
)
def test_a_fault_is_everybodys_and_nobodys_else(error: LastroError) -> None:
    """A fault reaches every caller, is not tried apart, and each caller gets an error object of its own."""

    def post(batch: Sequence[Intent]) -> list[Posted | Refusal]:
        raise error from OSError("socket")

    outcomes, asked = settled(wants(3), post)
    assert len(asked) == 1
    assert [type(outcome) for outcome in outcomes] == [type(error)] * 3
    assert len({id(outcome) for outcome in outcomes}) == 3
    for outcome in outcomes:
        assert isinstance(outcome, LastroError)
        assert outcome.__traceback__ is None
        assert isinstance(outcome.__cause__, OSError)
        assert str(outcome) == str(error)


def test_a_fault_in_one_half_leaves_the_other_half_its_outcomes() -> None:
    """While a poisoned batch is taken apart, a fault strikes the part under way only."""

    def post(batch: Sequence[Intent]) -> list[Posted | Refusal]:
        keys = [one.key for one in batch]
        if keys == ["0", "1"]:
            raise ConnectionLost("gone")
        if "3" in keys:
            raise InvalidInput("bad row")
        return [posted(one) for one in batch]

    outcomes, _ = settled(wants(4), post)
    assert isinstance(outcomes[0], Fault)
    assert isinstance(outcomes[1], Fault)
    assert key_of(outcomes[2]) == "2"
    assert isinstance(outcomes[3], InvalidInput)


def test_one_refusal_for_two_callers_becomes_two_errors() -> None:
    """The ledger may answer two transfers with one refusal object; two threads must not raise the same one."""
    refusal = Refusal("no", account="x")

    def post(batch: Sequence[Intent]) -> list[Posted | Refusal]:
        return [refusal, refusal]

    outcomes, _ = settled(wants(2), post)
    assert outcomes[0] is not outcomes[1]
    assert all(isinstance(outcome, Refusal) and outcome.details == {"account": "x"} for outcome in outcomes)
