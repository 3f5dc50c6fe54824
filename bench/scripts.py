"""
The pgbench scripts of a run: the bare limit, the catalogue's own statements, and the naive way.
"""

from __future__ import annotations

from bench.pgbench import Script, script_of
from lastro.model.limits import BALANCE_MAX, BALANCE_MIN, LOCK_TIMEOUT_MS, UNLOCKED_BASE_MAX
from lastro.sql.catalogue import catalogue

# The limit that every ratio is taken against: one row into a heap without index, key, default or check.
LIMIT_TABLES = """
DROP TABLE IF EXISTS public.bare, public.naive_entry, public.naive_balance;
CREATE TABLE public.bare (account_id bigint, amount bigint, key text);
CREATE TABLE public.naive_balance (account_id bigint PRIMARY KEY, amount bigint NOT NULL);
CREATE TABLE public.naive_entry (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account_id bigint NOT NULL, amount bigint NOT NULL,
    key text NOT NULL UNIQUE
);
INSERT INTO public.naive_balance VALUES (1, 0);
"""
RANDOM_MAX = 2**62
AMOUNT_MAX = 100_000
ORDERS_MAX = 10**9
# Two random numbers of 62 bits, as text: some 37 characters, as long and as scattered as a UUID.
KEY = "(:key_1::text || :key_2::text)"
DRAWN = f"""
\\set key_1 random(1, {RANDOM_MAX})
\\set key_2 random(1, {RANDOM_MAX})
\\set amount random(1, {AMOUNT_MAX})
\\set order random(1, {ORDERS_MAX})
"""


def limit() -> Script:
    """A bare one-row INSERT into a bare heap, with the same random key and amount."""
    return script_of(
        f"INSERT INTO public.bare (account_id, amount, key) VALUES (:account_id, :amount, {KEY})",
        {},
        drawn=DRAWN,
        account_id=1,
    )


def naive() -> Script:
    """One transaction with the entry and an UPDATE of the one balance row."""
    return script_of(
        f"BEGIN;\nINSERT INTO public.naive_entry (account_id, amount, key) VALUES (:account_id, :amount, {KEY});\n"
        "UPDATE public.naive_balance SET amount = amount + :amount WHERE account_id = :account_id;\nEND;",
        {},
        drawn=DRAWN,
        account_id=1,
    )


def post_to_hot(ledger: str, *, world_id: int, credit_id: int) -> Script:
    """The catalogue's `posting.post_to_hot`, as the checkout calls it: key, cause, source and actor given."""
    return _posting(ledger, "posting.post_to_hot", world_id=world_id, credit_id=credit_id)


def post_credit(ledger: str, *, world_id: int, credit_id: int) -> Script:
    """The catalogue's `direct.post_credit` to one account kept direct."""
    return _posting(ledger, "direct.post_credit", world_id=world_id, credit_id=credit_id)


def post_credit_spread(ledger: str, *, world_id: int, accounts: int) -> Script:
    """The same to accounts 1 … *accounts*, drawn anew each time."""
    return _posting(
        ledger,
        "direct.post_credit",
        world_id=world_id,
        credit_id=None,
        drawn=f"{DRAWN.rstrip()}\n\\set credit_id random(1, {accounts})",
    )


def _posting(ledger: str, name: str, *, world_id: int, credit_id: int | None, drawn: str = DRAWN) -> Script:
    order = "('order:' || :order::text)"
    values = {
        "key": KEY, "kind": ":kind", "debit_id": ":debit_id", "credit_id": ":credit_id", "amount": ":amount",
        "cause": order, "reverses": "NULL", "source": order, "actor": ":actor", "occurred_at": "NULL",
        "metadata": "NULL", "now": "NULL", "debit_keeping": ":debit_keeping", "credit_keeping": ":credit_keeping",
        "unlocked_base_max": ":unlocked_base_max", "lock_timeout": ":lock_timeout", "balance_min": ":balance_min",
        "balance_max": ":balance_max",
    }  # fmt: skip
    variables: dict[str, object] = {
        "kind": "commission", "debit_id": world_id, "actor": "checkout", "debit_keeping": "summed",
        "credit_keeping": "hot" if name == "posting.post_to_hot" else "direct",
        "unlocked_base_max": UNLOCKED_BASE_MAX, "lock_timeout": f"{LOCK_TIMEOUT_MS}ms",
        "balance_min": BALANCE_MIN, "balance_max": BALANCE_MAX,
    }  # fmt: skip
    if credit_id is not None:
        variables["credit_id"] = credit_id
    return script_of(catalogue("postgres", ledger)[name].text, values, drawn=drawn, **variables)


def debit_spread(ledger: str, *, world_id: int, accounts: int) -> Script:
    """The catalogue's `single.debit` of accounts 1 … *accounts*, drawn anew each time."""
    return _together(ledger, ("single.debit",), world_id=world_id, accounts=accounts)


def debit_twice(ledger: str, *, world_id: int, accounts: int) -> Script:
    """Two such debits of one account, one transaction after the other."""
    return _together(ledger, ("single.debit", "single.debit"), world_id=world_id, accounts=accounts)


def place_spread(ledger: str, *, accounts: int) -> Script:
    """The catalogue's `placing.place_direct` on accounts 1 … *accounts*, drawn anew each time."""
    return _together(ledger, ("placing.place_direct",), world_id=0, accounts=accounts)


def place_and_capture(ledger: str, *, world_id: int, accounts: int) -> Script:
    """A hold placed and then captured to the world, one transaction after the other."""
    names = ("placing.place_direct", "capturing.capture_to_unlocked")
    return _together(ledger, names, world_id=world_id, accounts=accounts)


def _together(ledger: str, names: tuple[str, ...], *, world_id: int, accounts: int) -> Script:
    """Statements one after the other; a hold's id goes from the statement that places it to the next one."""
    order = "('order:' || :order::text)"
    text, drawn = "", f"{DRAWN.rstrip()}\n\\set account_id random(1, {accounts})\n"
    variables: dict[str, object] = {
        "kind": "commission", "world_id": world_id, "actor": "checkout", "direct": "direct", "summed": "summed",
        "unlocked_base_max": UNLOCKED_BASE_MAX, "lock_timeout": f"{LOCK_TIMEOUT_MS}ms", "balance_min": BALANCE_MIN,
        "balance_max": BALANCE_MAX, "owner": "bench", "expires_at": "2100-01-01T00:00:00Z",
    }  # fmt: skip
    for place, name in enumerate(names):
        values = {
            "key": f"({KEY} || {place}::text)", "kind": ":kind", "debit_id": ":account_id", "credit_id": ":world_id",
            "amount": ":amount", "cause": order, "reverses": "NULL", "source": order, "actor": ":actor",
            "occurred_at": "NULL", "metadata": "NULL", "now": "NULL", "debit_keeping": ":direct",
            "credit_keeping": ":summed", "unlocked_base_max": ":unlocked_base_max", "lock_timeout": ":lock_timeout",
            "balance_min": ":balance_min", "balance_max": ":balance_max", "account_id": ":account_id",
            "owner": ":owner", "expires_at": ":expires_at", "group_name": "NULL", "capture_max": "NULL",
            "listed": "false", "hold_id": ":hold_id", "final": "true",
        }  # fmt: skip
        one = script_of(catalogue("postgres", ledger)[name].text, values).text
        passed_on = name.startswith("placing.") and place + 1 < len(names)
        text += one.rstrip().removesuffix(";") + " \\gset\n" if passed_on else one
    return Script(text=drawn.lstrip() + text, variables={name: str(value) for name, value in variables.items()})
