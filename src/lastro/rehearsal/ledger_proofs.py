"""
What every ledger of a rehearsal must prove at its end, whatever was played on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from lastro.rehearsal.ledger_books import LedgerBooks
from lastro.rehearsal.proof import Proof, in_units


def prove_ledger(books: LedgerBooks, *, currency: str, unguarded: Collection[str]) -> Iterator[Proof]:
    """
    Hold a ledger against itself. `unguarded`: the accounts that may be below zero.
    """
    below = [account for account, posted in books.balances.items() if posted < 0 and account not in unguarded]
    yield Proof(f"sum of all balances ({currency})", in_units(0), in_units(sum(books.balances.values())))
    yield Proof(f"sum of all entries ({currency})", in_units(0), in_units(books.entries_sum))
    yield Proof("transfers under a key that another has", 0, books.transfer_count - books.key_count)
    yield Proof("balances below their floor", 0, len(below))
    yield Proof("accounts whose balance isn't the sum of their history", 0, books.drifting)
    yield Proof("entries left in the tail", 0, books.tail_rows)
