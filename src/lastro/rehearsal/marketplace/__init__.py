"""
A marketplace that keeps its money with Lastro: application code as a user of the library would write it.

It has tables of its own in a schema of its own, and its checkout is one transaction: the order, its items, the payment
and the ledger's transfers stand or fall together.
"""

from lastro.rehearsal.marketplace.checkout import Receipt, check_out
from lastro.rehearsal.marketplace.order import CURRENCY, PLATFORM, WORLD, Item, Order, OrderChanged, seller_account
from lastro.rehearsal.marketplace.payout import pay_out
from lastro.rehearsal.marketplace.shop import Shop
from lastro.rehearsal.marketplace.tables import SCHEMA, Tables

__all__ = [
    "CURRENCY",
    "PLATFORM",
    "SCHEMA",
    "WORLD",
    "Item",
    "Order",
    "OrderChanged",
    "Receipt",
    "Shop",
    "Tables",
    "check_out",
    "pay_out",
    "seller_account",
]
