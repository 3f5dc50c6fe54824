"""Where the real order items and matches lie: in the data folder beside the checkout, which isn't part of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"
REAL_ORDERS = DATA / "marketplace" / "order_items.csv"
needs_real_orders = pytest.mark.skipif(
    not REAL_ORDERS.exists(), reason="the real order items aren't there: ../shared/data/marketplace/order_items.csv"
)
REAL_SEASONS = [DATA / "football" / "epl2122.csv", DATA / "football" / "epl2223.csv"]
needs_real_seasons = pytest.mark.skipif(
    not all(path.exists() for path in REAL_SEASONS), reason="the real matches aren't there: ../shared/data/football"
)
