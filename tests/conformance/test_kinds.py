"""Kinds: between which accounts each may stand, how it is undone, and who is held to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import lastro
from lastro import PREPAID, Kind, KindConflict, KindNotAllowed, Ledger
from tests.conformance.adapters import Caller

pytestmark = [pytest.mark.usefixtures("balanced"), pytest.mark.stores(without=("firebird",))]

LOWER, RAISE = ("debit", "refund", "reversal"), ("credit", "bonus", "free_grant")
CLIENT = "customer:42"
MANY = 60


@pytest.fixture
def prepaid(book: Ledger) -> Ledger:
    """A ledger of the article's kinds, with a client who has 1,000."""
    book.open_account(CLIENT, "USD")
    assert sorted(book.register_kinds(PREPAID)) == sorted(kind.name for kind in PREPAID)
    book.credit(CLIENT, "USD", amount=1_000, key="payment:1")
    return book


@pytest.mark.req("2.2")
def test_what_lowers_a_balance_only_lowers_it(prepaid: Ledger) -> None:
    """debit, refund and reversal take from the client; with the sides changed they are refused and nothing is written."""
    for number, kind in enumerate(LOWER, start=1):
        assert prepaid.debit(CLIENT, "USD", amount=30, key=kind, kind=kind).transfer.credit == "world"
        assert prepaid.balance(CLIENT, "USD").posted == 1_000 - 30 * number
        with pytest.raises(KindNotAllowed, match="not from 'world' to 'customer:42'") as caught:
            prepaid.credit(CLIENT, "USD", amount=30, key="b", kind=kind)
        assert (caught.value.kind, caught.value.code) == (kind, "kind_not_allowed")
        assert prepaid.transfer("b") is None
        assert prepaid.balance(CLIENT, "USD").posted == 1_000 - 30 * number


@pytest.mark.req("2.2")
def test_what_raises_a_balance_only_raises_it(prepaid: Ledger) -> None:
    """credit, bonus and free_grant give to the client; with the sides changed they are refused."""
    for number, kind in enumerate(RAISE, start=1):
        assert prepaid.credit(CLIENT, "USD", amount=30, key=kind, kind=kind).transfer.debit == "world"
        with pytest.raises(KindNotAllowed):
            prepaid.debit(CLIENT, "USD", amount=30, key="b", kind=kind)
        assert prepaid.transfer("b") is None
        assert prepaid.balance(CLIENT, "USD").posted == 1_000 + 30 * number


@pytest.mark.req("2.2")
def test_an_adjustment_alone_goes_either_way(prepaid: Ledger) -> None:
    """An adjustment raises or lowers, always against the world; two clients it may not stand between."""
    prepaid.credit(CLIENT, "USD", amount=7, key="up", kind="adjustment")
    prepaid.debit(CLIENT, "USD", amount=9, key="down", kind="adjustment")
    assert prepaid.balance(CLIENT, "USD").posted == 998
    prepaid.open_account("customer:43", "USD")
    with pytest.raises(KindNotAllowed, match="or back"):
        prepaid.post(key="x", kind="adjustment", debit=CLIENT, credit="customer:43", amount=1, currency="USD")


@pytest.mark.req("2.2")
def test_the_amount_is_always_positive(prepaid: Ledger) -> None:
    """The kind gives the direction: there is no debit of minus five."""
    for amount in (-5, 0):
        with pytest.raises(lastro.AmountOutOfRange):
            prepaid.debit(CLIENT, "USD", amount=amount, key="k")


@pytest.mark.req("2.2")
@pytest.mark.parametrize("count", [2, MANY])
def test_batches_are_held_to_their_kinds(prepaid: Ledger, count: int) -> None:
    """Of a few as of many: one of a wrong kind refuses the batch, or with partial=True is refused alone."""
    wanted: list[dict[str, Any]] = [
        {"key": f"k{n}", "kind": "debit", "debit": CLIENT, "credit": "world", "amount": 1, "currency": "USD"}
        for n in range(count)
    ]
    wanted[1] |= {"kind": "bonus"}
    with pytest.raises(KindNotAllowed) as caught:
        prepaid.post_many(wanted)
    assert caught.value.index == 1
    outcomes = prepaid.post_many(wanted, partial=True)
    assert isinstance(outcomes[1], KindNotAllowed)
    assert sum(isinstance(outcome, lastro.Posted) for outcome in outcomes) == count - 1
    assert prepaid.balance(CLIENT, "USD").posted == 1_000 - (count - 1)
    assert [p.replayed for p in prepaid.post_many(wanted[2:] or wanted[:1])] == [True] * max(count - 2, 1)


def test_kinds_hold_however_an_account_is_kept(prepaid: Ledger) -> None:
    """On hot and summed accounts too, and consolidation goes on beside it."""
    for keeping in ("hot", "summed"):
        prepaid.open_account(keeping, "USD", keeping=keeping)  # type: ignore[arg-type]
        prepaid.credit(keeping, "USD", amount=50, key=keeping, kind="bonus")
        with pytest.raises(KindNotAllowed):
            prepaid.debit(keeping, "USD", amount=5, key="b", kind="bonus")
        prepaid.consolidate()
        assert prepaid.balance(keeping, "USD").posted == 50


def test_kinds_are_registered_once(prepaid: Ledger) -> None:
    """Again on equal terms is harmless; other terms are a conflict once a transfer stands under the kind, not before."""
    assert prepaid.register_kinds(PREPAID) == []
    assert sorted(prepaid.kinds()) == sorted(PREPAID)
    with pytest.raises(KindConflict, match="'credit' is registered on other terms") as caught:
        prepaid.register_kinds([Kind("new"), Kind("credit", debit="bank*", undone_by="reversal")])
    assert caught.value.fields == {"debit": ("world", "bank*")}
    assert sorted(prepaid.kinds()) == sorted(PREPAID), "all or nothing"
    assert prepaid.register_kinds([Kind("bonus", debit=CLIENT, credit="world")]) == ["bonus"]
    prepaid.debit(CLIENT, "USD", amount=1, key="b", kind="bonus")
    with pytest.raises(KindNotAllowed):
        prepaid.credit(CLIENT, "USD", amount=1, key="c", kind="bonus")


def test_a_retry_from_before_is_replayed(book: Ledger) -> None:
    """What was posted before its kind was registered is replayed, alone, in a batch and as a reversal."""
    book.open_account(CLIENT, "USD", floor=None)
    old = {"key": "k", "kind": "credit", "debit": CLIENT, "credit": "world", "amount": 5, "currency": "USD"}
    book.post(**old)
    undone = book.reverse("k", "undo")
    book.register_kinds(PREPAID)
    assert book.post(**old).replayed
    assert [posted.replayed for posted in book.post_many([old, old])] == [True, True]
    assert book.reverse("k", "undo") == lastro.Posted(undone.transfer, replayed=True)


def test_another_process_is_held_to_it(prepaid: Ledger, reopen: Callable[..., Ledger]) -> None:
    """A process that knows the kinds from before meets the database's no, and knows better from then on."""
    late = reopen()
    late.open_account("till", "USD", floor=None)
    late.post(key="a", kind="late", debit="till", credit="world", amount=1, currency="USD")
    prepaid.register_kinds([Kind("once", debit="world"), Kind("late2", credit=CLIENT)])
    with pytest.raises(KindNotAllowed):
        late.post(key="b", kind="once", debit="till", credit="world", amount=1, currency="USD")
    assert late.transfer("b") is None
    assert late.balance("till", "USD").posted == -1
    with pytest.raises(KindNotAllowed):
        late.post_many(
            [
                {"key": f"m{n}", "kind": "late2", "debit": "till", "credit": "world", "amount": 1, "currency": "USD"}
                for n in range(MANY)
            ]
        )
    assert late.balance("till", "USD").posted == -1


def test_news_refuse_no_neighbour(prepaid: Ledger, reopen: Callable[..., Ledger]) -> None:
    """A batch of a process that doesn't know the kinds yet: what is wrong is refused alone, and with its kind."""
    late = reopen()
    pay = {"kind": "late", "debit": "world", "credit": CLIENT, "amount": 1, "currency": "USD"}
    late.post(key="first", **pay)
    prepaid.register_kinds([Kind("news", debit=CLIENT)])
    wanted = [pay | {"key": "right"}, pay | {"key": "wrong", "kind": "news"}]
    right, wrong = late.post_many(wanted, partial=True)
    assert isinstance(right, lastro.Posted)
    assert isinstance(wrong, KindNotAllowed)
    assert wrong.kind == "news"
    assert late.balance(CLIENT, "USD").posted == 1_002


def test_each_kind_is_undone_by_its_own(prepaid: Ledger) -> None:
    """What raised a balance is undone by a reversal, what lowered one by a credit; another kind is refused."""
    for kind, _, _, _, undone_by in PREPAID:
        post = prepaid.credit if kind in RAISE else prepaid.debit
        post(CLIENT, "USD", amount=30, key=kind, kind=kind)
        with pytest.raises(KindNotAllowed, match=f"undone by one of kind '{undone_by}'"):
            prepaid.reverse(kind, "wrong", kind="refund")
        part = prepaid.reverse(kind, f"{kind}:part", amount=10).transfer
        assert (part.kind, part.reverses) == (undone_by, kind)
        assert prepaid.reverse(kind, f"{kind}:part", amount=10).replayed
        assert prepaid.reverse(kind, f"{kind}:rest", kind=undone_by).transfer.amount == 20
        assert prepaid.balance(CLIENT, "USD").posted == 1_000


def test_a_late_process_undoes_nothing_by_a_wrong_kind(prepaid: Ledger, reopen: Callable[..., Ledger]) -> None:
    """A process that believes a kind undone by any meets the database's no; left out, the kind is the right one."""
    prepaid.register_kinds([Kind("fee", credit="world")])
    late = reopen()
    assert len(late.kinds()) == len(PREPAID) + 1
    prepaid.register_kinds([Kind("fee", credit="world", undone_by="waiver"), Kind("other")])
    late.debit(CLIENT, "USD", amount=5, key="k", kind="fee")
    with pytest.raises(KindNotAllowed) as caught:
        late.reverse("k", "undo", kind="other")
    assert caught.value.undone_by == "waiver"
    assert late.transfer("undo") is None
    assert late.reverse("k", "undo").transfer.kind == "waiver"


def test_a_reversal_is_held_to_its_own_kind(book: Ledger) -> None:
    """Of a kind that any may undo: the reversing kind must still fit the sides."""
    book.open_account(CLIENT, "USD", floor=None)
    book.register_kinds([*PREPAID, Kind("fee", credit="world")])
    book.debit(CLIENT, "USD", amount=5, key="k", kind="fee")
    with pytest.raises(KindNotAllowed, match="'reversal' goes from '\\*' to 'world'"):
        book.reverse("k", "undo")
    assert book.reverse("k", "undo", kind="credit").transfer.kind == "credit"


@pytest.mark.req("2.6")
def test_a_refusal_leaves_the_callers_transaction_alone(caller: Caller, callers_book: Ledger, ledger: Ledger) -> None:
    """Within a caller's transaction a kind on the wrong side is refused, and the caller's own work commits."""
    ledger.open_account(CLIENT, "USD")
    ledger.register_kinds(PREPAID)
    held = callers_book.within(caller.handle)
    caller.order(1)
    assert held.credit(CLIENT, "USD", amount=10, key="k", kind="free_grant", source="grant:user:42").replayed is False
    with pytest.raises(KindNotAllowed):
        held.debit(CLIENT, "USD", amount=5, key="l", kind="free_grant")
    assert len(held.kinds()) == len(PREPAID)
    assert held.debit(CLIENT, "USD", amount=5, key="m").transfer.debit_after == 5
    caller.commit()
    assert ledger.balance(CLIENT, "USD").posted == 5
    assert caller.execute("SELECT count(*) FROM {s}.orders")[0][0] == 1


def place(book: Any, key: str, **more: Any) -> None:
    """Set 20 of the client's money aside."""
    book.place_hold(
        key=key, account=CLIENT, currency="USD", amount=20, owner="shop",
        expires_at=datetime(2100, 1, 1, tzinfo=UTC), **more,
    )  # fmt: skip


@pytest.mark.parametrize("keeping", ["direct", "hot"])
def test_a_hold_is_captured_under_a_kind_that_allows_it(prepaid: Ledger, keeping: Any) -> None:
    """Alone and in a group: captured to the wrong side it is refused, and the hold stands; a retry is replayed."""
    prepaid.open_account("till", "USD", keeping=keeping)
    for key in ("h", "g1", "g2"):
        place(prepaid, key, group="g" if key != "h" else None)
    for call in (
        lambda: prepaid.capture(key="c", hold="h", credit="till", kind="debit"),
        lambda: prepaid.capture_group(key="cg", group="g", credit="till", kind="debit"),
    ):
        with pytest.raises(KindNotAllowed) as caught:
            call()
        assert caught.value.kind == "debit"
    assert [prepaid.hold(key).left for key in ("h", "g1", "g2")] == [20, 20, 20]
    assert prepaid.capture(key="c", hold="h", credit="till", kind="sale").transfer.amount == 20
    assert len(prepaid.capture_group(key="cg", group="g", credit="world", kind="debit")) == 2
    prepaid.register_kinds([Kind("sale", debit="world")])
    assert prepaid.capture(key="c", hold="h", credit="till", kind="sale").replayed
    assert prepaid.balance(CLIENT, "USD").posted == 940


def test_a_late_process_captures_no_hold_under_a_wrong_kind(prepaid: Ledger, reopen: Callable[..., Ledger]) -> None:
    """A capture by one statement meets the database's no where this process doesn't know the kind yet."""
    late = reopen()
    late.open_account("till", "USD", floor=None)
    place(late, "h")
    late.post(key="first", kind="other", debit="till", credit="world", amount=1, currency="USD")
    prepaid.register_kinds([Kind("sale", credit="world")])
    with pytest.raises(KindNotAllowed) as caught:
        late.capture(key="c", hold="h", credit="till", kind="sale")
    assert caught.value.kind == "sale"
    assert late.hold("h").left == 20


def test_points_move_under_kinds_that_allow_it(book: Ledger) -> None:
    """What points post is held to their kinds' sides and to what undoes them; refused, it leaves nothing behind."""
    points = book.points
    points.define_rule("game", activity="game", points=10, currency="PTS")
    book.open_account("mug", "PTS", floor=None)
    book.register_kinds(
        [
            Kind("earn", credit="member:*", undone_by="earn-cancel"),
            Kind("spend", debit="member:*", credit="shop:*", undone_by="reversal"),
        ]
    )
    with pytest.raises(KindNotAllowed):
        points.earn("e0", activity="game", member="nobody's")
    assert points.earn("e1", activity="game", member="member:1").activity.earnings
    assert points.earn("e2", activity="game", member="member:1").activity.earnings
    with pytest.raises(KindNotAllowed):
        points.spend(key="s", member="member:1", amount=5, currency="PTS", reward="mug")
    book.open_account("shop:mug", "PTS", floor=None)
    points.spend(key="s", member="member:1", amount=5, currency="PTS", reward="shop:mug")
    with pytest.raises(KindNotAllowed, match="undone by one of kind 'reversal', not 'refund'"):
        points.refund(key="r", spend="s")
    assert points.cancel("e1").activity.cancelled_at is not None
    assert book.balance("member:1", "PTS").posted == 5
    assert sum(lot.left_over for lot in points.lots("member:1", "PTS")) == 5


@pytest.mark.req("2.8")
def test_an_entry_says_where_it_came_from_and_who_did_it(prepaid: Ledger) -> None:
    """Source and actor of each single-entry posting stand on its entry, beside its kind, key and balances."""
    prepaid.credit(CLIENT, "USD", amount=5, key="payment:2", source="payment:2", actor="webhook", cause="top-up")
    prepaid.debit(CLIENT, "USD", amount=3, key="job:1:period:1", source="job:1", actor="charger")
    first, second = prepaid.entries(CLIENT, "USD")[-2:]
    assert (first.kind, first.source, first.actor, first.cause) == ("credit", "payment:2", "webhook", "top-up")
    assert (second.kind, second.source, second.actor, second.balance_before, second.balance_after) == (
        "debit", "job:1", "charger", 1_005, 1_002,
    )  # fmt: skip


@pytest.mark.req("2.4")
@pytest.mark.req("2.5")
def test_a_key_names_one_operation(prepaid: Ledger) -> None:
    """A webhook that comes twice is applied once, and gets the first entry with its balances again."""
    first = prepaid.credit(CLIENT, "USD", amount=5, key="payment:2", kind="credit")
    again = prepaid.credit(CLIENT, "USD", amount=5, key="payment:2", kind="credit", actor="another worker")
    assert (first.transfer.credit_before, first.transfer.credit_after) == (1_000, 1_005)
    assert again == lastro.Posted(first.transfer, replayed=True)
    with pytest.raises(lastro.TransferConflict) as caught:
        prepaid.credit(CLIENT, "USD", amount=5, key="payment:2", kind="bonus")
    assert list(caught.value.fields) == ["kind"]
