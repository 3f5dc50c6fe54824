"""Spending, giving and refunding, lot by lot: in which order points go, what they keep, and what is owed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lastro import (
    AccountConflict,
    AlreadyReversed,
    InsufficientFunds,
    InvalidInput,
    KindNotAllowed,
    Ledger,
    TransferConflict,
    UnknownAccount,
    UnknownTransfer,
    UnreadableRow,
)
from lastro.ledger.points_blocking import Points
from lastro.points.lots import Lot, Use, take_from
from lastro.testing import Clock, assert_balanced
from tests.conformance.eyes import Raw
from tests.points.members import CURRENCY, REWARD, Club

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def lot(transfer_id: int, left_over: int) -> Lot:
    """A lot of some account."""
    return Lot(1, transfer_id, 1, left_over, NOON, None)


@pytest.mark.parametrize(
    ("amount", "taken"), [(1, [1]), (10, [10]), (11, [10, 1]), (30, [10, 20]), (31, [10, 20]), (0, [])]
)
def test_an_amount_is_taken_from_the_first_lots(amount: int, taken: list[int]) -> None:
    """Lots are emptied in their order, the last of them in part; what they don't hold isn't taken."""
    lots = [lot(1, 10), lot(2, 20)]
    assert take_from(lots, amount) == [Use(lots[place], part) for place, part in enumerate(taken)]


@pytest.mark.req("1.13")
@pytest.mark.case("C057")
def test_spent_points_do_not_expire_a_second_time(club: Club, clock: Clock) -> None:
    """100 until 31 January and 100 until 31 December, 100 spent on 15 January: on 1 February 100 are there."""
    club.earn("ana", 100, days=30)
    club.earn("ana", 100, days=364)
    clock.set(datetime(2026, 1, 15, tzinfo=UTC))
    club.spend("ana", 100)
    clock.set(datetime(2026, 2, 1, 12, tzinfo=UTC))
    assert club.points.expire().points == 0
    assert club.posted("ana") == 100
    clock.set(datetime(2027, 1, 1, 12, tzinfo=UTC))
    assert club.points.expire().points == 100
    assert club.posted("ana") == 0


@pytest.mark.req("1.13")
@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ("soonest", [(5, 40), (10, None)]),
        ("oldest", [(10, 20), (5, None)]),
        ("newest", [(10, 40), (5, None)]),
    ],
)
def test_the_order_of_spending_is_a_policy(club: Club, policy: str, left: list[tuple[int, int | None]]) -> None:
    """Soonest to expire first (what never expires last), or by age from either end."""
    for days in (42, None, 20):
        club.earn("ana", 10, days=days)
        club.pass_days(1)
    club.pass_days(-1)
    club.spend("ana", 15, policy=policy)
    assert club.lots("ana") == left


@pytest.mark.req("1.13")
def test_of_lots_that_expire_together_the_oldest_goes_first(club: Club) -> None:
    """Of two lots with the same end the one earned first is spent first."""
    club.earn("ana", 10, days=20)
    club.pass_days(1)
    club.earn("ana", 7, days=19)
    club.spend("ana", 10)
    assert club.lots("ana") == [(7, 19)]


@pytest.mark.req("1.12")
def test_a_spend_never_goes_below_zero(club: Club, raw: Raw) -> None:
    """One point too many is refused, with the numbers, and nothing is written; the same key may be used again."""
    club.earn("ana", 10)
    before = raw.written()
    with pytest.raises(InsufficientFunds) as refused:
        club.spend("ana", 11, key="mug")
    assert (refused.value.needed, refused.value.available, refused.value.due) == (11, 10, 0)
    assert raw.written() == before
    club.earn("ana", 1)
    club.spend("ana", 11, key="mug")
    assert club.posted(REWARD) == 11
    assert club.lots("ana") == []


def test_an_account_without_a_floor_is_not_overdrawn_by_points(ledger: Ledger, club: Club) -> None:
    """Spending stops at zero whatever floor the account has, and however it is kept."""
    for member, keeping in (("ana", "direct"), ("ben", "hot"), ("cleo", "summed")):
        ledger.open_account(member, CURRENCY, keeping=keeping, floor=None)  # type: ignore[arg-type]
        club.earn(member, 10)
        with pytest.raises(InsufficientFunds):
            club.spend(member, 11)
        club.spend(member, 9)
        club.give(member, "dora", 1)
    club.give("dora", "ben", 2)
    club.give("dora", "cleo", 1)
    assert (club.lots("ben"), club.lots("cleo"), club.posted("ben")) == ([(2, None)], [(1, None)], 2)


@pytest.mark.req("1.13")
def test_what_is_past_its_expiry_is_not_spent(club: Club) -> None:
    """From the moment a lot expires it can't be spent, expirer or not, and the refusal says how much waits there."""
    club.earn("ana", 10, days=1)
    club.earn("ana", 5)
    club.pass_days(2)
    with pytest.raises(InsufficientFunds, match="10 more are past their expiry") as refused:
        club.spend("ana", 6)
    assert (refused.value.available, refused.value.due) == (5, 10)
    club.spend("ana", 5)
    assert club.posted("ana") == 10
    club.points.expire()
    assert club.posted("ana") == 0


def test_the_end_of_a_lot_is_exact(club: Club, clock: Clock) -> None:
    """A microsecond before its end a lot is spent, and at its end it isn't."""
    club.earn("ana", 10, days=1)
    (end,) = (lot.expires_at for lot in club.points.lots("ana", CURRENCY))
    assert end == datetime(2026, 1, 3, tzinfo=UTC)
    clock.set(end - timedelta(microseconds=1))
    club.spend("ana", 1)
    assert club.points.expire().lots == 0
    clock.set(end)
    with pytest.raises(InsufficientFunds):
        club.spend("ana", 1)
    assert club.points.expire().points == 9


@pytest.mark.req("1.13")
def test_a_gift_keeps_the_expiry_of_what_it_is_made_of(club: Club) -> None:
    """Each part of a gift expires when the lot it came from would have, and is as old."""
    club.earn("ana", 10, days=5)
    club.pass_days(1)
    club.earn("ana", 10)
    club.give("ana", "ben", 15)
    assert club.lots("ana") == [(5, None)]
    assert club.lots("ben") == [(10, 4), (5, None)]
    assert [lot.earned_at.day for lot in club.points.lots("ben", CURRENCY)] == [1, 2]
    club.pass_days(5)
    club.points.expire()
    assert (club.posted("ana"), club.posted("ben")) == (5, 5)


def test_parts_of_one_age_and_expiry_are_one_lot(club: Club) -> None:
    """A gift out of many lots that are equal in all that matters doesn't hand their number on."""
    for _ in range(5):
        club.earn("ana", 10, days=5)
    club.give("ana", "ben", 45)
    assert club.lots("ben") == [(45, 5)]


def test_a_gift_is_posted_once(club: Club) -> None:
    """Repeated with the same content it is replayed and moves nothing; with other content it is a conflict."""
    club.earn("ana", 10)
    assert not club.give("ana", "ben", 4, key="gift").replayed
    assert club.give("ana", "ben", 4, key="gift").replayed
    with pytest.raises(TransferConflict):
        club.give("ana", "ben", 5, key="gift")
    with pytest.raises(TransferConflict):
        club.give("ana", "nobody yet", 4, key="gift")
    with pytest.raises(UnknownAccount):
        club.ledger.balance("nobody yet", CURRENCY)
    assert (club.lots("ana"), club.lots("ben")) == ([(6, None)], [(4, None)])


def test_a_gift_that_is_refused_opens_no_account(club: Club, raw: Raw) -> None:
    """Whoever would have received it is no member for that."""
    club.earn("ana", 10)
    before = raw.written()
    with pytest.raises(InsufficientFunds):
        club.give("ana", "ben", 11)
    assert raw.written() == before
    with pytest.raises(UnknownAccount):
        club.give("nobody", "ben", 1)
    assert raw.written() == before


def test_a_gift_to_oneself_is_refused(club: Club) -> None:
    """Giver and receiver are two."""
    club.earn("ana", 10)
    with pytest.raises(InvalidInput, match="somebody else"):
        club.give("ana", "ana", 1)


def test_points_reach_a_member_by_gifts_only(club: Club, points: Points) -> None:
    """A member can't be the reward of a spend: the points would have no lot."""
    club.earn("ana", 10)
    club.earn("ben", 10)
    with pytest.raises(KindNotAllowed, match="gift"):
        points.spend(key="s", member="ana", amount=1, currency=CURRENCY, reward="ben")


def test_a_policy_is_one_of_three(club: Club) -> None:
    """Another word is refused before anything is asked of the database."""
    with pytest.raises(InvalidInput, match="soonest, oldest, newest"):
        club.spend("ana", 1, policy="cheapest")


@pytest.mark.req("1.13")
def test_a_refund_goes_back_into_the_lots_it_came_from(club: Club) -> None:
    """In parts, last taken first; each lot has its expiry again, and no part comes back twice."""
    club.earn("ana", 10, days=5)
    club.earn("ana", 10, days=9)
    club.earn("ana", 10)
    spend = club.spend("ana", 25)
    assert club.lots("ana") == [(5, None)]
    club.refund(spend, 8)
    assert club.lots("ana") == [(3, 9), (10, None)]
    club.refund(spend, 10, key="again")
    assert club.lots("ana") == [(3, 5), (10, 9), (10, None)]
    assert club.refund(spend, 10, key="again").replayed
    with pytest.raises(AlreadyReversed) as refused:
        club.refund(spend, 8)
    assert refused.value.left == 7
    club.refund(spend)
    assert club.lots("ana") == [(10, 5), (10, 9), (10, None)]
    assert (club.posted("ana"), club.posted(REWARD)) == (30, 0)


def test_what_was_refunded_can_be_spent_again(club: Club) -> None:
    """A second spend takes the refunded lots in the usual order, and its own refund is as exact as the first."""
    club.earn("ana", 10, days=5)
    club.earn("ana", 10)
    club.refund(club.spend("ana", 12))
    second = club.spend("ana", 11)
    assert club.lots("ana") == [(9, None)]
    club.refund(second, 2)
    assert club.lots("ana") == [(1, 5), (10, None)]


def test_a_plain_posting_is_no_spend(ledger: Ledger, club: Club, raw: Raw) -> None:
    """What was posted under the kind `spend` by the ledger itself took from no lot: its refund is refused by name."""
    club.earn("ana", 10)
    ledger.open_account("shop", CURRENCY)
    ledger.post(key="plain", kind="spend", debit="ana", credit="shop", amount=5, currency=CURRENCY)
    before = raw.written()
    with pytest.raises(UnknownTransfer, match="'plain' took nothing from a member's lots") as refused:
        club.points.refund(key="back", spend="plain")
    assert (refused.value.key, raw.written()) == ("plain", before)
    ledger.reverse("plain", new_key="undo")


@pytest.mark.req("1.13")
def test_a_refund_of_expired_points_expires_at_the_next_tick(club: Club) -> None:
    """The lot comes back with the end it always had; nobody can spend it, and the expirer takes it."""
    club.earn("ana", 10, days=1)
    spend = club.spend("ana", 10)
    club.pass_days(3)
    assert club.points.expire().lots == 0
    club.refund(spend, 4)
    with pytest.raises(InsufficientFunds):
        club.spend("ana", 1)
    assert club.points.expire().points == 4
    club.refund(spend)
    assert club.points.expire().points == 6
    assert (club.posted("ana"), club.posted("points:expired")) == (0, 10)


@pytest.mark.parametrize("reward", ["world", "points:issued", "points:anything"])
def test_a_reward_is_none_of_the_ledgers_own_accounts(club: Club, reward: str) -> None:
    """What is paid into the world or back to the issuer would be no spend; the refusal says which names are taken."""
    club.earn("ana", 10)
    with pytest.raises(InvalidInput, match=r"reward '.*' is one of the ledger's own names") as refused:
        club.points.spend(key="s", member="ana", reward=reward, amount=1, currency=CURRENCY)
    assert refused.value.argument == "reward"
    assert club.posted("ana") == 10


def test_only_a_spend_is_refunded(club: Club) -> None:
    """Neither an earning nor a gift nor a key that names nothing; the refusal says which."""
    club.earn("ana", 10)
    club.give("ana", "ben", 5, key="gift")
    with pytest.raises(UnknownTransfer, match="'give'"):
        club.points.refund(key="r", spend="gift")
    with pytest.raises(UnknownTransfer, match="no transfer has it"):
        club.points.refund(key="r", spend="nothing")


@pytest.mark.req("1.12")
@pytest.mark.case("C053")
def test_what_was_cancelled_after_it_was_spent_is_owed(club: Club) -> None:
    """The balance goes below zero, no lot is open, and what comes next pays first: earnings, gifts and refunds."""
    activity = club.earn("ana", 100)
    spend = club.spend("ana", 90)
    club.points.cancel(activity)
    assert (club.posted("ana"), club.lots("ana")) == (-90, [])
    club.earn("ana", 20, days=5)
    assert (club.posted("ana"), club.lots("ana")) == (-70, [])
    club.earn("ben", 30, days=7)
    club.give("ben", "ana", 30)
    assert (club.posted("ana"), club.lots("ana")) == (-40, [])
    club.refund(spend, 50)
    assert (club.posted("ana"), club.lots("ana")) == (10, [(10, None)])
    club.earn("ana", 1, days=3)
    assert club.lots("ana") == [(1, 3), (10, None)]


def test_debt_is_paid_by_what_expires_soonest(club: Club) -> None:
    """Of a gift in several parts the debt takes those that would be lost first."""
    activity = club.earn("ana", 12)
    club.spend("ana", 12)
    club.points.cancel(activity)
    club.earn("ben", 10)
    club.earn("ben", 10, days=3)
    club.give("ben", "ana", 20)
    assert (club.posted("ana"), club.lots("ana")) == (8, [(8, None)])


def test_a_cancelled_activity_takes_its_own_lot_first(club: Club) -> None:
    """Then those that expire soonest."""
    club.earn("ana", 10, days=3)
    club.earn("ana", 10, days=6)
    activity = club.earn("ana", 10)
    club.spend("ana", 4, policy="newest")
    club.points.cancel(activity)
    assert club.lots("ana") == [(6, 3), (10, 6)]


def test_points_posted_past_the_lots_are_found_and_not_spent(ledger: Ledger, club: Club, raw: Raw) -> None:
    """A plain posting to a member's account leaves points without a lot: a spend says so, and the audit names it."""
    club.earn("ana", 10)
    ledger.post(key="past", kind="bonus", debit="world", credit="ana", amount=5, currency=CURRENCY)
    club.spend("ana", 10)
    before = raw.written()
    with pytest.raises(UnreadableRow, match=r"past lastro\.points"):
        club.spend("ana", 1)
    assert raw.written() == before
    with pytest.raises(AssertionError, match="lots of ana PTS: expected 5, found 0"):
        assert_balanced(ledger)
    ledger.post(key="back", kind="bonus", debit="ana", credit="world", amount=5, currency=CURRENCY)


def test_the_audit_finds_a_lot_that_says_something_else_than_its_uses(ledger: Ledger, club: Club, raw: Raw) -> None:
    """A lot whose rest or whose end was changed by hand is named, though the sums still agree."""
    club.earn("ana", 10)
    club.earn("ana", 10)
    low, high = (one.transfer_id for one in club.points.lots("ana", CURRENCY))
    raw("UPDATE {s}.open_lot SET left_over = left_over + 1 WHERE transfer_id = %s", low)
    raw("UPDATE {s}.open_lot SET left_over = left_over - 1 WHERE transfer_id = %s", high)
    with pytest.raises(AssertionError, match=rf"lots: lot {low}\.1: expected 10 left.*found 11 left"):
        assert_balanced(ledger)
    raw("UPDATE {s}.open_lot SET left_over = 10")


def test_lots_are_read_in_pages(club: Club) -> None:
    """Soonest first, what never expires last; the page after a lot begins behind it."""
    for days in (9, None, 3, 3, None):
        club.earn("ana", 1, days=days)
    pages = [club.points.lots("ana", CURRENCY, limit=2)]
    while pages[-1]:
        pages.append(club.points.lots("ana", CURRENCY, after=pages[-1][-1], limit=2))
    assert [len(page) for page in pages] == [2, 2, 1, 0]
    assert [one for page in pages for one in page] == club.points.lots("ana", CURRENCY)
    with pytest.raises(UnknownAccount):
        club.points.lots("nobody", CURRENCY)


@pytest.mark.req("1.12")
def test_a_gift_is_for_members(club: Club, ledger: Ledger) -> None:
    """An account with a balance that is no member's takes no gift, for no lots stand behind it; an empty one joins."""
    club.earn("ana", 30)
    club.spend("ana", 20)
    with pytest.raises(AccountConflict, match="no lots stand behind"):
        club.give("ana", REWARD, 5)
    ledger.open_account("ben", CURRENCY)
    club.give("ana", "ben", 5)
    with pytest.raises(KindNotAllowed):
        club.points.spend(key="late", member="ana", amount=1, currency=CURRENCY, reward="ben")
    assert (club.lots("ana"), club.lots("ben")) == ([(5, None)], [(5, None)])


@pytest.mark.req("1.12")
def test_a_refund_by_a_reward_that_joined_since_goes_out_of_its_lots(club: Club, ledger: Ledger) -> None:
    """A reward that has become a member's account pays refunds from its lots, and owes what they don't cover."""
    club.earn("ana", 40)
    club.earn("ben", 5)
    spends = [club.spend("ana", amount) for amount in (20, 15)]
    ledger.open_account("vault", CURRENCY)
    ledger.post(key="emptied", kind="move", debit=REWARD, credit="vault", amount=35, currency=CURRENCY)
    club.earn(REWARD, 30)
    club.refund(spends[0])
    assert (club.lots("ana"), club.lots(REWARD)) == ([(25, None)], [(10, None)])
    club.refund(spends[1])
    assert (club.posted("ana"), club.posted(REWARD), club.lots(REWARD)) == (40, -5, [])
    club.give("ben", REWARD, 5)
    assert (club.posted(REWARD), club.lots(REWARD)) == (0, [])
