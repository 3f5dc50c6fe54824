"""
Random histories: every operation is asked of a ledger under test and of the naive one, and both must say the same.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.histories.answering import Answering, answer_of
from tests.histories.naive import Naive, No

# Few names, keys and small amounts: what makes histories meet themselves.
NAMES = ("ada", "ben", "cleo", "platform")
KEYS = tuple(f"key:{number}" for number in range(14))
COUNTERS = ("orders", "items")

names = st.sampled_from(NAMES)
sides = st.sampled_from((*NAMES, *NAMES, "world", "world", "world", "nobody"))
keys = st.sampled_from(KEYS)
amounts = st.one_of(st.integers(1, 60), st.just(2**41))
keepings = st.sampled_from(("direct", "hot", "summed"))
floors = st.sampled_from((0, 0, None, -25, 10))
transfers = st.fixed_dictionaries({"key": keys, "debit": sides, "credit": sides, "amount": amounts})
batches = st.fixed_dictionaries({"transfers": st.lists(transfers, max_size=6), "partial": st.booleans()})
openings = st.fixed_dictionaries({"name": names, "keeping": keepings, "floor": floors})
reversals = st.fixed_dictionaries({"key": keys, "new_key": keys, "amount": st.one_of(st.none(), st.integers(1, 40))})
bumps = st.fixed_dictionaries({"counter": st.sampled_from(COUNTERS), "change": st.integers(-3, 5)})
within = st.one_of(
    st.tuples(st.just("open_account"), openings),
    st.tuples(st.just("post"), transfers),
    st.tuples(st.just("post"), transfers),
    st.tuples(st.just("post_many"), batches),
    st.tuples(st.just("reverse"), reversals),
    st.tuples(st.just("bump"), bumps),
)


class _Rollback(Exception):
    """Ends a transaction that the history takes back."""


class Histories(RuleBasedStateMachine):
    """One history, told to both ledgers."""

    make: Callable[[], Answering]

    def __init__(self) -> None:
        super().__init__()
        self.naive = Naive()
        self.tested = type(self).make()

    @initialize(opened=st.lists(openings, min_size=len(NAMES), max_size=len(NAMES)))
    def open_all(self, opened: list[dict[str, Any]]) -> None:
        """Open every account on some terms, with a little money."""
        for name, arguments in zip(NAMES, opened, strict=True):
            self._both("open_account", **(arguments | {"name": name}))
            self._both("post", key=f"start:{name}", debit="world", credit=name, amount=30)

    @rule(arguments=transfers)
    def post(self, arguments: dict[str, Any]) -> None:
        """Post one transfer."""
        self._both("post", **arguments)

    @rule(key=keys)
    def repeat(self, key: str) -> None:
        """Post a transfer again, as a retry does."""
        if key in self.naive.transfers:
            debit, credit, amount, kind, reverses = self.naive.transfers[key]
            if reverses is None:
                self._both("post", key=key, debit=debit, credit=credit, amount=amount, kind=kind)

    @rule(key=keys, change=st.sampled_from((-1, 1, 100)))
    def repeat_with_another_amount(self, key: str, change: int) -> None:
        """Use a key again for something else."""
        if key in self.naive.transfers:
            debit, credit, amount, kind, _ = self.naive.transfers[key]
            self._both("post", key=key, debit=debit, credit=credit, amount=max(1, amount + change), kind=kind)

    @rule(name=names, key=keys, more=st.sampled_from((0, 0, 1)))
    def spend_all(self, name: str, key: str, more: int) -> None:
        """Take an account to its last cent, or a cent beyond."""
        amount = self.naive.available(name) + more
        if amount > 0:
            self._both("post", key=key, debit=name, credit="world", amount=amount)

    @rule(arguments=batches)
    def post_many(self, arguments: dict[str, Any]) -> None:
        """Post a batch."""
        self._both("post_many", **arguments)

    @rule(arguments=reversals)
    def reverse(self, arguments: dict[str, Any]) -> None:
        """Undo a transfer or a part of it."""
        self._both("reverse", **arguments)

    @rule(name=sides, keeping=keepings)
    def keep(self, name: str, keeping: str) -> None:
        """Keep an account otherwise."""
        if name != "world":
            self._both("keep", name=name, keeping=keeping)

    @rule()
    def consolidate(self) -> None:
        """Fold the tail in."""
        self._both("consolidate")

    @rule(arguments=openings)
    def open_account(self, arguments: dict[str, Any]) -> None:
        """Open an account, on whatever terms."""
        self._both("open_account", **arguments)

    @rule(name=names)
    def close_account(self, name: str) -> None:
        """Close an account, empty or not."""
        self._both("close_account", name=name)

    @rule(arguments=bumps)
    def bump(self, arguments: dict[str, Any]) -> None:
        """Count."""
        self._both("bump", **arguments)

    @rule(operations=st.lists(within, min_size=1, max_size=5), commits=st.booleans())
    def transaction(self, operations: list[tuple[str, dict[str, Any]]], commits: bool) -> None:
        """Do several operations in one transaction of the caller's, which commits or is rolled back."""
        before = copy.deepcopy(self.naive)
        try:
            with self.tested.transaction() as ask:
                for operation, arguments in operations:
                    expected = self._naive(operation, arguments)
                    given = answer_of(partial(ask, operation, **arguments))
                    assert same(given, expected), f"{operation} {arguments}: {given!r}, expected {expected!r}"
                if not commits:
                    raise _Rollback
        except _Rollback:
            self.naive = before

    @invariant()
    def agrees(self) -> None:
        """Balances, entries and counters are the same on both sides."""
        for name in self.naive.accounts:
            assert self.tested.ask("balance", name=name) == self.naive.balance(name), name
            assert self.tested.ask("entries", name=name) == self.naive.entries(name), name
        for counter, value in self.naive.counters.items():
            assert self.tested.ask("count", counter=counter) == value, counter

    def teardown(self) -> None:
        """End the history."""
        self.tested.close()

    def _both(self, operation: str, **arguments: Any) -> None:
        expected = self._naive(operation, arguments)
        given = answer_of(lambda: self.tested.ask(operation, **arguments))
        assert same(given, expected), f"{operation} {arguments}: {given!r}, expected {expected!r}"

    def _naive(self, operation: str, arguments: dict[str, Any]) -> Any:
        try:
            return getattr(self.naive, operation)(**arguments)
        except No as no:
            return no.answer


class Length(NamedTuple):
    """How many histories are told, and of how many steps at most."""

    histories: int
    steps: int


def same(given: Any, expected: Any) -> bool:
    """Whether an answer is the expected one; where two refusals are right (`one|other`) either will do."""
    if isinstance(given, list) and isinstance(expected, list) and len(given) == len(expected):
        return all(map(same, given, expected))
    if isinstance(given, tuple) and isinstance(expected, tuple):
        return given[0] in expected[0].split("|") and given[1:] == expected[1:]
    return bool(given == expected)


def tell(
    make: Callable[[], Answering], length: Length, *, derandomize: bool = True, rules: type[Histories] = Histories
) -> None:
    """
    Tell so many random histories of at most so many steps; raise at the first difference.

    It isn't shrunk: each step is several transactions, and a search for the shortest history takes minutes. Add
    Phase.shrink to look into one.
    """
    machine = type("Histories", (rules,), {"make": staticmethod(make)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=length.histories,
            stateful_step_count=length.steps,
            deadline=None,
            derandomize=derandomize,
            database=None,
            phases=(Phase.generate,),
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
