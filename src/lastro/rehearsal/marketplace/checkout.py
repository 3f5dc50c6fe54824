"""
The checkout: the order, its items, the payment, the ledger's transfers and the metric in one transaction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import psycopg

import lastro
from lastro.rehearsal.marketplace.order import Item, Order
from lastro.rehearsal.marketplace.retrying import until_through
from lastro.rehearsal.marketplace.shop import Shop

ORDERS_COUNTED = "orders"
# One or two transfers cost less as statements of their own; from three on a batch locks by one statement and writes by one.
SINGLE_POSTS_MAX = 2


class Receipt(NamedTuple):
    """
    What a checkout did: whether the order was new, how many transfers were posted and how many were there already,
    and how many tries were lost to rivals.
    """

    order_id: str
    new: bool
    posted: int
    replayed: int
    lost_tries: int


def check_out(connection: psycopg.Connection[Any], shop: Shop, order: Order) -> Receipt:
    """
    Store and book an order, once: repeating the whole call is harmless, whoever made the first one.

    A try that a rival made fail is repeated as a whole, which the keys make safe. A seller who has no account yet gets
    it with the first sale. Raises OrderChanged where the order was stored with other items, and what the last of 5
    tries met.
    """

    def attempt() -> Receipt:
        try:
            return _check_out_once(connection, shop, order)
        except lastro.UnknownAccount:
            shop.register(connection, (item.seller for item in order.items))
            return _check_out_once(connection, shop, order)

    receipt, lost = until_through(attempt)
    return receipt._replace(lost_tries=lost)


def _check_out_once(connection: psycopg.Connection[Any], shop: Shop, order: Order) -> Receipt:
    with connection.transaction():
        new = _store(connection, shop, order)
        if shop.ledger is None:
            return Receipt(order.id, new, 0, 0, 0)
        held = shop.ledger.within(connection)
        outcomes = post_order(held, order)
        if new:
            held.bump(ORDERS_COUNTED)
    replayed = sum(outcome.replayed for outcome in outcomes)
    return Receipt(order.id, new, len(outcomes) - replayed, replayed, 0)


def _store(connection: psycopg.Connection[Any], shop: Shop, order: Order) -> bool:
    """Insert the order with its items and its payment; False where it is there already, unchanged."""
    tables, items = shop.tables, order.items
    added = connection.execute(tables.add_order, {"order_id": order.id, "total": order.total})
    if added.rowcount == 0:
        found = connection.execute(tables.find_items, {"order_id": order.id}).fetchall()
        order.refuse_change(Item(*row) for row in found)
        return False
    connection.execute(
        tables.add_items,
        {
            "order_id": order.id,
            "numbers": [item.number for item in items],
            "products": [item.product for item in items],
            "sellers": [item.seller for item in items],
            "ship_by": [item.ship_by for item in items],
            "prices": [item.price for item in items],
            "freights": [item.freight for item in items],
        },
    )
    connection.execute(tables.add_payment, {"order_id": order.id, "amount": order.total})
    return True


def post_order(held: Any, order: Order) -> list[lastro.Posted]:
    """
    Post what an order moves, inside the caller's transaction.

    An order of one seller locks one account, and posts it last. Several sellers' accounts are locked by `post_many` in
    one order, or two such orders could wait for each other in a circle.
    """
    transfers = order.transfers()
    sellers = {item.seller for item in order.items}
    if len(sellers) == 1 and len(transfers) <= SINGLE_POSTS_MAX:
        return [held.post(**transfer) for transfer in transfers]
    outcomes: list[lastro.Posted] = held.post_many(transfers)
    return outcomes
