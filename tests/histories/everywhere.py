"""
Several stores as one ledger under test: each operation is asked of all of them, and all of them must say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from lastro.errors import LastroError
from lastro.model.transfer import Entry
from tests.histories.answering import CURRENCY, Answering, Checked

Ask = Callable[..., Any]
# All of an entry but what a database chooses: when it was, and which number it counted.
FIELDS = (*(field for field in Entry._fields if field not in ("transfer_id", "recorded_at", "occurred_at")), "signed")


class Everywhere:
    """The same ledger on several stores."""

    def __init__(self, stores: Mapping[str, Checked]) -> None:
        self.stores = stores

    def ask(self, operation: str, **arguments: Any) -> Any:
        """Do one operation on connections of each ledger's own; return what all of them answer."""
        if operation == "entries":
            whole = {name: partial(_whole_entries, store, arguments["name"]) for name, store in self.stores.items()}
            return [(entry["key"], entry["signed"]) for entry in agreed(whole)]
        return agreed({name: partial(store.ask, operation, **arguments) for name, store in self.stores.items()})

    @contextmanager
    def transaction(self) -> Iterator[Ask]:
        """Yield `ask` for one transaction on each store, which is committed unless the block raises."""
        with ExitStack() as stack:
            asks = {name: stack.enter_context(store.transaction()) for name, store in self.stores.items()}

            def ask(operation: str, **arguments: Any) -> Any:
                return agreed({name: partial(one, operation, **arguments) for name, one in asks.items()})

            yield ask

    def close(self) -> None:
        """Audit each ledger's books, then close the connections."""
        for store in self.stores.values():
            store.close()


class Spelled:
    """A ledger under test whose names and keys are spelled otherwise than the history spells them, one for one."""

    def __init__(self, tested: Answering, spelling: Mapping[str, str]) -> None:
        assert len(set(spelling.values())) == len(spelling)
        self._tested, self._spelling = tested, spelling
        self._plain = {spelt: plain for plain, spelt in spelling.items()}

    def ask(self, operation: str, **arguments: Any) -> Any:
        """Do one operation on connections of the ledger's own."""
        return self._ask(self._tested.ask, operation, **arguments)

    @contextmanager
    def transaction(self) -> Iterator[Ask]:
        """Yield `ask` for one transaction of the caller's, which is committed unless the block raises."""
        with self._tested.transaction() as ask:
            yield partial(self._ask, ask)

    def close(self) -> None:
        """Close the connections."""
        self._tested.close()

    def _ask(self, ask: Ask, operation: str, **arguments: Any) -> Any:
        answer = ask(operation, **self._spell(arguments))
        return [(self._plain.get(key, key), amount) for key, amount in answer] if operation == "entries" else answer

    def _spell(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._spell(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._spell(part) for part in value]
        return self._spelling.get(value, value) if isinstance(value, str) else value


def agreed(calls: Mapping[str, Callable[[], Any]]) -> Any:
    """Return, or raise, what all calls return or raise; AssertionError where one differs in anything it says."""
    answers = {name: _answer(call) for name, call in calls.items()}
    first, *others = answers.items()
    for name, (said, _) in others:
        assert said == first[1][0], f"{first[0]} says {first[1][0]!r} and {name} says {said!r}"
    _, error = first[1]
    if error is not None:
        raise error
    return first[1][0]


def _answer(call: Callable[[], Any]) -> tuple[Any, LastroError | None]:
    try:
        return call(), None
    except LastroError as error:
        return _words_of(error), error


def _words_of(error: LastroError) -> tuple[str, str, dict[str, Any]]:
    # The sentence too, but for moments, which each database has of its own.
    moments = {name: value for name, value in error.details.items() if isinstance(value, datetime)}
    sentence = str(error)
    for moment in moments.values():
        sentence = sentence.replace(moment.isoformat(), "…")
    return error.code, sentence, {name: value for name, value in error.details.items() if name not in moments}


def _whole_entries(store: Checked, name: str) -> list[dict[str, Any]]:
    entries = store.ledger.entries(name, CURRENCY, limit=1_000)
    return [{field: getattr(entry, field) for field in FIELDS} for entry in entries]
