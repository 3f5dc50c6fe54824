"""The marketplace's checkout and payout: one transaction each, harmless to repeat, exact to the cent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg
import pytest
import sqlalchemy
from psycopg import sql

import lastro
from lastro.rehearsal.marketplace import (
    CURRENCY,
    PLATFORM,
    Item,
    Order,
    OrderChanged,
    Shop,
    check_out,
    checkout_sqlalchemy,
    pay_out,
    seller_account,
)
from lastro.rehearsal.marketplace.checkout import post_order
from lastro.rehearsal.marketplace.retrying import until_through
from lastro.rehearsal.marketplace.tables import Tables
from lastro.rehearsal.stage import Stage
from lastro.testing import assert_balanced

SHIP_BY = datetime(2026, 1, 5, 9)  # noqa: DTZ001 - a local time, as the column has no zone
JOIN_TIMEOUT_S = 30
Till = psycopg.Connection[Any]


def order(order_id: str, *items: tuple[str, int, int]) -> Order:
    """An order of items given as (seller, price, freight)."""
    return Order(
        order_id,
        tuple(
            Item(number, f"product-{number}", seller, SHIP_BY, price, freight)
            for number, (seller, price, freight) in enumerate(items, start=1)
        ),
    )


@contextmanager
def sqlalchemy_engine(stage: Stage) -> Iterator[sqlalchemy.Engine]:
    """SQLAlchemy's engine on the same database."""
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(stage.url))
    try:
        yield engine
    finally:
        engine.dispose()


def posted(shop: Shop, account: str) -> int:
    """An account's balance."""
    return shop.books.balance(account, CURRENCY).posted


def stored(till: Till, shop: Shop) -> tuple[int, ...]:
    """How many rows the marketplace's tables have: orders, items, payments, payouts."""
    return tuple(
        till.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(shop.tables.schema, table))).fetchone()[0]  # type: ignore[index]
        for table in ("orders", "order_items", "payments", "payouts")
    )


@pytest.mark.parametrize(
    ("price", "commission"), [(1, 0), (5, 0), (6, 1), (15, 2), (25, 2), (35, 4), (5890, 589), (125, 12), (135, 14)]
)
def test_a_commission_is_a_tenth_rounded_half_to_even(price: int, commission: int) -> None:
    """Half a cent goes to the even neighbour; the seller gets the rest and all of the freight, and nothing is lost."""
    bought = order("8812", ("42", price, 700))
    assert bought.items[0].commission == commission
    assert sum(transfer["amount"] for transfer in bought.transfers()) == price + 700 == bought.total


@pytest.mark.req("0.2")
def test_one_checkout_writes_everything_once(till: Till, shop: Shop) -> None:
    """Order, items, payment, transfers and metric are there after the first call, and no more of them after a third."""
    bought = order("8812", ("42", 5890, 1329), ("42", 115, 0), ("7", 1005, 10))
    first = check_out(till, shop, bought)
    assert (first.new, first.posted, first.replayed) == (True, 5, 0)
    for _ in range(2):
        again = check_out(till, shop, bought)
        assert (again.new, again.posted, again.replayed) == (False, 0, 5)
    assert stored(till, shop) == (1, 3, 1, 0)
    assert posted(shop, PLATFORM) == 589 + 12 + 100
    assert posted(shop, seller_account("42")) == 5890 + 1329 - 589 + 115 - 12
    assert posted(shop, seller_account("7")) == 1005 + 10 - 100
    assert posted(shop, "world") == -bought.total
    assert shop.books.count("orders") == 1
    transfer = shop.books.transfer("order:8812:commission:1")
    assert transfer is not None
    assert (transfer.amount, transfer.kind, transfer.cause) == (589, "commission", "order:8812")
    assert_balanced(shop.books)


@pytest.mark.req("0.8")
def test_a_checkout_that_fails_leaves_nothing(till: Till, shop: Shop) -> None:
    """A rollback of the application takes the order, the transfers and the metric back together."""
    bought = order("8812", ("42", 5890, 1329))
    shop.register(till, ["42"])
    with till.transaction(force_rollback=True):
        assert check_out(till, shop, bought).new
    assert stored(till, shop) == (0, 0, 0, 0)
    assert posted(shop, PLATFORM) == posted(shop, "world") == 0
    assert shop.books.count("orders") == 0
    assert shop.books.transfer("order:8812:commission:1") is None


@pytest.mark.parametrize("changed", [("42", 5900, 1329), ("42", 5890, 1330), ("7", 5890, 1329)])
def test_an_order_that_changed_is_refused(stage: Stage, till: Till, shop: Shop, changed: tuple[str, int, int]) -> None:
    """The same order at another price or from another seller isn't swallowed and books nothing."""
    first, other = order("8812", ("42", 5890, 1329)), order("8812", changed)
    check_out(till, shop, first)
    shop.register(till, [changed[0]])
    with pytest.raises(OrderChanged):
        check_out(till, shop, other)
    with sqlalchemy_engine(stage) as engine, engine.begin() as connection, pytest.raises(OrderChanged):
        checkout_sqlalchemy.check_out(connection, shop, other)
    assert posted(shop, "world") == -first.total


def test_the_ledger_refuses_a_change_on_its_own(till: Till, shop: Shop) -> None:
    """Were the application to overlook it, the ledger's key names what differs."""
    check_out(till, shop, order("8812", ("42", 5890, 1329)))
    with till.transaction(), pytest.raises(lastro.TransferConflict) as refused:
        post_order(shop.books.within(till), order("8812", ("42", 5900, 1329)))
    assert refused.value.fields == {"amount": (589, 590)}
    assert posted(shop, PLATFORM) == 589


def test_a_sellers_first_sale_opens_the_account(till: Till, shop: Shop) -> None:
    """A seller without an account gets it with the first sale."""
    with pytest.raises(lastro.UnknownAccount):
        shop.books.account(seller_account("new"), CURRENCY)
    assert check_out(till, shop, order("1", ("new", 1000, 0))).new
    assert shop.books.account(seller_account("new"), CURRENCY).keeping == "direct"


def test_the_first_and_its_repeat_may_run_side_by_side(stage: Stage, till: Till, shop: Shop) -> None:
    """Two processes check out the same orders at once: each order is new to exactly one of them."""
    orders = [order(str(number), ("42", 1000 + number, 5), ("7", 333, 0)) for number in range(40)]
    shop.register(till, ["42", "7"])
    both = threading.Barrier(2)
    new: list[str] = []
    failures: list[BaseException] = []

    def sell(mine: list[Order]) -> None:
        try:
            with stage.connect() as connection:
                for each in mine:
                    both.wait(JOIN_TIMEOUT_S)
                    if check_out(connection, shop, each).new:
                        new.append(each.id)
        except BaseException as error:  # noqa: BLE001 - the test's own thread has to see it
            failures.append(error)
            both.abort()

    threads = [threading.Thread(target=sell, args=(orders,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(JOIN_TIMEOUT_S)
    assert failures == []
    assert sorted(new) == sorted(each.id for each in orders)
    assert shop.books.count("orders") == len(orders)
    assert posted(shop, "world") == -sum(each.total for each in orders)
    assert_balanced(shop.books)


def test_a_transaction_lost_to_a_rival_is_tried_again() -> None:
    """A lost race is repeated and counted; after five the fault comes through; a refusal comes at once."""
    rivals = [lastro.LockTimeout("busy"), psycopg.errors.DeadlockDetected(), lastro.SerializationLost("raced")]
    answers: list[Exception] = [*rivals]

    def transaction() -> str:
        if answers:
            raise answers.pop()
        return "through"

    assert until_through(transaction) == ("through", 3)
    answers.extend([lastro.LockTimeout("busy")] * 9)
    with pytest.raises(lastro.LockTimeout):
        until_through(transaction)
    assert len(answers) == 9 - 5
    answers[:] = [lastro.InsufficientFunds("no"), lastro.InsufficientFunds("no")]
    with pytest.raises(lastro.InsufficientFunds):
        until_through(transaction)
    assert len(answers) == 1


@pytest.mark.req("0.9")
def test_checkouts_go_on_while_a_debit_holds_the_platform(stage: Stage, till: Till, shop: Shop) -> None:
    """A payout of the platform that hasn't committed yet makes no checkout wait."""
    check_out(till, shop, order("1", ("42", 5890, 1329)))
    # Any wait for a lock would end this test with an error.
    till.execute("SET lock_timeout = '1ms'")
    with stage.connect() as other, other.transaction():
        shop.books.within(other).post(
            key="payout:1", kind="payout", debit=PLATFORM, credit="world", amount=100, currency=CURRENCY
        )
        for number in range(2, 12):
            assert check_out(till, shop, order(str(number), ("42", 5890, 1329))).new
    assert posted(shop, PLATFORM) == 11 * 589 - 100


def test_a_payout_is_once_and_never_more_than_is_there(till: Till, shop: Shop) -> None:
    """Everything available is paid once; a debit beyond it is refused and leaves no payout, from whatever account."""
    check_out(till, shop, order("1", ("42", 1000, 250)))
    seller = seller_account("42")
    with pytest.raises(lastro.InsufficientFunds):
        pay_out(till, shop, payout_id="too-much", account=seller, amount=1151)
    with pytest.raises(lastro.InsufficientFunds):
        pay_out(till, shop, payout_id="too-much", account=PLATFORM, amount=101)
    assert stored(till, shop)[3] == 0
    assert pay_out(till, shop, payout_id="january", account=seller) == 1150
    assert pay_out(till, shop, payout_id="january", account=seller) == 1150
    assert pay_out(till, shop, payout_id="february", account=seller) == 0
    assert pay_out(till, shop, payout_id="platform", account=PLATFORM, amount=60) == 60
    assert (posted(shop, seller), posted(shop, PLATFORM), posted(shop, "world")) == (0, 40, -40)
    assert stored(till, shop)[3] == 2


def test_the_same_checkout_through_sqlalchemy(stage: Stage, till: Till, shop: Shop) -> None:
    """An application on SQLAlchemy gets the same rows and transfers, and a rollback takes all of them back."""
    shop.register(till, ["42", "7"])
    one, two = order("1", ("42", 5890, 1329), ("7", 115, 0)), order("2", ("42", 100, 0))
    with sqlalchemy_engine(stage) as engine:
        with engine.begin() as connection:
            receipt = checkout_sqlalchemy.check_out(connection, shop, one)
        assert (receipt.new, receipt.posted) == (True, 4)
        with engine.begin() as connection:
            receipt = checkout_sqlalchemy.check_out(connection, shop, one)
        assert (receipt.new, receipt.posted, receipt.replayed) == (False, 0, 4)
        with engine.connect() as connection:
            checkout_sqlalchemy.check_out(connection, shop, two)
            connection.rollback()
    # And psycopg's checkout knows the order that SQLAlchemy's has made.
    again = check_out(till, shop, one)
    assert (again.new, again.replayed) == (False, 4)
    assert stored(till, shop) == (1, 2, 1, 0)
    assert shop.books.count("orders") == 1
    assert posted(shop, PLATFORM) == 589 + 12
    assert posted(shop, "world") == -one.total
    assert_balanced(shop.books)


def test_without_a_ledger_only_the_own_tables_are_written(stage: Stage, till: Till) -> None:
    """What measurements compare with: the same checkout, and no ledger anywhere."""
    bare = Shop(None, Tables(stage.marketplace))
    bare.set_up(till)
    receipt = check_out(till, bare, order("1", ("42", 1000, 0)))
    assert (receipt.new, receipt.posted) == (True, 0)
    assert stored(till, bare) == (1, 1, 1, 0)
    with pytest.raises(lastro.InvalidInput, match="without a ledger"):
        pay_out(till, bare, payout_id="1", account=PLATFORM)
    assert till.execute("SELECT to_regnamespace(%s)", [stage.ledger]).fetchone() == (None,)
