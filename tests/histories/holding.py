"""
Random histories with holds in them, where the store has holds.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from tests.histories.machine import NAMES, Histories, keys, openings, sides, within

holds = st.sampled_from(tuple(f"hold:{number}" for number in range(4)))
releases = st.sampled_from(tuple(f"release:{number}" for number in range(5)))
parts = st.one_of(st.none(), st.none(), st.integers(1, 25))
placings = st.fixed_dictionaries(
    {
        "key": holds,
        "account": sides,
        "amount": st.integers(1, 30),
        "deadline": st.integers(1, 4),
        "overdue": st.sampled_from(("expire", "expire", "list")),
    }
)
captures = st.fixed_dictionaries({"key": keys, "hold": holds, "credit": sides, "amount": parts, "final": st.booleans()})
releasings = st.fixed_dictionaries({"key": releases, "hold": holds, "amount": parts})
within_with_holds = st.one_of(
    within,
    st.tuples(st.just("place_hold"), placings),
    st.tuples(st.just("capture"), captures),
    st.tuples(st.just("release"), releasings),
)


class HoldHistories(Histories):
    """The histories of every store, and what may be done with holds among it."""

    @initialize(opened=st.lists(openings, min_size=len(NAMES), max_size=len(NAMES)))
    def open_all(self, opened: list[dict[str, Any]]) -> None:
        """Open every account on some terms, with a little money and a few holds."""
        super().open_all(opened)
        for number, name in enumerate(NAMES[:2]):
            self._both("place_hold", key=f"hold:{number}", account=name, amount=10 + number, deadline=2)

    @rule(arguments=placings)
    def place_hold(self, arguments: dict[str, Any]) -> None:
        """Set money aside."""
        self._both("place_hold", **arguments)

    @rule(key=holds)
    def place_again(self, key: str) -> None:
        """Place a hold again, as a retry does."""
        if key in self.naive.holds:
            hold = self.naive.holds[key]
            again = {name: hold[name] for name in ("account", "amount", "overdue")}
            self._both("place_hold", key=key, deadline=hold["expires_at"], **again)

    @rule(key=holds, change=st.sampled_from((-1, 1, 100)))
    def place_another(self, key: str, change: int) -> None:
        """Use a hold's key again for something else."""
        if key in self.naive.holds:
            hold = self.naive.holds[key]
            other = {"account": hold["account"], "amount": max(1, hold["amount"] + change)}
            self._both("place_hold", key=key, deadline=hold["expires_at"], **other)

    @rule(arguments=captures)
    def capture(self, arguments: dict[str, Any]) -> None:
        """Capture a hold or a part of it."""
        self._both("capture", **arguments)

    @rule(arguments=releasings)
    def release(self, arguments: dict[str, Any]) -> None:
        """Release a hold or a part of it."""
        self._both("release", **arguments)

    @rule(key=keys, final=st.booleans())
    def capture_again(self, key: str, final: bool) -> None:
        """Capture again under a key that captured before, as a retry does."""
        if key in self.naive.captures:
            _, credit, amount, _, _ = self.naive.transfers[key]
            hold, _ = self.naive.captures[key]
            self._both("capture", key=key, hold=hold, credit=credit, amount=amount, final=final)

    @rule(hours=st.integers(0, 2))
    def expire(self, hours: int) -> None:
        """Let time pass, then the expirer come."""
        self._both("pass_hours", hours=hours)
        self._both("overdue_holds")
        self._both("expire_holds")

    @rule(operations=st.lists(within_with_holds, min_size=1, max_size=5), commits=st.booleans())
    def transaction(self, operations: list[tuple[str, dict[str, Any]]], commits: bool) -> None:
        """Do several operations in one transaction of the caller's, which commits or is rolled back."""
        super().transaction(operations, commits)

    @invariant()
    def holds_agree(self) -> None:
        """What is held, and how each hold stands, is the same on both sides."""
        for name in self.naive.accounts:
            assert self.tested.ask("held", name=name) == self.naive.held(name), name
        for key in self.naive.holds:
            assert self.tested.ask("hold", key=key) == self.naive.hold(key), key
