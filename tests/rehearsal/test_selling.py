"""Part one of the demo proves what it says on the real orders, and each of its proofs can fail."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lastro.rehearsal import selling
from lastro.rehearsal.books import read_books
from lastro.rehearsal.expectation import Expectation
from lastro.rehearsal.progress import silent
from lastro.rehearsal.proof import Proof, Proofs
from lastro.rehearsal.proofs import Played, prove
from lastro.rehearsal.stage import Stage, set_stage
from tests.rehearsal.real_data import REAL_ORDERS, needs_real_orders

CENT = Decimal("0.01")


def refuted(proofs: tuple[Proof, ...]) -> set[str]:
    """The names of the proofs that don't hold."""
    return {proof.name for proof in proofs if not proof.holds}


def written(orders: Path | None = None, *, processes: int = 3, orders_made: int = 1, seed: int = 1) -> selling.Script:
    """A script, of the file or made."""
    return selling.write_script(orders, processes=processes, orders_made=orders_made, seed=seed)


@needs_real_orders
@pytest.mark.req("0.2")
@pytest.mark.req("0.8")
def test_the_real_orders_come_out_to_the_cent(server_url: str) -> None:
    """On the real file every proof holds, and each printed figure is the one this test works out from the CSV."""
    with REAL_ORDERS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    # Each line below is this test's own arithmetic; nothing comes from the package.
    orders = len({row["order_id"] for row in rows})
    sellers = len({row["seller_id"] for row in rows})
    prices = sum(Decimal(row["price"]) for row in rows)
    freight = sum(Decimal(row["freight_value"]) for row in rows)
    commissions = [(Decimal(row["price"]) / 10).quantize(CENT, rounding=ROUND_HALF_EVEN) for row in rows]
    sales = len({(row["order_id"], row["seller_id"]) for row in rows})
    posted = sales + sum(commission > 0 for commission in commissions)
    assert (orders, len(rows), sellers) == (4_532, 5_154, 1_151)
    assert (str(prices), str(freight), str(sum(commissions))) == ("641586.22", "104851.60", "64159.77")

    said: list[str] = []
    proofs = selling.run(written(REAL_ORDERS), url=server_url, progress=said.append)

    assert refuted(proofs.proofs) == set()
    assert (proofs.hold, proofs.exit_code) == (True, 0)
    actual: dict[str, Any] = {proof.name: proof.actual for proof in proofs.proofs}
    assert len(actual) == len(proofs.proofs)
    paid, platform = (
        Decimal(actual["paid out (BRL)"]),
        Decimal(actual["platform's balance: commission less payouts (BRL)"]),
    )
    repeats = -(-orders // 10)
    assert {name: actual[name] for name in actual if not name.startswith(("payouts", "debits beyond"))} == {
        "orders counted by the sliced metric": orders,
        "orders in the marketplace's table": orders,
        "items in the marketplace's table": len(rows),
        "prices of all items (BRL)": str(prices),
        "freight of all items (BRL)": str(freight),
        "payments of all orders (BRL)": str(prices + freight),
        "sellers whose balance is right to the cent": f"all {sellers}",
        "earned by all sellers (BRL)": str(prices + freight - sum(commissions)),
        "platform's commission (BRL)": str(sum(commissions)),
        "platform's balance: commission less payouts (BRL)": str(platform),
        "world: minus everything (BRL)": str(paid - prices - freight),
        "paid out (BRL)": str(paid),
        "sum of all balances (BRL)": "0.00",
        "sum of all entries (BRL)": "0.00",
        "transfers: one an item and seller, and the payouts": posted + actual["payouts"],
        "transfers under a key that another has": 0,
        "transfers other than expected": "none",
        "transfers posted by the first checkout of an order": posted,
        "checkouts that stored a new order": orders,
        "checkouts repeated under the same keys": repeats,
        "balances below their floor": 0,
        "accounts whose balance isn't the sum of their history": 0,
        "entries left in the tail": 0,
        "consolidator killed in the middle of the run: its exit code": -9,
    }
    # What depends on the run: payouts were made and repeated, some were beyond the balance, and none of those passed.
    assert 0 < platform < sum(commissions)
    assert 0 < paid < prices + freight
    assert actual["payouts"] > 0
    assert actual["debits beyond the balance refused"] > 0
    assert (proofs.counts["checkouts"], proofs.counts["processes"]) == (orders + repeats, 3)
    assert any("consolidator killed" in line for line in said)


class Finished(NamedTuple):
    """A play that is over, with its books still there."""

    stage: Stage
    expected: Expectation
    played: Played


@pytest.fixture(scope="module")
def finished(server_url: str) -> Iterator[Finished]:
    """A hundred made orders, played to the end."""
    script = written(processes=2, orders_made=100, seed=4)
    with set_stage(server_url, beside_others=True) as stage:
        played, _ = selling.play(stage, script, progress=silent)
        assert refuted(selling.judge(stage, script.expected, played)) == set()
        yield Finished(stage, script.expected, played)


# A defect, as somebody's SQL would plant it, and the proofs that have to see it.
DEFECTS: dict[str, tuple[str, set[str]]] = {
    "a stray transfer": (
        """
        INSERT INTO {ledger}.transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind)
        SELECT nextval('{ledger}.transfer_id'), debit_id, credit_id, amount, occurred_at, recorded_at, 'stray', kind
        FROM {ledger}.transfer WHERE kind = 'sale' LIMIT 1
        """,
        {
            "transfers: one an item and seller, and the payouts",
            "transfers other than expected",
            "accounts whose balance isn't the sum of their history",
            "earned by all sellers (BRL)",
            "world: minus everything (BRL)",
        },
    ),
    "a transfer twice under one key": (
        """
        INSERT INTO {ledger}.transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind)
        SELECT nextval('{ledger}.transfer_id'), debit_id, credit_id, amount, occurred_at, recorded_at, key, kind
        FROM {ledger}.transfer WHERE kind = 'sale' LIMIT 1
        """,
        {
            "transfers: one an item and seller, and the payouts",
            "transfers under a key that another has",
            "accounts whose balance isn't the sum of their history",
        },
    ),
    "an entry whose other side is nobody": (
        """
        INSERT INTO {ledger}.transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind)
        SELECT nextval('{ledger}.transfer_id'), 1, credit_id, amount, occurred_at, recorded_at, 'half', kind
        FROM {ledger}.transfer WHERE kind = 'sale' LIMIT 1
        """,
        {"sum of all entries (BRL)", "transfers: one an item and seller, and the payouts"},
    ),
    "an entry left in the tail": (
        """
        UPDATE {ledger}.base SET amount = amount - 1 WHERE keeping = 'hot';
        INSERT INTO {ledger}.tail (account_id, transfer_id, amount)
        SELECT account_id, 1, 1 FROM {ledger}.base WHERE keeping = 'hot'
        """,
        {"entries left in the tail"},
    ),
    "a tail row lost": (
        "UPDATE {ledger}.base SET amount = amount - 1 WHERE keeping = 'hot'",
        {
            "platform's balance: commission less payouts (BRL)",
            "sum of all balances (BRL)",
            "accounts whose balance isn't the sum of their history",
        },
    ),
    "a seller one cent richer": (
        """
        UPDATE {ledger}.base SET amount = amount + 1 WHERE account_id = (
            SELECT account_id FROM {ledger}.balance WHERE account LIKE 'seller:%' LIMIT 1
        )
        """,
        {"sellers whose balance is right to the cent", "sum of all balances (BRL)"},
    ),
    "an account below its floor": (
        """
        UPDATE {ledger}.base SET amount = -1 WHERE account_id = (
            SELECT account_id FROM {ledger}.balance WHERE account LIKE 'seller:%' LIMIT 1
        )
        """,
        {"balances below their floor", "sellers whose balance is right to the cent"},
    ),
    "the metric bumped once more": (
        "UPDATE {ledger}.counter SET value = value + 1 WHERE slice = (SELECT min(slice) FROM {ledger}.counter)",
        {"orders counted by the sliced metric"},
    ),
    "an order gone": (
        """
        WITH gone AS (SELECT min(order_id) AS order_id FROM {marketplace}.orders),
        items AS (DELETE FROM {marketplace}.order_items WHERE order_id = (SELECT order_id FROM gone)),
        payments AS (DELETE FROM {marketplace}.payments WHERE order_id = (SELECT order_id FROM gone))
        SELECT 1;
        DELETE FROM {marketplace}.orders WHERE order_id = (SELECT min(order_id) FROM {marketplace}.orders)
        """,
        {
            "orders in the marketplace's table",
            "items in the marketplace's table",
            "prices of all items (BRL)",
            "freight of all items (BRL)",
            "payments of all orders (BRL)",
        },
    ),
    "a payout gone from the marketplace": (
        "DELETE FROM {marketplace}.payouts WHERE payout_id = (SELECT min(payout_id) FROM {marketplace}.payouts)",
        {"payouts", "paid out (BRL)", "transfers: one an item and seller, and the payouts"},
    ),
    "a commission twice under another key": (
        """
        INSERT INTO {ledger}.transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind)
        SELECT nextval('{ledger}.transfer_id'), debit_id, credit_id, amount, occurred_at, recorded_at, 'more', kind
        FROM {ledger}.transfer WHERE kind = 'commission' LIMIT 1
        """,
        {"platform's commission (BRL)", "transfers other than expected"},
    ),
    "a payout of another amount": (
        "UPDATE {marketplace}.payouts SET amount = amount + 1",
        {"paid out (BRL)", "transfers other than expected"},
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_in_the_books_is_seen(finished: Finished, defect: str) -> None:
    """Each proof about the books fails when the books are wrong: one defect each, planted by raw SQL."""
    statement, seen_by = DEFECTS[defect]
    stage, expected, played = finished
    with stage.connect() as connection, connection.transaction(force_rollback=True):
        connection.execute(statement.format(ledger=stage.ledger, marketplace=stage.marketplace))
        with stage.open_shop() as shop:
            counted = shop.books.within(connection).count("orders")
        proofs = prove(expected, read_books(connection, stage), replace(played, orders_counted=counted))
    assert refuted(proofs) >= seen_by
    assert not Proofs(proofs, {}).hold


@pytest.mark.parametrize(
    ("what", "seen_by"),
    [
        ({"consolidator_exit_code": 0}, "consolidator killed in the middle of the run: its exit code"),
        ({"refused": 0}, "debits beyond the balance refused"),
        ({"orders_new": 99}, "checkouts that stored a new order"),
        ({"orders_repeated": 0}, "checkouts repeated under the same keys"),
        ({"transfers_posted": 0}, "transfers posted by the first checkout of an order"),
        ({"payouts": 0}, "payouts"),
        ({"paid": {}}, "paid out (BRL)"),
    ],
)
def test_a_process_that_did_otherwise_is_seen(finished: Finished, what: dict[str, Any], seen_by: str) -> None:
    """Each proof about what the processes did fails when one says that it did otherwise."""
    stage, expected, played = finished
    assert seen_by in refuted(selling.judge(stage, expected, replace(played, **what)))


def test_every_proof_has_a_defect_that_it_sees(finished: Finished) -> None:
    """No proof is there that nothing in this file makes fail."""
    stage, expected, played = finished
    names = {proof.name for proof in selling.judge(stage, expected, played)}
    seen = {name for _, by in DEFECTS.values() for name in by}
    seen |= {
        "consolidator killed in the middle of the run: its exit code",
        "debits beyond the balance refused",
        "checkouts that stored a new order",
        "checkouts repeated under the same keys",
        "transfers posted by the first checkout of an order",
    }
    assert names == seen


def test_the_expectation_counts_each_seller_by_plain_arithmetic() -> None:
    """The second opinion agrees with a hand-worked order of two sellers."""
    script = written(processes=1, orders_made=30, seed=2)
    earned: dict[str, int] = defaultdict(int)
    for order in script.orders:
        for item in order.items:
            earned[f"seller:{item.seller}"] += item.price + item.freight - item.commission
    assert {seller: int(amount * 100) for seller, amount in script.expected.earned.items()} == earned
    dealt = Counter(order.id for hand in script.hands for order in hand)
    assert Counter(dealt.values()) == {1: 27, 2: 3}
