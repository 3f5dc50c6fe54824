"""
The marketplace's own tables, and its statements on them.
"""

from __future__ import annotations

import re

from lastro.errors import InvalidInput

SCHEMA = "marketplace"
_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}", re.ASCII)
_OWN = re.compile(rf"\b{SCHEMA}\b")

_CREATE = """
CREATE SCHEMA IF NOT EXISTS marketplace;
CREATE TABLE IF NOT EXISTS marketplace.orders (
    order_id text PRIMARY KEY,
    total bigint NOT NULL CHECK (total > 0),
    placed_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS marketplace.order_items (
    order_id text NOT NULL REFERENCES marketplace.orders,
    item_number integer NOT NULL,
    product_id text NOT NULL,
    seller_id text NOT NULL,
    ship_by timestamp NOT NULL,
    price bigint NOT NULL CHECK (price > 0),
    freight bigint NOT NULL CHECK (freight >= 0),
    PRIMARY KEY (order_id, item_number)
);
CREATE TABLE IF NOT EXISTS marketplace.payments (
    order_id text PRIMARY KEY REFERENCES marketplace.orders,
    amount bigint NOT NULL CHECK (amount > 0),
    paid_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS marketplace.payouts (
    payout_id text PRIMARY KEY,
    account text NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    paid_at timestamptz NOT NULL DEFAULT now()
);
"""

_ADD_ORDER = """
INSERT INTO marketplace.orders (order_id, total) VALUES (%(order_id)s, %(total)s)
ON CONFLICT (order_id) DO NOTHING
"""

_ADD_ITEMS = """
INSERT INTO marketplace.order_items (order_id, item_number, product_id, seller_id, ship_by, price, freight)
SELECT %(order_id)s, item.*
FROM unnest(
    %(numbers)s::integer[], %(products)s::text[], %(sellers)s::text[],
    %(ship_by)s::timestamp[], %(prices)s::bigint[], %(freights)s::bigint[]
) AS item
"""

_FIND_ITEMS = """
SELECT item_number, product_id, seller_id, ship_by, price, freight
FROM marketplace.order_items
WHERE order_id = %(order_id)s
ORDER BY item_number
"""

_ADD_PAYMENT = "INSERT INTO marketplace.payments (order_id, amount) VALUES (%(order_id)s, %(amount)s)"

_ADD_PAYOUT = """
INSERT INTO marketplace.payouts (payout_id, account, amount) VALUES (%(payout_id)s, %(account)s, %(amount)s)
ON CONFLICT (payout_id) DO NOTHING
"""

_FIND_PAYOUT = "SELECT amount FROM marketplace.payouts WHERE payout_id = %(payout_id)s"


class Tables:
    """
    The statements of one marketplace: its tables live in `schema`, so that a rehearsal can have one of its own.
    """

    def __init__(self, schema: str = SCHEMA) -> None:
        if _SCHEMA_NAME.fullmatch(schema) is None:
            raise InvalidInput(
                f"a schema's name is a small letter or _, then up to 47 small letters, digits or _; got {schema!r}",
                argument="schema",
            )
        self.schema = schema
        self.create = self._said(_CREATE)
        self.add_order = self._said(_ADD_ORDER)
        self.add_items = self._said(_ADD_ITEMS)
        self.find_items = self._said(_FIND_ITEMS)
        self.add_payment = self._said(_ADD_PAYMENT)
        self.add_payout = self._said(_ADD_PAYOUT)
        self.find_payout = self._said(_FIND_PAYOUT)

    def _said(self, statement: str) -> str:
        return _OWN.sub(self.schema, statement)
