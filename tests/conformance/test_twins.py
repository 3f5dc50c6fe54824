"""Ledger and AsyncLedger are twins: equal names, signatures, defaults and words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import lastro
from lastro.batching import AsyncBatcher, Batcher
from lastro.ledger import AsyncHeldLedger, AsyncLedger, HeldLedger, Ledger
from lastro.ledger.adopting_awaiting import AsyncAdopting, AsyncHeldAdopting
from lastro.ledger.adopting_blocking import Adopting, HeldAdopting
from lastro.ledger.betting_awaiting import AsyncBetting, AsyncHeldBetting
from lastro.ledger.betting_blocking import Betting, HeldBetting
from lastro.ledger.matching_awaiting import AsyncMatching
from lastro.ledger.matching_blocking import Matching
from lastro.ledger.outbox import HeldOutbox, Outbox
from lastro.ledger.outbox_async import AsyncHeldOutbox, AsyncOutbox
from lastro.ledger.points_awaiting import AsyncHeldPoints, AsyncPoints
from lastro.ledger.points_blocking import HeldPoints, Points

TWINS: list[tuple[Any, Any]] = [(HeldLedger, AsyncHeldLedger), (Ledger, AsyncLedger), (Batcher, AsyncBatcher)]
TWINS += [(HeldAdopting, AsyncHeldAdopting), (Adopting, AsyncAdopting)]
TWINS += [(HeldPoints, AsyncHeldPoints), (Points, AsyncPoints)]
TWINS += [(HeldOutbox, AsyncHeldOutbox), (Outbox, AsyncOutbox)]
TWINS += [(HeldBetting, AsyncHeldBetting), (Betting, AsyncBetting)]
TWINS += [(Matching, AsyncMatching)]
# Made on the spot by both: there is nothing to wait for.
NOT_AWAITED = {"within", "batching", "emitting", "each_group"}

# The interpreter's hook calls it in a forked child, where only threads need it: a loop doesn't survive a fork.
HOOKS = {"after_fork_in_child"}

# What one says otherwise than the other, each with what the other says.
WORDS = [
    (r"\bAsync(?=[A-Z])", ""),
    (r"\bconnect_async\b", "connect"),
    (r"\bAwaitable\[(.*)\]", r"\1"),
    (r"\bTasks of one loop may share it\b", "Threads may share it"),
    (r"\bmany tasks\b", "many threads"),
    (r"\baenter\b", "enter"),
]


def public(kind: type) -> dict[str, Any]:
    """The public methods of a class."""
    return {
        name: member
        for name, member in inspect.getmembers(kind, callable)
        if not name.startswith("_") and name not in HOOKS
    }


def blocking_words(text: str) -> str:
    """The text as the blocking twin would say it, without its line breaks."""
    for awaiting, blocking in WORDS:
        text = re.sub(awaiting, blocking, text)
    return " ".join(text.split())


@pytest.mark.parametrize(("blocking", "awaiting"), TWINS)
def test_the_twins_have_equal_names(blocking: type, awaiting: type) -> None:
    """Whatever the one can do the other can do, under the same name."""
    assert set(public(blocking)) == set(public(awaiting)) != set()


@pytest.mark.parametrize(("blocking", "awaiting"), TWINS)
def test_the_twins_have_equal_signatures(blocking: type, awaiting: type) -> None:
    """Parameters, their order, kinds, defaults and annotations are equal; the awaited one is a coroutine."""
    for name, method in public(blocking).items():
        twin = public(awaiting)[name]
        assert spelt(twin) == spelt(method), name
        assert inspect.iscoroutinefunction(twin) is (name not in NOT_AWAITED), name


def spelt(method: Callable[..., Any]) -> str:
    """A signature as text, in blocking words."""
    return blocking_words(str(inspect.signature(method)))


@pytest.mark.parametrize(("blocking", "awaiting"), TWINS[:2])
def test_the_twins_have_equal_docstrings(blocking: type, awaiting: type) -> None:
    """Every method has a docstring, and the twins say the same, word by word."""
    for name, method in public(blocking).items():
        assert inspect.getdoc(method), name
        assert blocking_words(str(inspect.getdoc(public(awaiting)[name]))) == blocking_words(
            str(inspect.getdoc(method))
        ), name


def test_the_ways_to_connect_are_twins() -> None:
    """Connect and connect_async take the same arguments with the same defaults."""
    assert spelt(lastro.connect_async) == spelt(lastro.connect)
    assert inspect.iscoroutinefunction(lastro.connect_async)


def test_every_public_method_has_a_test() -> None:
    """Each method of a ledger is called in this suite by its name: a new one without a test fails here."""
    from pathlib import Path

    folders = (Path(__file__).parent, Path(__file__).parent.with_name("relaying"))
    suite = "".join(path.read_text("utf-8") for folder in folders for path in folder.glob("test_*.py"))
    for name in public(Ledger).keys() - {"close", "batching"}:
        assert re.search(rf"\b(?:books?|held|other|ledger|callers_book|shop)\.{name}\(", suite), name
