"""One random history on every store and on the naive ledger: not one word differs, whatever the names are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import lastro
from lastro import Ledger
from tests.histories.answering import CURRENCY, Checked
from tests.histories.everywhere import Everywhere, Spelled, agreed
from tests.histories.machine import KEYS, NAMES, Length, tell
from tests.support.money import transfer
from tests.support.schemas import names_on

SHORT = Length(histories=5, steps=20)
LONG = Length(histories=120, steps=50)

# What some collation or another takes for the same text, or cuts, or can't store.
TRAPS = (
    "k", "K", "k ", "k  ", "ḱ", "k\u0301", "ｋ", "😀", "😁", "ß", "ss", "ı", "i", "Æ", "ae", "%", "_", "'k'", '"k"', "\\k",
)  # fmt: skip
SPELLING = dict(zip((*NAMES, *KEYS), ("Ada", "ada", "ada ", "áda", *TRAPS), strict=False))

ALL_KEYS = (*KEYS, *(SPELLING[key] for key in KEYS))

Make = Callable[[], Everywhere]


@pytest.fixture
def make(server_url: str, mariadb_url: str, tmp_path: Path) -> Iterator[Make]:
    """
    Make a ledger on each store, named at random, beside a neighbour in the same database with the same names and keys.
    """
    urls = {"PostgreSQL": server_url, "MariaDB": mariadb_url, "SQLite": f"sqlite:///{tmp_path}/ledgers.db"}
    with ExitStack() as stack:
        names = {store: stack.enter_context(names_on(url)) for store, url in urls.items()}
        neighbours = {store: Checked(url, names[store]()) for store, url in urls.items()}
        for neighbour in neighbours.values():
            _settle(neighbour)
        yield lambda: Everywhere({store: Checked(url, names[store]()) for store, url in urls.items()})
        for neighbour in neighbours.values():
            assert neighbour.ask("entries", name=NAMES[0]) == [(key, 1) for key in ALL_KEYS]
            neighbour.close()


def _settle(neighbour: Checked) -> None:
    for name in (*NAMES, *(SPELLING[name] for name in NAMES)):
        neighbour.ask("open_account", name=name, keeping="direct", floor=0)
    for key in ALL_KEYS:
        neighbour.ask("post", key=key, debit="world", credit=NAMES[0], amount=1)


@pytest.mark.req("1.4")
@pytest.mark.req("1.6")
def test_one_history_on_every_store(make: Make) -> None:
    """Outcomes, refusals to the last word and number, balances, entries with their running balances, and counters."""
    tell(make, SHORT)


@pytest.mark.req("1.4")
@pytest.mark.case("S08")
def test_one_history_in_texts_that_stores_confuse(make: Make) -> None:
    """The same with names and keys that differ by case, an accent, a space at the end or a shape of the same letter."""
    tell(lambda: Spelled(make(), SPELLING), SHORT)


@pytest.mark.soak
@pytest.mark.parametrize("spelt", [False, True])
def test_one_history_on_every_store_for_long(make: Make, spelt: bool) -> None:
    """Many longer ones, others each time."""
    tell(lambda: Spelled(make(), SPELLING) if spelt else make(), LONG, derandomize=False)
    print(f"{LONG.histories} histories of {LONG.steps} steps on three stores: no difference")  # noqa: T201


# Nothing, blanks, NUL, half a character, characters nobody sees; then texts around every limit, of one byte and of four.
AT_THE_EDGE = ("", " ", "\0", "a\0b", "\ud800", "a\n", "\u200b", "\x7f", *(
    letter * length for letter in "x😀" for length in (16, 17, 32, 33, 255, 256, 340, 341, 400, 401)
))  # fmt: skip


def ways_to_say(text: str) -> list[Callable[[Ledger], object]]:
    """Each place where a text goes into a ledger."""
    number = AT_THE_EDGE.index(text)

    def post(field: str, value: Any) -> Callable[[Ledger], object]:
        return lambda ledger: ledger.post(**transfer(f"{field} {number}", "world", "a", 1) | {field: value})

    return [
        *(post(field, text) for field in ("key", "kind", "cause", "source", "actor", "debit", "currency")),
        post("metadata", {"note": text}),
        lambda ledger: ledger.open_account(text, CURRENCY),
        lambda ledger: ledger.open_account("b", text),
        lambda ledger: ledger.bump(text),
        lambda ledger: ledger.post_many(
            [transfer(f"{text[:390]}{number}", "world", "a", 1), transfer(text + "2", "world", "a", 1)]
        ),
    ]


@pytest.mark.req("1.4")
@pytest.mark.case("S08")
def test_texts_at_the_edge_are_judged_alike(make: Make) -> None:
    """A NUL, half a character, nothing at all, the longest text and one character more: each store says the same."""
    books = {store: checked.ledger for store, checked in make().stores.items()}
    for ledger in books.values():
        ledger.open_account("a", CURRENCY, keeping="hot")

    def code_of(say: Callable[[Ledger], object]) -> str:
        def on(ledger: Ledger) -> str:
            say(ledger)
            return "taken"

        try:
            return str(agreed({store: partial(on, ledger) for store, ledger in books.items()}))
        except lastro.LastroError as error:
            return error.code

    said = {text: [code_of(way) for way in ways_to_say(text)] for text in AT_THE_EDGE}
    for text in ("\0", "a\0b", "\ud800"):
        assert set(said[text]) == {"invalid_input"}, text
    assert said["😀" * 400][0] == "taken"
    assert said["😀" * 401][0] == "invalid_input"
    taken = agreed({
        store: lambda ledger=ledger: [entry.key for entry in ledger.entries("a", CURRENCY, limit=1_000)]  # type: ignore[misc]
        for store, ledger in books.items()
    })  # fmt: skip
    assert len(taken) == len(set(taken)) > len(AT_THE_EDGE)
    for ledger in books.values():
        ledger.close()
