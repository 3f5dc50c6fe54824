"""Results as messages: delivered twice, out of order, wrong or broken, each has one named outcome and does no harm."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastro
from lastro import InvalidInput, Ledger
from lastro.betting.intake import FIELDS, Taken, _parsed, message_of
from lastro.model.limits import RESULT_AHEAD_MS_MAX, RESULT_MESSAGE_BYTES_MAX
from lastro.testing import Clock
from tests.betting.betting_books import bet, market, money, players
from tests.support.hold_races import START
from tests.support.sessions import together

LOST = {"others": "lost"}


@pytest.fixture
def book(books: Ledger) -> Ledger:
    """A ledger with a bet on the home side."""
    players(books, "ana")
    market(books)
    bet(books, "b")
    return books


def message(version: int, winner: str = "home", **more: Any) -> bytes:
    """A result as it comes from a queue."""
    return json.dumps({"market": "match", "version": version, "outcomes": {winner: "won"}} | LOST | more).encode()


@pytest.mark.req("3.14")
def test_each_message_has_its_outcome(book: Ledger) -> None:
    """Recorded once, then a duplicate; an older one is outdated; another one of the version a conflict; a void is a result."""
    take = book.betting.take
    said = [
        take(message(2), market=b"match").outcome,
        take(message(2).decode()).outcome,
        take(json.loads(message(1))).outcome,
        take(message(2, "away")).outcome,
        take({"market": "match", "version": 3, "void": True, "source": "feed"}).outcome,
        take(message(4, market="nowhere")).outcome,
        take(message(5, decided_at="2026-01-01T00:00:00Z")).outcome,
    ]
    assert said == ["recorded", "duplicate", "outdated", "conflict", "recorded", "unknown_market", "recorded"]
    assert [letter.code for letter in book.betting.dead_letters()] == ["unknown_market", "conflict"]
    book.betting.settle()
    # Decided before it was placed.
    assert (book.betting.bet("b").state, money(book, "ana")) == ("void", (1_000, 0))


POISON: list[tuple[bytes | str | dict[str, Any], str]] = [
    (b"", "JSON"),
    (b"\xff\xfe", "JSON"),
    (b"[1]", "object"),
    (b'{"market": "match", "market": "other", "version": 1, "outcomes": {}}', "twice"),
    (b'{"market": "match", "version": NaN, "outcomes": {}}', "NaN"),
    (b"[" * 100_000, "JSON"),
    ({"market": "match", "outcomes": {"home": "won"}}, "version"),
    ({"market": "match", "version": 1, "outcomes": {"home": "won"}, "extra": 1}, "object"),
    ({"market": "match", "version": 1, "outcomes": {"home": "won"}}, "leaves out"),
    ({"market": "match", "version": 1, "outcomes": {"nobody": "won"}, "others": "lost"}, "nobody"),
    ({"market": "match", "version": 1.5, "outcomes": {"home": "won"}, "others": "lost"}, "version"),
    ({"market": "match", "version": None, "outcomes": {"home": "won"}, "others": "lost"}, "version"),
    ({"market": "match", "version": 0, "outcomes": {"home": "won"}, "others": "lost"}, "version"),
    ({"market": "match", "version": 1, "outcomes": {"home": "wonderful"}, "others": "lost"}, "wonderful"),
    ({"market": "match", "version": 1, "outcomes": {"home": 1}, "others": "lost"}, "outcome"),
    ({"market": "match", "version": 1, "outcomes": {}, "void": True}, "void"),
    ({"market": 7, "version": 1, "outcomes": {"home": "won"}}, "market"),
    ({"market": "match", "version": 1, "outcomes": {"home": "won"}, "others": "lost", "decided_at": "soon"}, "soon"),
    ({"market": "match", "version": 1, "outcomes": {"home": "won"}, "others": "lost", "decided_at": "2026-01-01"}, "zone"),
    ({"market": "match", "version": 1, "outcomes": {"home": "won"}, "others": "lost", "decided_at": 5}, "moment"),
    ({"market": "match", "version": 1, "outcomes": {"home": "won"}, "others": "lost", "source": "s" * 256}, "source"),
    (b" " * (RESULT_MESSAGE_BYTES_MAX + 1), "bytes"),
]  # fmt: skip


@pytest.mark.req("3.14")
def test_poison_is_kept_with_its_reason(book: Ledger) -> None:
    """What is no result is in the dead letters as it came, and the next message is taken."""
    for body, reason in POISON:
        taken = book.betting.take(body, topic="feed")
        assert taken.outcome == "poison", body
        assert reason in (taken.reason or ""), (body, taken.reason)
    letters = book.betting.dead_letters(limit=100)[::-1]
    assert len(letters) == len(POISON)
    assert letters[0].message == b""
    assert {letter.topic for letter in letters} == {"feed"}
    assert len(letters[-1].message) == RESULT_MESSAGE_BYTES_MAX
    assert book.betting.take(message(1), market="other") == Taken(
        "poison", None, None, "the message's key names market 'other', and its content 'match'"
    )
    assert book.betting.backlog().results == 0
    assert book.betting.take(message(1)).outcome == "recorded"
    with pytest.raises(InvalidInput):
        book.betting.take(7)  # type: ignore[arg-type]


@pytest.mark.req("3.14")
def test_a_feed_whose_clock_is_ahead(ledger: Ledger, server_url: str) -> None:
    """By seconds its result is taken, and again a duplicate; by more it is poison."""
    clock = Clock(START)
    with lastro.connect(server_url, ledger=ledger._operations.ledger, clock=clock) as timed:
        market(timed)
        soon, later = ((START + timedelta(milliseconds=RESULT_AHEAD_MS_MAX + more)).isoformat() for more in (0, 1))
        assert timed.betting.take(message(1, decided_at=later)).outcome == "poison"
        said = [timed.betting.take(message(1, decided_at=soon)).outcome for _ in range(2)]
        assert said == ["recorded", "duplicate"]


@pytest.mark.req("3.14")
@pytest.mark.req("3.17")
def test_a_message_that_comes_again_is_one_dead_letter(book: Ledger) -> None:
    """By the name of its delivery, also from four at once; what has no name is kept as often as it comes."""
    said = together([partial(book.betting.take, b"{", delivery="results/0/7") for _ in range(4)])
    assert [taken.outcome for taken in said] == ["poison"] * 4  # type: ignore[union-attr]
    assert book.betting.take(b"{", delivery="results/0/8").outcome == "poison"
    assert len(book.betting.dead_letters()) == 2
    book.betting.take(b"{")
    book.betting.take(b"{")
    assert len(book.betting.dead_letters()) == 4
    for wrong in ("", "d" * 401, 7):
        with pytest.raises(InvalidInput):
            book.betting.take(b"{", delivery=wrong)  # type: ignore[arg-type]


SPOILT = st.sampled_from(
    ["\ud800", "\0", "", "match", "home", "9" * 5_000, "1e999", "0001-01-01T00:00:00+14:00", "x" * 300]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | SPOILT | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SPOILT | st.sampled_from(sorted(FIELDS)), inner, max_size=9),
    max_leaves=12,
)  # fmt: skip
SAID = st.fixed_dictionaries(
    {"market": JSON | st.just("match"), "version": JSON | st.just(1)},
    optional=dict.fromkeys(sorted(FIELDS - {"market", "version"}), JSON),
)


@given(said=JSON | SAID, market=st.none() | st.binary(max_size=8))
@settings(max_examples=60, deadline=None)
def test_no_message_raises(said: Any, market: bytes | None) -> None:
    """Whatever is sent is a result or is refused with a reason that can be stored: nothing else holds up a partition."""
    body = json.dumps(said)
    message = message_of(body, market=market, topic="feed", delivery=None)
    try:
        _parsed(message)
    except InvalidInput as refused:
        reason = str(refused)
        reason.encode()
        assert "\0" not in reason
        assert len(reason) < 2_000


@pytest.mark.req("3.14")
@pytest.mark.req("3.17")
def test_messages_many_times_in_any_order(book: Ledger) -> None:
    """Each delivered one to five times, shuffled, to four consumers with settlers beside them: it ends as the newest says."""
    chance = random.Random(7)
    messages = [message(version, ("home", "away", "draw")[version % 3]) for version in range(1, 8)]
    deliveries = [one for one in messages for _ in range(chance.randint(1, 5))]
    chance.shuffle(deliveries)
    parts = [deliveries[number::4] for number in range(4)]
    consumers = [partial(lambda part: [book.betting.take(one).outcome for one in part], part) for part in parts]
    answers = together([*consumers, book.betting.settle, book.betting.settle])
    said = {outcome for answer in answers if isinstance(answer, list) for outcome in answer}
    assert said <= {"recorded", "duplicate", "outdated"}
    while book.betting.backlog().results:
        book.betting.settle()
    assert book.betting.market("match").result_version == 7
    assert book.betting.bet("b").legs[0].outcome == "lost"
    assert money(book, "ana") == (900, 0)
    assert book.betting.dead_letters() == []
