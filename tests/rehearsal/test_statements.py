"""Part three of the demo: statements merged by two processes at once, corrected, matched; the planted ten are found."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lastro import InvalidInput
from lastro.rehearsal.marketplace import check_out, pay_out
from lastro.rehearsal.order_rows import make_rows, orders_of
from lastro.rehearsal.proof import Proof
from lastro.rehearsal.stage import Stage, set_stage
from lastro.rehearsal.statements import playing
from lastro.rehearsal.statements.books import Found
from lastro.rehearsal.statements.lines import said_of
from lastro.rehearsal.statements.merging import Merged
from lastro.rehearsal.statements.planting import Difference, plant
from lastro.rehearsal.statements.proofs import Sent, prove
from lastro.rehearsal.statements.workbooks import write_zip

ORDERS = 160


class Played(NamedTuple):
    """Part three, played to its end, with its books still there."""

    stage: Stage
    sent: Sent
    first: Merged
    corrected: Merged
    found: Found

    def proofs(self, **other: Any) -> tuple[Proof, ...]:
        """Its proofs, some of what they judge made otherwise."""
        return prove(*self._replace(**other)[1:])


@pytest.fixture(scope="module")
def played(server_url: str) -> Iterator[Played]:
    """Some made orders checked out and some of it paid out, then part three."""
    orders = orders_of(make_rows(ORDERS, seed=3))
    with set_stage(server_url, beside_others=True) as stage, stage.open_shop() as shop, stage.connect() as till:
        shop.set_up(till)
        shop.register(till, {item.seller for order in orders for item in order.items})
        for order in orders:
            check_out(till, shop, order)
        for number, order in enumerate(orders[:5]):
            assert pay_out(till, shop, payout_id=f"p{number}", account=f"seller:{order.items[0].seller}", amount=10)
        assert pay_out(till, shop, payout_id="platform", account="platform", amount=10)
        yield Played(stage, *playing.play(stage, orders))


def refuted(proofs: tuple[Proof, ...]) -> set[str]:
    """The names of the proofs that don't hold."""
    return {proof.name for proof in proofs if not proof.holds}


@pytest.mark.req("4.1")
@pytest.mark.req("4.2")
def test_exactly_the_planted_ten_are_reported(played: Played) -> None:
    """Merged twice at once and corrected twice at once, the statement differs from the ledger by what was planted."""
    assert refuted(played.proofs()) == set()
    assert len(played.sent.planted) == 10
    reported = [difference for matched in played.found.matched for difference in matched.differences]
    assert sorted(reported) == sorted(played.sent.planted)
    assert {difference.outcome for difference in reported} == {
        "missing_in_ledger", "missing_in_statement", "amount_differs",
    }  # fmt: skip
    mistakes = played.sent.mistakes
    assert all(all(each) for each in mistakes.values())
    # Split orders and items of several sellers make groups of many to one and one to many as well.
    movements, billing = (matched.run for matched in played.found.matched)
    assert (movements.missing_in_statement, movements.missing_in_ledger, movements.amount_differs) == (2, 2, 3)
    assert (billing.missing_in_statement, billing.missing_in_ledger, billing.amount_differs) == (1, 1, 1)
    assert movements.matched > ORDERS - 10


def _without_first(found: Found) -> Found:
    matched = found.matched[0]
    return found._replace(matched=(matched._replace(differences=matched.differences[1:]), *found.matched[1:]))


def _with_stranger(found: Found) -> Found:
    matched = found.matched[0]
    stranger = Difference("movements", "missing_in_ledger", "order:other", 1)
    return found._replace(matched=(matched._replace(differences=(*matched.differences, stranger)), *found.matched[1:]))


def _with_items(**items: int) -> Callable[[Found], Found]:
    def changed(found: Found) -> Found:
        matched = found.matched[0]
        more = {name: getattr(matched.items, name) + change for name, change in items.items()}
        return found._replace(matched=(matched._replace(items=matched.items._replace(**more)), *found.matched[1:]))

    return changed


# What is found otherwise, and the proofs that have to see it.
DEFECTS: dict[str, tuple[Callable[[Found], Found], set[str]]] = {
    "one isn't reported": (_without_first, {"differences reported", "differences other than the planted"}),
    "one too many is": (_with_stranger, {"differences reported", "differences other than the planted"}),
    "a line in no group": (_with_items(lines=-1), {"movements: lines that ended in a group"}),
    "a transfer in two": (_with_items(transfers=1), {"movements: transfers that ended in a group"}),
    "a cent lost": (
        _with_items(said=-1),
        {"movements: what the statement says more than the ledger, in cents"},
    ),
    "a transfer more": (
        lambda found: found._replace(after=found.after._replace(transfers=found.after.transfers + 1)),
        {"transfers after matching"},
    ),
    "a transfer changed": (
        lambda found: found._replace(after=found.after._replace(digest="other")),
        {"digest of the history after matching"},
    ),
    "a line merged wrongly": (
        lambda found: found._replace(lines={**found.lines, ("movements", "mv-000000"): ("mv-000000",)}),
        {"lines stored other than the corrections say"},
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_seen(played: Played, defect: str) -> None:
    """Each proof fails when what it judges is otherwise."""
    change, seen_by = DEFECTS[defect]
    assert refuted(played.proofs(found=change(played.found))) == seen_by


def test_merges_that_did_otherwise_are_seen(played: Played) -> None:
    """A file in error, a line written twice: the proofs about the merges fail."""
    failed = Merged([[("error: it fell", {})]])
    assert refuted(played.proofs(first=failed)) == {
        "first zip: files merged by 2 processes at once",
        "movements: lines of the first zip written once, left alone by the other process",
        "billing: lines of the first zip written once, left alone by the other process",
    }
    twice = Merged([[("merged", {sheet: dict(counts) for sheet, counts in played.corrected.rows.items()})]])
    twice.rows["billing"]["updated"] += 1
    assert refuted(played.proofs(corrected=twice)) == {"billing: lines that the corrections changed, once"}


def test_a_difference_that_was_not_planted_is_reported(played: Played) -> None:
    """A transfer posted behind the provider's back makes an eleventh, by the real rules on the real tables."""
    stage = played.stage
    with stage.open_shop() as shop:
        books = shop.books
        seller = next(account.name for account in books.accounts(prefix="seller:", limit=1))
        books.post(
            key="stray", kind="sale", debit="world", credit=seller, amount=7, currency="BRL", cause="order:stray"
        )
        run = books.matching.match("movements", period=played.sent.said.period)
    assert run.missing_in_statement == 3


def test_a_zip_that_is_given_is_merged_twice_and_counted(played: Played, server_url: str, tmp_path: Path) -> None:
    """With a zip of one's own there is nothing planted: the merges are proved, and what differs is a figure."""
    said = played.sent.said
    file = write_zip(tmp_path / "mine.zip", said._replace(movements=said.movements[:50], billing=said.billing[:20]))
    given = playing.read_given(file)
    assert given.period == played.sent.said.period
    with set_stage(server_url, beside_others=True) as stage:
        with stage.open_shop() as shop, stage.connect() as till:
            shop.set_up(till)
        proofs = playing.run(stage, (), given=given)
    assert refuted(proofs.proofs) == set()
    assert proofs.hold
    assert proofs.counts["movements_matched"] == 0
    assert int(proofs.counts["billing_missing_in_ledger"]) > 0


def test_a_zip_of_something_else_is_refused(tmp_path: Path) -> None:
    """A zip in which nothing is a statement is refused in words."""
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as packed:
        packed.writestr("notes.txt", "nothing")
    with pytest.raises(InvalidInput, match="--check"):
        playing.read_given(tmp_path / "other.zip")


def test_few_orders_get_as_many_differences_as_fit() -> None:
    """With hardly an order there are fewer than ten, each still of an order of its own within its sheet."""
    for count in (1, 2, 5, 12):
        orders = orders_of(make_rows(count, seed=3))
        said, planted = plant(said_of(orders, dict.fromkeys((order.id for order in orders), date(2026, 11, 30)), []))
        assert 2 <= len(planted) <= 10
        assert len({(each.sheet, each.reference) for each in planted}) == len(planted)
        due = sum(each.cents for each in planted)
        assert due == sum(line.amount for line in (*said.movements, *said.billing)) - sum(
            order.total + sum(item.commission for item in order.items) for order in orders
        )
