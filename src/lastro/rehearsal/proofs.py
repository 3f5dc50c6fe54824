"""
What the demo's part one proves: what was expected beside what the books say, one line each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from lastro.rehearsal.books import Books
from lastro.rehearsal.expectation import Expectation
from lastro.rehearsal.ledger_books import Booked
from lastro.rehearsal.ledger_proofs import prove_ledger
from lastro.rehearsal.marketplace import CURRENCY, WORLD
from lastro.rehearsal.proof import Proof, all_of, differing, in_units, matching

SIGKILLED = -9
_CENTS = Decimal(100)


@dataclass(frozen=True)
class Played:
    """
    What the processes of the run said they did. `paid` is the paymasters' own account, in cents by account.
    """

    repeats_dealt: int
    orders_new: int
    orders_repeated: int
    transfers_posted: int
    paid: Mapping[str, int]
    payouts: int
    beyond: int
    refused: int
    orders_counted: int
    consolidator_exit_code: int


def prove(expected: Expectation, books: Books, played: Played) -> tuple[Proof, ...]:
    """
    Hold the books against what the rows say and against what the processes did.
    """
    return (
        *_prove_orders(expected, books, played),
        *_prove_money(expected, books, played),
        *_prove_once_only(expected, books, played),
        *_prove_books(books, played),
    )


def _prove_orders(expected: Expectation, books: Books, played: Played) -> Iterator[Proof]:
    yield Proof("orders counted by the sliced metric", expected.orders, played.orders_counted)
    yield Proof("orders in the marketplace's table", expected.orders, books.orders)
    yield Proof("items in the marketplace's table", expected.items, books.items)
    yield Proof("prices of all items (BRL)", _said(expected.prices), in_units(books.prices))
    yield Proof("freight of all items (BRL)", _said(expected.freight), in_units(books.freight))
    yield Proof("payments of all orders (BRL)", _said(expected.prices + expected.freight), in_units(books.payments))


def _prove_money(expected: Expectation, books: Books, played: Played) -> Iterator[Proof]:
    due = {
        seller: int(earned * _CENTS) - played.paid.get(seller, 0) for seller, earned in sorted(expected.earned.items())
    }
    found = {account: posted for account, posted in books.ledger.balances.items() if account.startswith("seller:")}
    yield Proof("sellers whose balance is right to the cent", all_of(len(due)), matching(due, found))
    earned = sum(transfer.amount for transfer in books.ledger.transfers.values() if transfer.kind == "sale")
    yield Proof("earned by all sellers (BRL)", _said(sum(expected.earned.values(), Decimal(0))), in_units(earned))
    commission = sum(transfer.amount for transfer in books.ledger.transfers.values() if transfer.kind == "commission")
    yield Proof("platform's commission (BRL)", _said(expected.commission), in_units(commission))
    platform = int(expected.commission * _CENTS) - played.paid.get("platform", 0)
    yield Proof(
        "platform's balance: commission less payouts (BRL)",
        in_units(platform),
        in_units(books.ledger.balances["platform"]),
    )
    everything = int((expected.prices + expected.freight) * _CENTS) - sum(played.paid.values())
    yield Proof("world: minus everything (BRL)", in_units(-everything), in_units(books.ledger.balances["world"]))
    yield Proof("paid out (BRL)", in_units(sum(played.paid.values())), in_units(_paid_by(books)))


def _prove_once_only(expected: Expectation, books: Books, played: Played) -> Iterator[Proof]:
    wanted = {
        key: Booked(key.split(":")[2], "world", account, int(amount * _CENTS))
        for key, (account, amount) in expected.transfers.items()
    }
    wanted |= books.payouts
    yield Proof("transfers: one an item and seller, and the payouts", len(wanted), books.ledger.transfer_count)
    yield Proof("transfers other than expected", all_of(0), differing(wanted, books.ledger.transfers))
    yield Proof("transfers posted by the first checkout of an order", len(expected.transfers), played.transfers_posted)
    yield Proof("checkouts that stored a new order", expected.orders, played.orders_new)
    yield Proof("checkouts repeated under the same keys", played.repeats_dealt, played.orders_repeated)
    yield Proof("payouts", played.payouts, len(books.payouts))


def _prove_books(books: Books, played: Played) -> Iterator[Proof]:
    yield Proof("debits beyond the balance refused", played.beyond, played.refused)
    yield from prove_ledger(books.ledger, currency=CURRENCY, unguarded={WORLD})
    yield Proof("consolidator killed in the middle of the run: its exit code", SIGKILLED, played.consolidator_exit_code)


def _paid_by(books: Books) -> int:
    """What left by the ledger's payouts, where they are the ones that the marketplace's table has."""
    return sum(
        transfer.amount for key, transfer in books.ledger.transfers.items() if books.payouts.get(key) == transfer
    )


def _said(units: Decimal) -> str:
    return f"{units:.2f}"
