"""The faults of the prepaid balance's article: its own statements fail as recorded, and Lastro doesn't."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from lastro import InsufficientFunds, Ledger
from lastro.testing import assert_balanced
from tests.support.money import KEEPINGS, fund, posted, transfer
from tests.support.sessions import Background

AUDITS = 15
POSTERS = 3

TABLES = """
CREATE TABLE account_balance (id bigint PRIMARY KEY, balance bigint NOT NULL);
CREATE TABLE ledger_entry (
    key text UNIQUE, type text, amount bigint, balance_before bigint, balance_after bigint,
    CHECK (
        (type IN ('debit', 'refund', 'reversal') AND balance_after = balance_before - amount)
        OR (type IN ('credit', 'bonus', 'free_grant') AND balance_after = balance_before + amount)
        OR type = 'adjustment'
    )
);
INSERT INTO account_balance VALUES (1, 100);
"""
CHARGE = "UPDATE account_balance SET balance = balance - 100 WHERE id = 1 AND balance >= 100 RETURNING balance"
ENTRY = "INSERT INTO ledger_entry VALUES (%s, %s, %s, %s, %s)"


@pytest.fixture
def article(connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A session with the article's own tables."""
    connection.execute(TABLES)
    connection.commit()
    return connection


@pytest.mark.case("S04")
def test_the_article_refuses_a_retried_charge(article: psycopg.Connection[Any]) -> None:
    """Control: the conditional update finds no money before the key could say that the charge was applied."""
    assert article.execute(CHARGE).fetchone() == (0,)
    article.execute(ENTRY, ["job:1:p1", "debit", 100, 100, 0])
    assert article.execute(CHARGE).fetchone() is None, "the retry is told: insufficient"


@pytest.mark.case("S04")
@pytest.mark.req("2.5")
@pytest.mark.parametrize("keeping", KEEPINGS)
@pytest.mark.parametrize("within", [False, True])
def test_a_retried_charge_is_replayed(
    ledger: Ledger, connection: psycopg.Connection[Any], keeping: Any, within: bool
) -> None:
    """The charge that emptied the account is replayed for whoever retries it, and another one is refused."""
    fund(ledger, "client", 100, keeping)
    asked = ledger.within(connection) if within else ledger
    charge = transfer("job:1:p1", "client", "world", 100)
    assert [asked.post(**charge).replayed for _ in range(3)] == [False, True, True]
    with pytest.raises(InsufficientFunds):
        asked.post(**transfer("job:1:p2", "client", "world", 100))
    connection.commit()
    assert posted(ledger, "client") == 0


@pytest.mark.case("S05")
@pytest.mark.parametrize(
    "row",
    [
        ("k", "debit", -5, 100, 105),
        ("k", "debit", 5, None, 95),
        ("k", "debit", 5, 7_000, 6_995),
        ("k", "adjustment", 1, 0, 10**12),
    ],
)
def test_the_articles_check_accepts_nonsense(article: psycopg.Connection[Any], row: tuple[object, ...]) -> None:
    """Control: a negative debit, a missing balance, a balance from nowhere, an adjustment of any size all pass."""
    article.execute(ENTRY, row)
    article.commit()


@pytest.mark.case("S05")
@pytest.mark.case("C043")
@pytest.mark.req("2.3")
@pytest.mark.parametrize(
    ("amount", "before", "after", "constraint"),
    [
        (-5, 100, 105, "transfer_amount_positive"),
        (0, 100, 100, "transfer_amount_positive"),
        (5, None, 95, "transfer_adds_up"),
        (5, 100, None, "transfer_adds_up"),
        (5, 100, 96, "transfer_adds_up"),
    ],
)
def test_the_database_refuses_rows_that_dont_add_up(
    *,
    ledger: Ledger,
    connection: psycopg.Connection[Any],
    amount: int,
    before: int | None,
    after: int | None,
    constraint: str,
) -> None:
    """Whoever writes past the library: a row that doesn't add up is refused by the constraint named for the rule."""
    fund(ledger, "shop", 100)
    with pytest.raises(psycopg.errors.CheckViolation) as caught:
        plant(connection, amount=amount, before=before, after=after)
    assert caught.value.diag.constraint_name == constraint


@pytest.mark.case("S05")
@pytest.mark.req("2.7")
def test_a_balance_from_nowhere_is_found(ledger: Ledger, connection: psycopg.Connection[Any]) -> None:
    """A planted row that adds up by itself, but doesn't follow from the row before it, is named by the audit."""
    fund(ledger, "shop", 100)
    plant(connection, amount=5, before=7_000, after=6_995)
    connection.commit()
    with pytest.raises(AssertionError, match=r"balance of shop before transfer planted: expected 100, found 7000"):
        assert_balanced(ledger)


def plant(connection: psycopg.Connection[Any], *, amount: int, before: int | None, after: int | None) -> None:
    """Write a debit of `shop` past the library."""
    connection.execute(
        "INSERT INTO transfer (id, debit_id, credit_id, amount, debit_before, debit_after, occurred_at, recorded_at, "
        "key, kind) SELECT nextval('transfer_id'), d.id, c.id, %s, %s, %s, now(), now(), 'planted', 'test' "
        "FROM account d, account c WHERE d.name = 'shop' AND c.name = 'world'",
        [amount, before, after],
    )


@pytest.mark.case("S06")
@pytest.mark.case("C072")
def test_the_article_makes_the_drift_it_reports(
    article: psycopg.Connection[Any], ledger_name: str, session: Any
) -> None:
    """Control: with a credit between its two reads the article's reconciliation writes a drift that stays."""
    article.execute(ENTRY, ["k", "credit", 100, 0, 100])
    article.commit()
    summed = article.execute("SELECT sum(balance_after - balance_before) FROM ledger_entry").fetchone()
    other = session(options=f"-c search_path={ledger_name}")
    other.execute("UPDATE account_balance SET balance = 150")
    other.execute(ENTRY, ["l", "credit", 50, 100, 150])
    other.commit()
    stored = article.execute("SELECT balance FROM account_balance").fetchone()
    assert summed is not None
    assert stored is not None
    article.execute(ENTRY, ["adjust", "adjustment", stored[0] - summed[0], summed[0], stored[0]])
    article.commit()
    drift = article.execute("SELECT sum(balance_after - balance_before) - 150 FROM ledger_entry").fetchone()
    assert drift == (50,)


@pytest.mark.case("S06")
@pytest.mark.case("C072")
def test_no_drift_is_seen_while_others_post(ledger: Ledger) -> None:
    """The audit reads each rule in one snapshot: run while others post and consolidate, it finds nothing."""
    for name, keeping in (("shop", "direct"), ("platform", "hot"), ("club", "summed")):
        fund(ledger, name, 1_000, keeping)  # type: ignore[arg-type]
    stop = threading.Event()

    def post(poster: int) -> int:
        number = 0
        while not stop.is_set():
            number += 1
            ledger.post(**transfer(f"{poster}:{number}:a", "world", "platform", 3))
            ledger.post_many(
                [
                    transfer(f"{poster}:{number}:b", "platform", "shop", 2),
                    transfer(f"{poster}:{number}:c", "shop", "club", 1),
                ]
            )
            if number % 5 == 0:
                ledger.consolidate()
        return number

    posting = [Background(lambda n=poster: post(n)) for poster in range(POSTERS)]  # type: ignore[misc]
    try:
        for _ in range(AUDITS):
            assert_balanced(ledger)
    finally:
        stop.set()
        posted_meanwhile = sum(going.result() for going in posting)
    assert posted_meanwhile > 0
