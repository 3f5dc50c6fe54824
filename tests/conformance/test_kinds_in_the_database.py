"""Kinds past the library: whoever writes a transfer, the database refuses what doesn't add up or stands wrong."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
import pymysql
import pytest

from lastro import PREPAID, Kind, KindNotAllowed, Ledger
from tests.conformance.conftest import Raw

pytestmark = [pytest.mark.usefixtures("balanced"), pytest.mark.stores(without=("firebird",))]

LOWER, RAISE = ("debit", "refund", "reversal"), ("credit", "bonus", "free_grant")
CLIENT = "customer:42"
CLIENTS = (CLIENT, "customer:43", "customer:44")
PAYOUT = Kind("payout", debit="seller:*", credit="bank")
DATABASE_SAYS_NO = (psycopg.IntegrityError, pymysql.MySQLError, sqlite3.IntegrityError)
ITS_KIND = r"a transfer of kind|kind refused"
# Signs that mean something to SQL, to a driver or to the catalogue of statements, and the widest ones.
ODD = Kind("lastro.%s'\\$$", debit="lastro.it's 100%(a)s \\*", credit='lastro_x "q"; --')
WIDE = Kind("\U0001f600" * 16, debit="\U0001f600" * 339 + "*", undone_by="\u0451" * 16)


def plant(raw: Raw, *, debit: str, credit: str, number: int = 900, **changed: Any) -> None:
    """Write a transfer past the library."""
    ids = dict(raw("SELECT name, id FROM {s}.account WHERE currency = 'USD'"))
    moment = 1_700_000_000_000_000 if raw.store == "sqlite" else "2026-01-01 00:00:00"
    row = {"amount": 5, "occurred_at": moment, "recorded_at": moment, "key": "planted", "kind": "free"} | changed
    row = {"id": number, "debit_id": ids.get(debit, -1), "credit_id": ids.get(credit, -2)} | row
    columns = ", ".join(f"`{name}`" if raw.store == "mariadb" else name for name in row)
    raw(f"INSERT INTO {{s}}.transfer ({columns}) VALUES ({', '.join(['%s'] * len(row))})", *row.values())


@pytest.fixture
def prepaid(ledger: Ledger) -> Ledger:
    """A ledger of the article's kinds with a client of each keeping; one of them has 1,000."""
    for name, keeping in ((CLIENT, "direct"), ("customer:43", "hot"), ("customer:44", "summed")):
        ledger.open_account(name, "USD", keeping=keeping)  # type: ignore[arg-type]
    ledger.register_kinds(PREPAID)
    ledger.credit(CLIENT, "USD", amount=1_000, key="payment:1")
    return ledger


@pytest.mark.req("2.3")
@pytest.mark.req("2.2")
def test_the_database_refuses_a_row_on_the_wrong_side(prepaid: Ledger, raw: Raw) -> None:
    """Whoever writes past the library: a row of a kind between accounts that it doesn't allow isn't stored."""
    del prepaid
    sides = [(kind, ("world", name)) for kind in LOWER for name in CLIENTS]
    sides += [(kind, (name, "world")) for kind in RAISE for name in CLIENTS]
    sides += [("adjustment", ("customer:43", CLIENT)), ("debit", ("nobody", "nowhere"))]
    for kind, (debit, credit) in sides:
        for number in (900, 0, -5):
            with pytest.raises(DATABASE_SAYS_NO, match=ITS_KIND):
                plant(raw, kind=kind, debit=debit, credit=credit, number=number)
    assert raw.one("SELECT count(*) FROM {s}.transfer") == 1


@pytest.mark.req("2.3")
@pytest.mark.case("S05")
def test_the_database_refuses_a_row_that_doesnt_add_up(prepaid: Ledger, raw: Raw) -> None:
    """However the account is kept: before, amount and after belong together, and the amount is positive."""
    del prepaid
    for name in CLIENTS:
        for side, ends, balances in (
            ("debit", (name, "world"), [(100, 96), (100, 105), (None, 95), (100, None)]),
            ("credit", ("world", name), [(100, 104), (100, 95), (None, 105), (100, None)]),
        ):
            rows: list[dict[str, Any]] = [
                {f"{side}_before": before, f"{side}_after": after} for before, after in balances
            ]
            for row in (*rows, {"amount": 0}, {"amount": -5, f"{side}_before": 100, f"{side}_after": 105}):
                with pytest.raises(DATABASE_SAYS_NO, match=r"transfer_(adds_up|amount_positive)"):
                    plant(raw, kind="debit" if side == "debit" else "credit", debit=ends[0], credit=ends[1], **row)
    assert raw.one("SELECT count(*) FROM {s}.transfer") == 1


@pytest.mark.req("2.3")
def test_the_database_refuses_what_may_not_undo(prepaid: Ledger, raw: Raw) -> None:
    """Whoever writes: what reverses a credit is a reversal, of a kind that isn't registered either; others go by."""
    prepaid.debit(CLIENT, "USD", amount=5, key="job:1")
    prepaid.post(key="free", kind="free", debit=CLIENT, credit="world", amount=5, currency="USD")
    for kind in ("debit", "refund", "free"):
        with pytest.raises(DATABASE_SAYS_NO, match=ITS_KIND):
            plant(raw, kind=kind, debit=CLIENT, credit="world", reverses="payment:1")
    with pytest.raises(DATABASE_SAYS_NO, match=ITS_KIND):
        plant(raw, kind="bonus", debit="world", credit=CLIENT, reverses="job:1")
    assert raw.one("SELECT count(*) FROM {s}.transfer") == 3
    plant(raw, kind="reversal", debit=CLIENT, credit="world", reverses="payment:1", number=901, key="right")
    plant(raw, kind="bonus", debit="world", credit=CLIENT, reverses="free", number=902, key="as well")
    assert raw.one("SELECT count(*) FROM {s}.transfer") == 5
    raw.disarm("transfer")
    raw("DELETE FROM {s}.transfer WHERE id > 900")


@pytest.mark.req("2.3")
def test_patterns_name_accounts(ledger: Ledger, raw: Raw) -> None:
    """A name covers itself, a beginning with * what begins so, byte by byte; what isn't registered goes anywhere."""
    odd, wide = ODD.debit[:-1] + "1", WIDE.debit[:-1] + "1"
    for name in ("seller:1", "Seller:1", "seller", "bank", "bank 2", odd, ODD.credit, wide):
        ledger.open_account(name, "USD", floor=None)
    ledger.register_kinds([PAYOUT, ODD, WIDE])
    assert sorted(ledger.kinds()) == sorted([PAYOUT, ODD, WIDE])
    for kind, debit, credit in (
        (PAYOUT.name, "seller:1", "bank"), (ODD.name, odd, ODD.credit), (WIDE.name, wide, "bank"), ("free", "bank", odd),
    ):  # fmt: skip
        ledger.post(key=kind, kind=kind, debit=debit, credit=credit, amount=1, currency="USD")
    for kind, debit, credit in (
        (PAYOUT.name, "Seller:1", "bank"), (PAYOUT.name, "seller", "bank"), (PAYOUT.name, "seller:1", "bank 2"),
        (PAYOUT.name, "bank", "seller:1"), (ODD.name, ODD.credit, odd), (ODD.name, odd, "bank"), (WIDE.name, odd, wide),
    ):  # fmt: skip
        with pytest.raises(KindNotAllowed):
            ledger.post(key="x", kind=kind, debit=debit, credit=credit, amount=1, currency="USD")
        with pytest.raises(DATABASE_SAYS_NO, match=ITS_KIND):
            plant(raw, kind=kind, debit=debit, credit=credit)
    assert raw.one("SELECT count(*) FROM {s}.transfer") == 4
