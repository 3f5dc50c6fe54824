"""
What this process believes of accounts: their facts by name, bounded, thrown away as soon as a statement disagrees.
"""

from __future__ import annotations

from collections.abc import Iterable

from lastro.model.account import Facts
from lastro.model.limits import ACCOUNTS_CACHED_MAX


class Directory:
    """
    Facts of accounts by (name, currency). A belief only picks the statement; the statement checks it as it writes.

    Safe to share between threads: every operation is one dictionary operation.
    """

    def __init__(self, accounts_max: int = ACCOUNTS_CACHED_MAX) -> None:
        self._facts: dict[tuple[str, str], Facts] = {}
        self._accounts_max = accounts_max

    def get(self, name: str, currency: str) -> Facts | None:
        """Return what is believed of an account, or None."""
        return self._facts.get((name, currency))

    def learn(self, facts: Iterable[Facts]) -> None:
        """Believe *facts*. A full directory starts anew: looking an account up again costs one statement."""
        for fact in facts:
            if len(self._facts) >= self._accounts_max:
                self._facts = {}
            self._facts[fact.name, fact.currency] = fact

    def forget(self, facts: Iterable[Facts]) -> None:
        """Believe nothing of these accounts any more."""
        for fact in facts:
            self._facts.pop((fact.name, fact.currency), None)

    def clear(self) -> None:
        """Believe nothing: another server may have taken over."""
        self._facts = {}

    def __len__(self) -> int:
        return len(self._facts)
