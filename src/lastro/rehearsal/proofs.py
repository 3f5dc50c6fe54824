"""
The proofs of the demo: what was expected beside what the books say, one line each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from lastro.rehearsal.books import Booked, Books
from lastro.rehearsal.expectation import Expectation

SIGKILLED = -9
DIFFERENCES_SHOWN_MAX = 3
_CENTS = Decimal(100)


@dataclass(frozen=True)
class Proof:
    """
    One statement about the books: it holds when `actual` is `expected`. Money is text in whole units: "64159.77".
    """

    name: str
    expected: int | str
    actual: int | str

    @property
    def holds(self) -> bool:
        """Whether what was found is what was expected."""
        return self.expected == self.actual


@dataclass(frozen=True)
class Proofs:
    """
    All proofs of a run, and its counts (how many checkouts a second and the like: information, not a claim).
    """

    proofs: tuple[Proof, ...]
    counts: Mapping[str, int | float | str]

    @property
    def hold(self) -> bool:
        """Whether every proof holds. Without proofs nothing is proved."""
        return bool(self.proofs) and all(proof.holds for proof in self.proofs)

    @property
    def exit_code(self) -> int:
        """0 where every proof holds, else 1."""
        return 0 if self.hold else 1

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints: {"proofs": [{"name", "holds", "expected", "actual"}, …], "holds", "counts"}."""
        return {
            "proofs": [
                {"name": proof.name, "holds": proof.holds, "expected": proof.expected, "actual": proof.actual}
                for proof in self.proofs
            ],
            "holds": self.hold,
            "counts": dict(self.counts),
        }


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
    yield Proof("prices of all items (BRL)", _said(expected.prices), _in_units(books.prices))
    yield Proof("freight of all items (BRL)", _said(expected.freight), _in_units(books.freight))
    yield Proof("payments of all orders (BRL)", _said(expected.prices + expected.freight), _in_units(books.payments))


def _prove_money(expected: Expectation, books: Books, played: Played) -> Iterator[Proof]:
    due = {
        seller: int(earned * _CENTS) - played.paid.get(seller, 0) for seller, earned in sorted(expected.earned.items())
    }
    found = {account: posted for account, posted in books.balances.items() if account.startswith("seller:")}
    yield Proof("sellers whose balance is right to the cent", _all_of(len(due)), _matching(due, found))
    earned = sum(transfer.amount for transfer in books.transfers.values() if transfer.kind == "sale")
    yield Proof("earned by all sellers (BRL)", _said(sum(expected.earned.values(), Decimal(0))), _in_units(earned))
    commission = sum(transfer.amount for transfer in books.transfers.values() if transfer.kind == "commission")
    yield Proof("platform's commission (BRL)", _said(expected.commission), _in_units(commission))
    platform = int(expected.commission * _CENTS) - played.paid.get("platform", 0)
    yield Proof(
        "platform's balance: commission less payouts (BRL)", _in_units(platform), _in_units(books.balances["platform"])
    )
    everything = int((expected.prices + expected.freight) * _CENTS) - sum(played.paid.values())
    yield Proof("world: minus everything (BRL)", _in_units(-everything), _in_units(books.balances["world"]))
    yield Proof("paid out (BRL)", _in_units(sum(played.paid.values())), _in_units(_paid_by(books)))
    yield Proof("sum of all balances (BRL)", _in_units(0), _in_units(sum(books.balances.values())))
    yield Proof("sum of all entries (BRL)", _in_units(0), _in_units(books.entries_sum))


def _prove_once_only(expected: Expectation, books: Books, played: Played) -> Iterator[Proof]:
    wanted = {
        key: Booked(key.split(":")[2], "world", account, int(amount * _CENTS))
        for key, (account, amount) in expected.transfers.items()
    }
    wanted |= books.payouts
    yield Proof("transfers: one an item and seller, and the payouts", len(wanted), books.transfer_count)
    yield Proof("transfers under a key that another has", 0, books.transfer_count - books.key_count)
    yield Proof("transfers other than expected", _all_of(0), _differing(wanted, books.transfers))
    yield Proof("transfers posted by the first checkout of an order", len(expected.transfers), played.transfers_posted)
    yield Proof("checkouts that stored a new order", expected.orders, played.orders_new)
    yield Proof("checkouts repeated under the same keys", played.repeats_dealt, played.orders_repeated)
    yield Proof("payouts", played.payouts, len(books.payouts))


def _prove_books(books: Books, played: Played) -> Iterator[Proof]:
    yield Proof("debits beyond the balance refused", played.beyond, played.refused)
    yield Proof("balances below their floor", 0, sum(posted < 0 for posted in _guarded(books).values()))
    yield Proof("accounts whose balance isn't the sum of their history", 0, books.drifting)
    yield Proof("entries left in the tail", 0, books.tail_rows)
    yield Proof("consolidator killed in the middle of the run: its exit code", SIGKILLED, played.consolidator_exit_code)


def _guarded(books: Books) -> dict[str, int]:
    return {account: posted for account, posted in books.balances.items() if account != "world"}


def _paid_by(books: Books) -> int:
    """What left by the ledger's payouts, where they are the ones that the marketplace's table has."""
    return sum(transfer.amount for key, transfer in books.transfers.items() if books.payouts.get(key) == transfer)


def _all_of(count: int) -> str:
    return f"all {count}" if count else "none"


def _matching(due: Mapping[str, int], found: Mapping[str, int]) -> str:
    wrong = [account for account in sorted({*due, *found}) if due.get(account) != found.get(account)]
    return f"{len(due)} less {_shown(wrong)}" if wrong else _all_of(len(found))


def _differing(wanted: Mapping[str, Booked], found: Mapping[str, Booked]) -> str:
    wrong = [key for key in sorted({*wanted, *found}) if wanted.get(key) != found.get(key)]
    return _shown(wrong) if wrong else _all_of(0)


def _shown(wrong: list[str]) -> str:
    more = ", …" if len(wrong) > DIFFERENCES_SHOWN_MAX else ""
    return f"{len(wrong)} ({', '.join(wrong[:DIFFERENCES_SHOWN_MAX])}{more})"


def _said(units: Decimal) -> str:
    return f"{units:.2f}"


def _in_units(cents: int) -> str:
    return f"{Decimal(cents) / _CENTS:.2f}"
