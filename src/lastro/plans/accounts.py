"""
Opening, closing, finding and listing accounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from lastro.errors import (
    AccountClosed,
    AccountConflict,
    AccountNotEmpty,
    CurrencyMismatch,
    InvalidInput,
    LockTimeout,
    UnknownAccount,
)
from lastro.model.account import WORLD, Account, Facts, Keeping
from lastro.model.directory import Directory
from lastro.model.limits import LOOKS_MAX
from lastro.model.transfer import Intent
from lastro.plans.plan import TOGETHER, Plan, step
from lastro.plans.stored import read_account, read_facts, whole

AccountKey = tuple[str, str]


def open_account(
    name: str,
    currency: str,
    *,
    keeping: Keeping,
    floor: int | None,
    metadata: str | None,
    now: datetime | None,
) -> Plan[Account]:
    """
    Open an account, and the world of its currency where this is the first. Opening it again on equal terms is harmless.
    """
    if name == WORLD:
        raise InvalidInput(
            f"{WORLD!r} is the built-in other side of single-entry postings; it opens by itself "
            "with the first account of a currency",
            argument="name",
        )
    yield TOGETHER
    yield step(
        "accounts.open",
        name=WORLD,
        currency=currency,
        keeping="summed",
        floor=None,
        metadata=None,
        now=now,
    )
    yield step(
        "accounts.open",
        name=name,
        currency=currency,
        keeping=keeping,
        floor=floor,
        metadata=metadata,
        now=now,
    )
    # Read in a following statement: a rival's account, committed while ours waited, is only visible from here on.
    stored = yield from get_account(name, currency)
    _refuse_other_terms(stored, keeping=keeping, floor=floor)
    return stored


def get_account(name: str, currency: str) -> Plan[Account]:
    """
    Return an account by name and currency; UnknownAccount or CurrencyMismatch where there is none.
    """
    rows = yield step("accounts.get", name=name, currency=currency)
    if not rows:
        yield from refuse_unknown(name, currency)
    return read_account(rows[0])


def list_accounts(*, after: AccountKey | None, limit: int, prefix: str | None) -> Plan[list[Account]]:
    """
    Return accounts in the order of (name, currency), the page after *after*.
    """
    after_name, after_currency = after if after is not None else ("", "")
    rows = yield step(
        "accounts.list",
        after_name=after_name,
        after_currency=after_currency,
        rows_max=limit,
        prefix=prefix,
    )
    return [read_account(row) for row in rows]


def find_facts(directory: Directory, wanted: Iterable[AccountKey]) -> Plan[dict[AccountKey, Facts]]:
    """
    Return the facts of the accounts that exist among *wanted*, from the directory where it knows them.
    """
    found: dict[AccountKey, Facts] = {}
    missing: list[AccountKey] = []
    for name, currency in wanted:
        facts = directory.get(name, currency)
        if facts is None:
            missing.append((name, currency))
        else:
            found[name, currency] = facts
    if missing:
        rows = yield step(
            "accounts.find",
            names=[name for name, _ in missing],
            currencies=[currency for _, currency in missing],
        )
        facts_found = [read_facts(row) for row in rows]
        directory.learn(facts_found)
        found.update({(facts.name, facts.currency): facts for facts in facts_found})
    return found


def refuse_unknown(name: str, currency: str) -> Plan[None]:
    """
    Raise for an account that isn't there, telling a wrong currency from a wrong name.
    """
    rows = yield step("accounts.currencies_of", name=name)
    currencies = [str(row["currency"]) for row in rows]
    if currencies:
        raise CurrencyMismatch(
            f"account {name!r} is kept in {', '.join(currencies)}, not in {currency}; post in its currency, "
            f"or open it in {currency} as well",
            account=name,
            currency=currency,
            currencies=currencies,
        )
    raise UnknownAccount(
        f"there is no account {name!r} in {currency}; open it first: ledger.open_account({name!r}, {currency!r})",
        account=name,
        currency=currency,
    )


def refuse_closed(facts: Facts) -> None:
    """
    Raise when the account is closed.
    """
    if facts.state == "closed":
        raise AccountClosed(
            f"account {facts.name!r} in {facts.currency} is closed and takes no transfers",
            account=facts.name,
            currency=facts.currency,
        )


def close_account(name: str, currency: str, *, now: datetime | None) -> Plan[Account]:
    """
    Close an account whose balance is zero and that holds nothing; for an account kept direct, in one transaction.

    Accounts of other keepings are turned first (see `plans.keeping`), so that no posting is under way unseen.
    """
    yield TOGETHER
    rows = yield step("accounts.lock", name=name, currency=currency)
    if not rows:
        yield from refuse_unknown(name, currency)
    facts = read_facts(rows[0])
    if facts.state != "closed":
        weighed = yield step("locked.weigh_sides", account_ids=[facts.id])
        posted, held = whole(weighed[0], "posted"), whole(weighed[0], "held")
        if posted or held:
            raise AccountNotEmpty(
                f"account {name!r} in {currency} still has {posted} posted and {held} held; "
                "transfer the balance and end its holds before you close it",
                account=name,
                currency=currency,
                posted=posted,
                held=held,
            )
        yield step("accounts.close", account_id=facts.id, now=now)
    return (yield from get_account(name, currency))


def _refuse_other_terms(stored: Account, *, keeping: Keeping, floor: int | None) -> None:
    if stored.closed_at is not None:
        raise AccountClosed(
            f"account {stored.name!r} in {stored.currency} was closed at {stored.closed_at.isoformat()}; "
            "a closed account isn't opened again: choose another name",
            account=stored.name,
            currency=stored.currency,
            closed_at=stored.closed_at,
        )
    fields = {
        field: (there, asked)
        for field, there, asked in (
            ("keeping", stored.keeping, keeping),
            ("floor", stored.floor, floor),
        )
        if there != asked
    }
    if fields:
        differences = ", ".join(
            f"{field} is {there!r}, asked for {asked!r}" for field, (there, asked) in fields.items()
        )
        raise AccountConflict(
            f"account {stored.name!r} in {stored.currency} is open on other terms: {differences}",
            account=stored.name,
            currency=stored.currency,
            fields=fields,
        )


def account_keys(wanted: Intent) -> tuple[AccountKey, AccountKey]:
    """
    Return what names the debit and the credit account of a transfer.
    """
    return (wanted.debit, wanted.currency), (wanted.credit, wanted.currency)


def sides_of(directory: Directory, wanted: Intent) -> Plan[tuple[Facts, Facts]]:
    """
    Return the facts of both sides of a transfer; raise for one that is unknown or closed.
    """
    debit, credit = account_keys(wanted)
    found = yield from open_facts(directory, world_last(debit, credit))
    return found[debit], found[credit]


def open_facts(directory: Directory, wanted: Sequence[AccountKey]) -> Plan[dict[AccountKey, Facts]]:
    """
    Return the facts of accounts; raise for the first of *wanted* that is unknown or closed.
    """
    found = yield from find_facts(directory, wanted)
    for key in wanted:
        if key not in found:
            yield from refuse_unknown(*key)
        refuse_closed(found[key])
    return found


def world_last(debit: AccountKey, credit: AccountKey) -> tuple[AccountKey, AccountKey]:
    """
    Return both sides with the world behind the other: where both are unknown, the one to speak of is the user's own.
    """
    return (credit, debit) if debit[0] == WORLD else (debit, credit)


def kept_changing(names: Sequence[str]) -> LockTimeout:
    """
    The fault of a posting that looked again and again and found its accounts changed each time.
    """
    return LockTimeout(
        f"the accounts {', '.join(map(repr, names))} changed under the posting {LOOKS_MAX} times; "
        "try again with the same key",
        accounts=list(names),
    )
