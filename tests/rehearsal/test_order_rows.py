"""Orders from a file or by seed: read exactly, refused with their place, made the same each time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import lastro
from lastro.rehearsal.order_rows import OrderRow, make_rows, orders_of, read_rows
from tests.rehearsal.real_data import REAL_ORDERS, needs_real_orders

HEADER = '"order_id","order_item_id","product_id","seller_id","shipping_limit_date","price","freight_value"\n'


def test_quoted_and_unquoted_values_read_alike(tmp_path: Path) -> None:
    """A value means the same with quotes and without; rows of one order need not stand together."""
    path = tmp_path / "orders.csv"
    path.write_text(
        HEADER
        + '"a",1,"p",s1,2026-01-05 09:00:00,58.90,13.29\n'
        + "b,1,p,s1,2026-01-05 09:00:00,0.05,0.00\n"
        + 'a,"2",p,"s2","2026-01-05 09:00:00","1.15","0.10"\n'
    )
    first, second = orders_of(read_rows(path))
    assert (first.id, [(item.number, item.seller, item.price, item.freight) for item in first.items]) == (
        "a",
        [(1, "s1", 5890, 1329), (2, "s2", 115, 10)],
    )
    assert first.total == 5890 + 1329 + 115 + 10
    assert (second.id, second.total) == ("b", 5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("order_id,price\na,1.00\n", "no column order_item_id"),
        (HEADER, "0 rows"),
        (HEADER + "a,1,p,s,2026-01-05 09:00:00,58.90\n", "line 2"),
        (HEADER + "a,1,p,s,2026-01-05 09:00:00,58.90,1.00,more\n", "line 2"),
        (HEADER + 'a,1,p,s,2026-01-05 09:00:00,"58.90,1.00\n', "can't be read"),
    ],
)
def test_an_unreadable_file_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    """A missing column, no row, too few or too many values, an open quote: refused, with what and where."""
    path = tmp_path / "orders.csv"
    path.write_text(text)
    with pytest.raises(lastro.InvalidInput, match=said):
        read_rows(path)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("price", "58,90"),
        ("price", "58.901"),
        ("price", "1e3"),
        ("price", "0.00"),
        ("price", "-1.00"),
        ("freight_value", "-0.01"),
        ("order_item_id", "one"),
        ("shipping_limit_date", "soon"),
    ],
)
def test_an_unreadable_value_is_refused_with_its_order(column: str, text: str) -> None:
    """Money that isn't exactly cents, and whatever else isn't what it should be, is refused with the order's id."""
    row = OrderRow("a-7", "1", "p", "s", "2026-01-05 09:00:00", "58.90", "1.00")._replace(**{column: text})
    with pytest.raises(lastro.InvalidInput, match="a-7"):
        orders_of([row])


def test_two_items_of_one_number_are_refused() -> None:
    """A commission's key holds the item's number, so that it has to be one item's."""
    row = OrderRow("a", "1", "p", "s", "2026-01-05 09:00:00", "58.90", "1.00")
    with pytest.raises(lastro.InvalidInput, match="two items of one number"):
        orders_of([row, row._replace(product_id="q")])


def test_the_same_seed_makes_the_same_orders() -> None:
    """Orders by seed are repeatable; another seed makes others."""
    assert make_rows(200, seed=5) == make_rows(200, seed=5)
    assert make_rows(200, seed=5) != make_rows(200, seed=6)


def test_made_orders_have_a_marketplaces_shape() -> None:
    """Most orders have one item; some have several, of one seller or of more; few sellers sell much; cents vary."""
    orders = orders_of(make_rows(4_000, seed=3))
    assert len(orders) == 4_000
    sizes = Counter(len(order.items) for order in orders)
    assert 0.85 < sizes[1] / 4_000 < 0.95
    assert max(sizes) >= 5
    assert any(len({item.seller for item in order.items}) > 1 for order in orders)
    sold = Counter(item.seller for order in orders for item in order.items).most_common()
    assert sold[0][1] > 20 * sold[len(sold) // 2][1]
    prices = sorted(item.price for order in orders for item in order.items)
    assert 5_000 < prices[len(prices) // 2] < 12_000
    # Ties are what half-even rounding is about: a price that ends in five cents.
    assert any(price % 10 == 5 for price in prices)


@needs_real_orders
def test_made_orders_are_not_the_real_ones() -> None:
    """Nothing of the real data is in what is made."""
    real = read_rows(REAL_ORDERS)
    made = make_rows(len(real))
    for column in ("order_id", "product_id", "seller_id"):
        assert not {getattr(row, column) for row in real} & {getattr(row, column) for row in made}
