"""
The operations of one ledger: input checked, and the plan to run for it. Blocking and awaiting ledgers share them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lastro.errors import InvalidInput, Refusal
from lastro.ledger.asking import Ask, limit_within, positive, whole_number
from lastro.ledger.closed_periods_operations import AsksClosedPeriods
from lastro.ledger.closings_operations import AsksClosings
from lastro.ledger.holds_operations import HoldOperations
from lastro.ledger.kinds_operations import AsksKinds
from lastro.ledger.reconciliation_operations import AsksReconciliation
from lastro.model.account import (
    WORLD,
    Account,
    Balance,
    account_name,
    currency_code,
    floor_amount,
    keeping_word,
)
from lastro.model.limits import (
    ACCOUNTS_LISTED_MAX,
    BATCH_TRANSFERS_MAX,
    COUNTER_CHARACTERS_MAX,
    ENTRIES_MAX,
    PARTITION_TRANSFERS,
    PARTITIONS_AHEAD,
)
from lastro.model.moment import optional_utc
from lastro.model.statement import by_word
from lastro.model.text import metadata_json, shown, text
from lastro.model.transfer import (
    Entry,
    Intent,
    Posted,
    Transfer,
    intent,
    intent_of,
    transfer_amount,
    transfer_key,
)
from lastro.plans import accounts, batch, counting, partitioning, posting, reading, reversing
from lastro.plans import keeping as keeping_plans
from lastro.plans.course import Course
from lastro.plans.partitioning import Partition
from lastro.plans.plan import Effect
from lastro.plans.rules import REVERSAL
from lastro.plans.transfers import find_transfer
from lastro.plans.waiting import patiently


class Operations(HoldOperations, AsksKinds, AsksClosedPeriods, AsksClosings, AsksReconciliation):
    """
    What can be asked of one ledger. Holds what this process believes of its accounts, shared by all who use it.
    """

    def open_account(
        self, name: object, currency: object, *, keeping: object, floor: object, metadata: object
    ) -> Ask[Account]:
        """Ask to open an account."""
        checked_name, checked_currency = account_name(name), currency_code(currency)
        checked_keeping, checked_floor = keeping_word(keeping), floor_amount(floor)
        checked_metadata, now = metadata_json(metadata), self.now()
        return Ask(
            lambda: patiently(
                accounts.open_account(
                    checked_name,
                    checked_currency,
                    keeping=checked_keeping,
                    floor=checked_floor,
                    metadata=checked_metadata,
                    now=now,
                ),
                self.lock_timeout_ms,
            ),
            Effect.KEYED,
        )

    def account(self, name: object, currency: object) -> Ask[Account]:
        """Ask for one account."""
        checked_name, checked_currency = account_name(name), currency_code(currency)
        return Ask(lambda: accounts.get_account(checked_name, checked_currency), Effect.READ)

    def accounts(self, *, after: tuple[str, str] | None, limit: int, prefix: str | None) -> Ask[list[Account]]:
        """Ask for a page of accounts."""
        if after is not None and (not isinstance(after, tuple | list) or len(after) != 2):
            raise InvalidInput(f"after is a pair of name and currency; got {shown(after)}", argument="after")
        checked_after = None if after is None else (account_name(after[0]), currency_code(after[1]))
        checked_prefix = None if prefix is None else account_name(prefix, argument="prefix")
        checked_limit = limit_within(limit, ACCOUNTS_LISTED_MAX)
        return Ask(
            lambda: accounts.list_accounts(after=checked_after, limit=checked_limit, prefix=checked_prefix),
            Effect.READ,
        )

    def post(self, **wanted: Any) -> Ask[Posted]:
        """Ask to post one transfer."""
        checked, terms = intent(**wanted), self.terms()
        return Ask(lambda: posting.post(checked, terms), Effect.KEYED)

    def post_many(
        self, transfers: Sequence[Mapping[str, Any] | Intent], *, partial: bool
    ) -> Ask[list[Posted | Refusal]]:
        """Ask to post many transfers in one transaction."""
        batch_of: object = transfers
        if not isinstance(batch_of, Sequence) or isinstance(batch_of, str | bytes):
            raise InvalidInput(
                f"a batch is a list of transfers, each a mapping; got {type(transfers).__name__}", argument="transfers"
            )
        if len(transfers) > BATCH_TRANSFERS_MAX:
            raise InvalidInput(
                f"a batch may have {BATCH_TRANSFERS_MAX} transfers; this one has {len(transfers)}: "
                "post it in several calls",
                argument="transfers",
            )
        checked: list[Intent | Refusal] = []
        for index, wanted in enumerate(transfers):
            try:
                checked.append(wanted if isinstance(wanted, Intent) else intent_of(wanted))
            except Refusal as refusal:
                if not partial:
                    raise batch.placed(refusal, index) from None
                checked.append(refusal)
        terms = self.terms()
        return Ask(lambda: batch.post_many(checked, terms, partial=partial), Effect.KEYED)

    def reverse(
        self,
        key: object,
        new_key: object,
        *,
        amount: object,
        kind: object,
        occurred_at: object,
        **notes: Any,
    ) -> Ask[Posted]:
        """Ask to reverse a transfer."""
        original_key, terms, kind_given = transfer_key(key), self.terms(), kind is not None
        # The original says which accounts and which currency; the checks of a posting want some to look at.
        checked = intent(
            key=new_key,
            kind=kind if kind_given else REVERSAL,
            debit="debit",
            credit="credit",
            currency="-",
            amount=1 if amount is None else transfer_amount(amount),
            occurred_at=occurred_at,
            **notes,
        )
        return Ask(
            lambda: reversing.reverse(original_key, checked, terms, whole_rest=amount is None, kind_given=kind_given),
            Effect.KEYED,
        )

    def transfer(self, key: object) -> Ask[Transfer | None]:
        """Ask for a transfer by its key."""
        checked = transfer_key(key)
        return Ask(lambda: find_transfer(checked), Effect.READ)

    def balance(self, name: object, currency: object, *, at: object, by: object) -> Ask[Balance]:
        """Ask for a balance."""
        checked_name, checked_currency = account_name(name), currency_code(currency)
        moment, clock = optional_utc(at, argument="at"), by_word(by)
        return Ask(lambda: reading.balance(checked_name, checked_currency, at=moment, by=clock), Effect.READ)

    def entries(self, name: object, currency: object, *, after: int | None, limit: int) -> Ask[list[Entry]]:
        """Ask for a page of an account's entries."""
        checked_name, checked_currency = account_name(name), currency_code(currency)
        checked_after = None if after is None else whole_number(after, "after")
        checked_limit = limit_within(limit, ENTRIES_MAX)
        return Ask(
            lambda: reading.entries(
                checked_name,
                checked_currency,
                after=checked_after,
                limit=checked_limit,
            ),
            Effect.READ,
        )

    def bump(self, counter: object, change: object) -> Ask[None]:
        """Ask to add to a sliced counter."""
        name = text(counter, argument="counter", characters_max=COUNTER_CHARACTERS_MAX)
        checked_change = whole_number(change, "change")
        return Ask(lambda: counting.bump(name, checked_change, lock_timeout_ms=self.lock_timeout_ms), Effect.ONCE)

    def count(self, counter: object) -> Ask[int]:
        """Ask for a sliced counter's value."""
        name = text(counter, argument="counter", characters_max=COUNTER_CHARACTERS_MAX)
        return Ask(lambda: counting.count(name), Effect.READ)

    def keep(self, name: object, currency: object, keeping: object) -> Course[Account]:
        """Ask to keep an account otherwise."""
        checked_name, checked_currency = _of_the_books(name), currency_code(currency)
        return keeping_plans.keep(
            checked_name,
            checked_currency,
            keeping_word(keeping),
            now=self.now(),
            lock_timeout_ms=self.lock_timeout_ms,
        )

    def close_account(self, name: object, currency: object) -> Course[Account]:
        """Ask to close an account."""
        return keeping_plans.close(
            _of_the_books(name), currency_code(currency), now=self.now(), lock_timeout_ms=self.lock_timeout_ms
        )

    def partitions(self) -> Ask[list[Partition]]:
        """Ask for the partitions of the history."""
        return Ask(partitioning.list_partitions, Effect.READ)

    def keep_partitions(self, *, transfers: int = PARTITION_TRANSFERS, ahead: int = PARTITIONS_AHEAD) -> Ask[int]:
        """Ask to make partitions ahead of need."""
        size, count = positive(transfers, "transfers"), positive(ahead, "ahead")
        return Ask(lambda: partitioning.keep_ahead(transfers=size, ahead=count), Effect.KEYED)

    def retire_partition(self, name: str) -> Ask[Partition]:
        """Ask to take a partition out of the history."""
        return Ask(lambda: partitioning.retire(name), Effect.KEYED)


def _of_the_books(name: object) -> str:
    checked = account_name(name)
    if checked == WORLD:
        raise InvalidInput(
            f"{WORLD!r} is the built-in account outside the books: its terms never change and it is never closed",
            argument="name",
        )
    return checked
