"""
The same checkout for an application on SQLAlchemy: its own tables in Core, the ledger inside `engine.begin()`.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Connection, DateTime, ForeignKey, Integer, MetaData, Table, Text, select
from sqlalchemy.dialects.postgresql import insert

from lastro.rehearsal.marketplace.checkout import ORDERS_COUNTED, Receipt, post_order
from lastro.rehearsal.marketplace.order import Item, Order
from lastro.rehearsal.marketplace.shop import Shop

_metadata = MetaData(schema="marketplace")
_orders = Table("orders", _metadata, Column("order_id", Text, primary_key=True), Column("total", BigInteger))
_items = Table(
    "order_items",
    _metadata,
    Column("order_id", Text, ForeignKey(_orders.c.order_id), primary_key=True),
    Column("item_number", Integer, primary_key=True),
    Column("product_id", Text),
    Column("seller_id", Text),
    Column("ship_by", DateTime),
    Column("price", BigInteger),
    Column("freight", BigInteger),
)
_payments = Table("payments", _metadata, Column("order_id", Text, primary_key=True), Column("amount", BigInteger))


def check_out(connection: Connection, shop: Shop, order: Order) -> Receipt:
    """
    Store and book an order inside the transaction that the caller began; repeating it is harmless.

    The sellers' accounts must be open. Raises what the ledger raises; the caller's transaction ends the caller's way.
    """
    # The tables are declared once for the schema "marketplace"; a rehearsal has one of another name.
    connection = connection.execution_options(schema_translate_map={"marketplace": shop.tables.schema})
    new = _store(connection, order)
    held = shop.books.within(connection)
    outcomes = post_order(held, order)
    if new:
        held.bump(ORDERS_COUNTED)
    replayed = sum(outcome.replayed for outcome in outcomes)
    return Receipt(order.id, new, len(outcomes) - replayed, replayed, 0)


def _store(connection: Connection, order: Order) -> bool:
    added = connection.execute(
        insert(_orders)
        .values(order_id=order.id, total=order.total)
        .on_conflict_do_nothing(index_elements=["order_id"])
        .returning(_orders.c.order_id)
    )
    if added.one_or_none() is None:
        found = connection.execute(
            select(*_items.columns[1:]).where(_items.c.order_id == order.id).order_by(_items.c.item_number)
        )
        order.refuse_change(Item(*row) for row in found)
        return False
    connection.execute(
        _items.insert(),
        [
            {
                "order_id": order.id,
                "item_number": item.number,
                "product_id": item.product,
                "seller_id": item.seller,
                "ship_by": item.ship_by,
                "price": item.price,
                "freight": item.freight,
            }
            for item in order.items
        ],
    )
    connection.execute(_payments.insert(), {"order_id": order.id, "amount": order.total})
    return True
