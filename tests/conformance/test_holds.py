"""Holds: money set aside under a key, then captured or released; what is held is never lost and never spent twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.model.account import Keeping
from tests.conformance.conftest import Raw

# Holds take more than plain SQL.
pytestmark = [pytest.mark.usefixtures("balanced"), pytest.mark.stores("postgres", "mariadb", "sqlite")]

KEEPINGS: tuple[Keeping, ...] = ("direct", "hot", "summed")
DEADLINE = datetime(2100, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)


def wanted(**changed: Any) -> dict[str, Any]:
    """A hold of 100 BRL on `a`, changed."""
    return {
        "key": "h",
        "account": "a",
        "currency": "BRL",
        "amount": 100,
        "owner": "shop",
        "expires_at": DEADLINE,
    } | changed


def capture(**changed: Any) -> dict[str, Any]:
    """A capture of all that is left of the hold `h`, to `shop`, changed."""
    return {"key": "c", "hold": "h", "credit": "shop", "kind": "sale"} | changed


@pytest.fixture(params=KEEPINGS)
def keeping(request: pytest.FixtureRequest, book: Ledger) -> Keeping:
    """How `a` is kept, which has 1,000; `shop` is kept hot, `till` direct."""
    kept: Keeping = request.param
    fund(book, kept)
    return kept


@pytest.fixture
def funded(book: Ledger) -> Ledger:
    """The same with `a` kept direct."""
    fund(book, "direct")
    return book


def fund(book: Ledger, keeping: Keeping) -> None:
    """Open the accounts."""
    book.open_account("a", "BRL", keeping=keeping)
    book.open_account("shop", "BRL", keeping="hot")
    book.open_account("till", "BRL")
    book.post(key="fund", kind="fund", debit="world", credit="a", amount=1_000, currency="BRL")


def figures(book: Ledger, name: str = "a") -> tuple[int, int, int]:
    """What is posted, held and available."""
    balance = book.balance(name, "BRL")
    return balance.posted, balance.held, balance.available


@pytest.mark.req("3.4")
@pytest.mark.case("C037")
def test_a_hold_is_placed_once(book: Ledger, keeping: Keeping, reopen: Callable[..., Ledger]) -> None:
    """It sets money aside, is seen by everybody at once, and the same key again sets nothing aside."""
    del keeping
    asked = wanted(cause="order:1", source="web", actor="ann", metadata={"a": 1}, group="g", capture_max=150)
    placed = book.place_hold(**asked)
    hold = placed.hold
    assert not placed.replayed
    assert (hold.key, hold.account, hold.currency, hold.amount, hold.left, hold.state) == (
        "h", "a", "BRL", 100, 100, "open",
    )  # fmt: skip
    assert (hold.owner, hold.group, hold.capture_max, hold.overdue) == ("shop", "g", 150, "expire")
    assert (hold.expires_at, hold.guarded_until, hold.ended_at, hold.expired_at) == (DEADLINE, None, None, None)
    assert (hold.cause, hold.source, hold.actor, hold.metadata) == ("order:1", "web", "ann", {"a": 1})
    assert figures(book) == (1_000, 100, 900)
    assert reopen().hold("h") == hold
    assert book.place_hold(**asked | {"actor": "ben", "metadata": None}) == lastro.Placed(hold, replayed=True)
    assert figures(book) == (1_000, 100, 900)
    assert book.hold_events("h") == []
    assert book.holds("a", "BRL") == [hold]


@pytest.mark.req("3.2")
@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("amount", 99),
        ("owner", "other"),
        ("expires_at", DEADLINE + timedelta(microseconds=1)),
        ("account", "till"),
        ("group", "g"),
        ("capture_max", 100),
        ("overdue", "list"),
        ("cause", "x"),
        ("source", "x"),
    ],
)
def test_another_content_under_a_holds_key_is_a_conflict(funded: Ledger, field: str, other: Any) -> None:
    """The conflict names the field with both values; nothing is written."""
    funded.post(key="t", kind="fund", debit="world", credit="till", amount=500, currency="BRL")
    funded.place_hold(**wanted())
    with pytest.raises(lastro.HoldConflict) as caught:
        funded.place_hold(**wanted(**{field: other}))
    assert caught.value.fields == {field: (wanted().get(field, "expire" if field == "overdue" else None), other)}
    assert figures(funded) == (1_000, 100, 900)
    assert figures(funded, "till") == (500, 0, 500)


def test_keys_of_holds_and_of_transfers_are_two_namespaces(funded: Ledger) -> None:
    """One word may name a hold, a transfer and a release; each is found for what it is."""
    funded.post(key="k", kind="pay", debit="world", credit="a", amount=5, currency="BRL")
    funded.place_hold(**wanted(key="k"))
    assert funded.release(key="k", hold="k", amount=10).hold.left == 90
    with pytest.raises(lastro.TransferConflict):
        funded.capture(**capture(key="k", hold="k"))
    assert funded.hold("k").left == 90
    with pytest.raises(lastro.UnknownHold, match="a key of its own"):
        funded.hold("fund")


@pytest.mark.req("3.1")
@pytest.mark.case("C044")
def test_a_hold_is_conditional_on_what_is_available(book: Ledger, keeping: Keeping) -> None:
    """Of six holds of 200 on 1,000, held and unconsolidated money counted, the sixth is refused; so is a debit."""
    del keeping
    for number in range(5):
        book.place_hold(**wanted(key=f"h{number}", amount=200))
    with pytest.raises(lastro.InsufficientFunds) as caught:
        book.place_hold(**wanted(key="h5", amount=1))
    assert (caught.value.needed, caught.value.available, caught.value.floor) == (1, 0, 0)
    with pytest.raises(lastro.InsufficientFunds):
        book.post(key="d", kind="pay", debit="a", credit="shop", amount=1, currency="BRL")
    assert figures(book) == (1_000, 1_000, 0)
    # A credit that isn't consolidated yet is available at once.
    book.post(key="in", kind="pay", debit="world", credit="a", amount=1, currency="BRL")
    book.place_hold(**wanted(key="h5", amount=1))
    assert [hold.key for hold in book.holds("a", "BRL", limit=2)] == ["h0", "h1"]
    assert [hold.key for hold in book.holds("a", "BRL", after="h1")] == ["h2", "h3", "h4", "h5"]


def test_a_floor_is_what_may_be_held_down_to(book: Ledger) -> None:
    """An overdraft may be held, an account without a floor may hold what it hasn't got."""
    book.open_account("o", "BRL", floor=-50)
    book.open_account("n", "BRL", floor=None, keeping="hot")
    book.place_hold(**wanted(account="o", amount=50))
    with pytest.raises(lastro.InsufficientFunds):
        book.place_hold(**wanted(account="o", key="h2", amount=1))
    book.place_hold(**wanted(account="n", key="h3", amount=2**62))
    assert figures(book, "n") == (0, 2**62, -(2**62))


@pytest.mark.req("3.4")
@pytest.mark.case("C041")
@pytest.mark.parametrize("credit", ["shop", "till", "world"])
def test_a_capture_transfers_what_was_held(book: Ledger, keeping: Keeping, credit: str) -> None:
    """A part, the rest kept; then the rest; each once, by a transfer under the capture's own key."""
    book.place_hold(**wanted(cause="order:1"))
    part = book.capture(**capture(credit=credit, amount=60, final=False, actor="ann"))
    assert not part.replayed
    assert (part.released, part.hold.captured, part.hold.left, part.hold.state) == (0, 60, 40, "open")
    assert part.hold == book.hold("h")
    assert part.transfer == book.transfer("c")
    assert (part.transfer.debit, part.transfer.credit, part.transfer.amount) == ("a", credit, 60)
    assert (part.transfer.kind, part.transfer.cause, part.transfer.actor) == ("sale", "order:1", "ann")
    assert figures(book) == (940, 40, 900)
    rest = book.capture(**capture(key="c2", credit=credit))
    assert (rest.transfer.amount, rest.released, rest.hold.captured, rest.hold.left) == (40, 0, 100, 0)
    assert (rest.hold.state, rest.hold.ended_at, rest.hold) == ("captured", rest.transfer.recorded_at, book.hold("h"))
    assert figures(book) == (900, 0, 900)
    assert book.holds("a", "BRL") == []
    again = book.capture(**capture(credit=credit, amount=60, final=False, actor="ben"))
    assert (again.transfer, again.released, again.replayed) == (part.transfer, 0, True)
    assert again.hold == rest.hold
    assert book.capture(**capture(key="c2", credit=credit)) == rest._replace(replayed=True)
    assert [(event.kind, event.amount, event.left, event.key) for event in book.hold_events("h")] == [
        ("captured", 60, 40, "c"),
        ("captured", 40, 0, "c2"),
    ]
    if keeping == "direct":
        assert (part.transfer.debit_before, part.transfer.debit_after) == (1_000, 940)


@pytest.mark.case("C041")
def test_what_a_capture_leaves_is_given_back(book: Ledger, keeping: Keeping) -> None:
    """By default a capture is final: nobody forgets the rest in the hold for ever."""
    del keeping
    book.place_hold(**wanted())
    captured = book.capture(**capture(amount=60))
    assert (captured.released, captured.hold.captured, captured.hold.released) == (40, 60, 40)
    assert (captured.hold.left, captured.hold.state) == (0, "captured")
    assert captured.hold == book.hold("h")
    assert figures(book) == (940, 0, 940)
    assert book.capture(**capture(amount=60)) == captured._replace(replayed=True)
    assert [(event.kind, event.amount, event.key) for event in book.hold_events("h")] == [
        ("captured", 60, "c"),
        ("released", 40, None),
    ]


@pytest.mark.case("C041")
def test_captures_never_exceed_the_hold(book: Ledger, keeping: Keeping) -> None:
    """60 and 60 of 100: the second is refused, says what is left, and writes nothing."""
    del keeping
    book.place_hold(**wanted())
    book.capture(**capture(amount=60, final=False))
    with pytest.raises(lastro.HoldExceeded) as caught:
        book.capture(**capture(key="c2", amount=60))
    assert (caught.value.needed, caught.value.left) == (60, 40)
    with pytest.raises(lastro.HoldExceeded):
        book.release(key="r", hold="h", amount=41)
    assert book.transfer("c2") is None
    assert figures(book) == (940, 40, 900)
    assert book.capture(**capture(key="c2", amount=40)).hold.state == "captured"


@pytest.mark.case("C041")
def test_more_is_captured_only_within_an_explicit_limit_and_the_funds(book: Ledger, keeping: Keeping) -> None:
    """A hold of 100 that allows 150 in all: 151 is refused, 150 is taken where it is available, and not else."""
    del keeping
    book.place_hold(**wanted(capture_max=150))
    with pytest.raises(lastro.HoldExceeded):
        book.capture(**capture(amount=151))
    book.post(key="out", kind="pay", debit="a", credit="till", amount=860, currency="BRL")
    with pytest.raises(lastro.InsufficientFunds) as caught:
        book.capture(**capture(amount=150))
    assert (caught.value.needed, caught.value.available) == (50, 40)
    book.post(key="in", kind="pay", debit="till", credit="a", amount=10, currency="BRL")
    captured = book.capture(**capture(amount=150))
    assert (captured.hold.captured, captured.hold.left, captured.hold.state) == (150, 0, "captured")
    assert figures(book) == (0, 0, 0)
    assert book.capture(**capture(amount=150)).replayed


def test_what_was_held_is_captured_whatever_the_balance_has_become(book: Ledger, keeping: Keeping) -> None:
    """A reversal took the account below what is held; the hold was promised before, and is captured."""
    del keeping
    book.place_hold(**wanted(amount=1_000))
    book.reverse("fund", "undo")
    assert figures(book) == (0, 1_000, -1_000)
    assert book.capture(**capture()).transfer.amount == 1_000
    assert figures(book) == (-1_000, 0, -1_000)


@pytest.mark.req("3.8")
@pytest.mark.case("C045")
def test_a_release_gives_back(book: Ledger, keeping: Keeping) -> None:
    """A part, then the rest; each once; once more under another key nothing is left to give, and nothing is given."""
    del keeping
    book.place_hold(**wanted())
    part = book.release(key="r", hold="h", amount=30, cause="x", actor="ann")
    assert (part.amount, part.hold.released, part.hold.left, part.replayed) == (30, 30, 70, False)
    assert part.hold == book.hold("h")
    assert figures(book) == (1_000, 70, 930)
    rest = book.release(key="r2", hold="h")
    assert (rest.amount, rest.hold.left, rest.hold.state) == (70, 0, "released")
    assert figures(book) == (1_000, 0, 1_000)
    again = book.release(key="r", hold="h", amount=30, cause="x", actor="ben")
    assert (again.amount, again.replayed, again.hold) == (30, True, rest.hold)
    assert book.release(key="r2", hold="h").replayed
    assert book.release(key="r3", hold="h") == lastro.Released(0, rest.hold, replayed=False)
    with pytest.raises(lastro.HoldClosed):
        book.release(key="r4", hold="h", amount=1)
    assert [(event.kind, event.amount, event.key, event.cause) for event in book.hold_events("h")] == [
        ("released", 30, "r", "x"),
        ("released", 70, "r2", None),
    ]


@pytest.mark.req("3.2")
def test_a_releases_key_names_one_release(funded: Ledger) -> None:
    """Another hold, amount or cause under its key is a conflict that names the field."""
    funded.place_hold(**wanted())
    funded.place_hold(**wanted(key="h2"))
    funded.release(key="r", hold="h", amount=30)
    for field, changed in (("hold", {"hold": "h2"}), ("amount", {"amount": 31}), ("cause", {"cause": "x"})):
        with pytest.raises(lastro.HoldConflict) as caught:
            funded.release(**{"key": "r", "hold": "h", "amount": 30} | changed)
        assert set(caught.value.fields) == {field}
    assert figures(funded) == (1_000, 170, 830)


@pytest.mark.req("3.2")
@pytest.mark.parametrize(
    "changed", [{"amount": 61}, {"kind": "x"}, {"credit": "till"}, {"cause": "x"}, {"hold": "h2"}, {"final": True}]
)
def test_another_capture_under_its_key_is_a_conflict(funded: Ledger, changed: dict[str, Any]) -> None:
    """The transfer that is there stays the only one."""
    funded.place_hold(**wanted())
    funded.place_hold(**wanted(key="h2"))
    funded.capture(**capture(amount=60, final=False))
    with pytest.raises(lastro.TransferConflict) as caught:
        funded.capture(**capture(amount=60, final=False) | changed)
    assert set(caught.value.fields) == set(changed)
    assert figures(funded) == (940, 140, 800)


def test_a_transfer_is_no_capture(funded: Ledger) -> None:
    """A key that names an equal transfer which captured nothing is a conflict, not a replay."""
    funded.place_hold(**wanted())
    funded.post(key="c", kind="sale", debit="a", credit="shop", amount=100, currency="BRL")
    with pytest.raises(lastro.TransferConflict) as caught:
        funded.capture(**capture())
    assert caught.value.fields == {"hold": (None, "h")}


@pytest.mark.case("C036")
@pytest.mark.case("C047")
def test_a_hold_that_ended_says_how(book: Ledger, keeping: Keeping) -> None:
    """The loser is told of the winner's transfer; a late payment is a transfer of its own with the hold as its cause."""
    del keeping
    book.place_hold(**wanted())
    book.capture(**capture())
    for late in (lambda: book.capture(**capture(key="late")), lambda: book.release(key="late", hold="h")):
        with pytest.raises(lastro.HoldClosed, match="transfer 'c'") as caught:
            late()
        assert (caught.value.state, caught.value.captured_by, caught.value.expired_at) == ("captured", "c", None)
        assert caught.value.ended_at == book.hold("h").ended_at
    book.place_hold(**wanted(key="h2"))
    book.release(key="void", hold="h2")
    with pytest.raises(lastro.HoldClosed) as caught:
        book.capture(**capture(key="late", hold="h2"))
    assert caught.value.state == "released"
    book.post(key="late", kind="sale", debit="a", credit="shop", amount=100, currency="BRL", cause="h2")
    assert figures(book) == (800, 0, 800)


def test_a_reversed_capture_posts_back_and_opens_nothing(book: Ledger, keeping: Keeping) -> None:
    """The money comes back by a transfer; the hold stays at its end."""
    del keeping
    book.place_hold(**wanted())
    ended = book.capture(**capture()).hold
    assert book.reverse("c", "undo").transfer.amount == 100
    assert figures(book) == (1_000, 0, 1_000)
    assert book.hold("h") == ended


@pytest.mark.parametrize("to", KEEPINGS)
def test_holds_outlive_a_change_of_keeping(book: Ledger, keeping: Keeping, to: Keeping) -> None:
    """A hold placed under one keeping is captured under another."""
    del keeping
    book.place_hold(**wanted())
    book.keep("a", "BRL", to)
    assert figures(book) == (1_000, 100, 900)
    book.place_hold(**wanted(key="h2", amount=900))
    assert book.capture(**capture(amount=60, final=False)).hold.left == 40
    assert book.release(key="r", hold="h").amount == 40
    assert figures(book) == (940, 900, 40)


def test_an_account_that_holds_is_not_closed(book: Ledger, keeping: Keeping) -> None:
    """An account whose money is gone but which still holds something stays open; an ended hold keeps it from nothing."""
    del keeping
    book.place_hold(**wanted(amount=1_000))
    book.reverse("fund", "undo")
    with pytest.raises(lastro.AccountNotEmpty) as caught:
        book.close_account("a", "BRL")
    assert (caught.value.posted, caught.value.held) == (0, 1_000)
    book.release(key="r", hold="h")
    assert book.close_account("a", "BRL").closed_at is not None
    with pytest.raises(lastro.AccountClosed):
        book.place_hold(**wanted(key="h2"))
    assert book.place_hold(**wanted(amount=1_000)).hold.state == "released"


def test_a_capture_to_a_closed_account(book: Ledger, keeping: Keeping) -> None:
    """It is refused and the hold stays; a retry of what was captured before the closing is a replay."""
    del keeping
    book.place_hold(**wanted())
    book.open_account("gone", "BRL")
    first = book.capture(**capture(credit="gone", amount=10, final=False))
    book.post(key="empty", kind="pay", debit="gone", credit="world", amount=10, currency="BRL")
    book.close_account("gone", "BRL")
    with pytest.raises(lastro.AccountClosed):
        book.capture(**capture(key="c2", credit="gone"))
    assert book.capture(**capture(credit="gone", amount=10, final=False)).transfer == first.transfer
    assert book.hold("h").left == 90
    with pytest.raises(lastro.UnknownAccount):
        book.capture(**capture(key="c2", credit="nobody"))


@pytest.mark.case("C043")
@pytest.mark.parametrize(
    "amount", [0, -1, -100, 1.0, 0.5, True, "5", None, float("nan"), 2**63, Decimal("0.5"), 10**400]
)
def test_bad_amounts_are_refused(funded: Ledger, raw: Raw, amount: Any) -> None:
    """No hold, capture or release of nothing, less than nothing, a part of a cent or more than fits."""
    funded.place_hold(**wanted())
    before = raw.written()
    with pytest.raises(lastro.InvalidInput):
        funded.place_hold(**wanted(key="h2", amount=amount))
    if amount is not None:
        with pytest.raises(lastro.InvalidInput):
            funded.place_hold(**wanted(key="h2", capture_max=amount))
        with pytest.raises(lastro.InvalidInput):
            funded.capture(**capture(amount=amount))
        with pytest.raises(lastro.InvalidInput):
            funded.release(key="r", hold="h", amount=amount)
    assert raw.written() == before


@pytest.mark.case("C043")
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"key": ""}, "key must not be empty"),
        ({"key": "k" * 401}, "key may have 400"),
        ({"key": "a\0"}, "NUL"),
        ({"owner": None}, "owner must be text"),
        ({"owner": "o" * 256}, "owner may have 255"),
        ({"group": " "}, "group must not be empty"),
        ({"group": "g" * 401}, "group may have 400"),
        ({"expires_at": None}, "expires_at must be a datetime"),
        ({"expires_at": datetime(2100, 1, 1)}, "expires_at needs a time zone"),  # noqa: DTZ001  (the point)
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, "expires_at must lie in the future"),
        ({"capture_max": 99}, "capture_max is what may be captured in all"),
        ({"overdue": "later"}, "overdue is one of"),
        ({"account": "world"}, "nothing can be set aside on it"),
        ({"currency": "brl"}, "is written 'BRL'"),
        ({"metadata": {"a": float("nan")}}, "metadata must be plain JSON"),
    ],
)
def test_bad_holds_are_refused(funded: Ledger, raw: Raw, changed: dict[str, Any], words: str) -> None:
    """Each argument is checked before anything is written, in words that say what is right."""
    before = raw.written()
    with pytest.raises(lastro.InvalidInput, match=words):
        funded.place_hold(**wanted(**changed))
    assert raw.written() == before


@pytest.mark.parametrize(
    ("error", "changed"),
    [
        (lastro.UnknownHold, {"hold": "nothing"}),
        (lastro.InvalidInput, {"hold": ""}),
        (lastro.InvalidInput, {"credit": "a"}),
        (lastro.InvalidInput, {"credit": ""}),
        (lastro.InvalidInput, {"kind": "k" * 17}),
        (lastro.InvalidInput, {"final": "yes"}),
        (lastro.InvalidInput, {"occurred_at": datetime(2026, 1, 1)}),  # noqa: DTZ001  (the point)
        (lastro.UnknownAccount, {"credit": "debit"}),
    ],
)
def test_bad_captures_are_refused(funded: Ledger, raw: Raw, error: type[Exception], changed: dict[str, Any]) -> None:
    """An unknown hold, an account to itself, words that are none: nothing is written."""
    funded.place_hold(**wanted())
    before = raw.written()
    with pytest.raises(error):
        funded.capture(**capture(**changed))
    assert raw.written() == before


def test_unknown_holds_and_accounts(funded: Ledger) -> None:
    """What isn't there is said to be unknown by every call."""
    for call in (
        lambda: funded.hold("x"),
        lambda: funded.hold_events("x"),
        lambda: funded.release(key="r", hold="x"),
        lambda: funded.guard_hold("x", DEADLINE),
        lambda: funded.capture_group(key="c", group="x", credit="shop", kind="sale"),
        lambda: funded.release_group(key="r", group="x"),
    ):
        with pytest.raises(lastro.UnknownHold):
            call()
    with pytest.raises(lastro.UnknownAccount):
        funded.place_hold(**wanted(account="nobody"))
    with pytest.raises(lastro.CurrencyMismatch):
        funded.place_hold(**wanted(currency="USD"))
    with pytest.raises(lastro.UnknownAccount):
        funded.holds("nobody", "BRL")


def test_what_is_held_stays_within_64_bits(book: Ledger) -> None:
    """Holds on an account without a floor are refused before their sum leaves the range."""
    book.open_account("n", "BRL", floor=None)
    book.place_hold(**wanted(account="n", amount=2**63 - 1))
    with pytest.raises(lastro.AmountOutOfRange):
        book.place_hold(**wanted(account="n", key="h2", amount=1))
    assert book.balance("n", "BRL").held == 2**63 - 1
