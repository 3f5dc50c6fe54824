"""Where the real order items lie: in the data folder beside the checkout, which isn't part of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

REAL_ORDERS = Path(__file__).parents[3] / "shared" / "data" / "marketplace" / "order_items.csv"
needs_real_orders = pytest.mark.skipif(
    not REAL_ORDERS.exists(), reason="the real order items aren't there: ../shared/data/marketplace/order_items.csv"
)
