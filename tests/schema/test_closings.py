"""What the audit finds of closings that don't say what the history says, planted past the library, on every store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lastro import Ledger
from lastro.testing import assert_balanced, temporary_ledger
from tests.conformance.eyes import MariadbRaw, PostgresRaw, Raw, SqliteRaw

# What is planted -> words of what the audit says.
PLANTED: dict[str, str] = {
    "UPDATE {s}.closing SET opening = opening + 1 WHERE amount = 8": "opening of a BRL at mark {mark}: expected 5, found 6",
    "UPDATE {s}.closing SET amount = amount + 1 WHERE amount = 8": "closing of a BRL: expected 8, found 9",
    "DELETE FROM {s}.closing WHERE amount > 0": "closing of a BRL: expected 8, found none",
}


@pytest.fixture(params=("postgres", "mariadb", "sqlite"))
def books(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Ledger, Raw]]:
    """A ledger on each store with two closings of one account, and its tables."""
    path = f"{tmp_path}/ledger.db"
    fixtures = {"postgres": "server_url", "mariadb": "mariadb_url"}
    url = f"sqlite:///{path}" if request.param == "sqlite" else request.getfixturevalue(fixtures[request.param])
    eyes = {"postgres": PostgresRaw, "mariadb": MariadbRaw, "sqlite": SqliteRaw}[request.param]
    with temporary_ledger(url) as ledger:
        raw: Raw = eyes(path if request.param == "sqlite" else url, ledger._operations.ledger)
        ledger.open_account("a", "BRL", keeping="hot")
        for amount in (5, 3):
            ledger.post(key=f"{amount}", kind="fund", debit="world", credit="a", amount=amount, currency="BRL")
            while not ledger.close_days(every_s=1).marks:
                pass
        assert_balanced(ledger)
        yield ledger, raw
        raw.close()


@pytest.mark.parametrize("planted", PLANTED)
def test_the_audit_finds(books: tuple[Ledger, Raw], planted: str) -> None:
    """A closing that was changed or taken away is found, and named."""
    ledger, raw = books
    # A mark that was begun anew has a later number.
    [(mark,)] = raw("SELECT mark_id FROM {s}.closing WHERE amount = 8")
    raw.disarm("closing")
    raw(planted)
    with pytest.raises(AssertionError, match=PLANTED[planted].format(mark=mark)):
        assert_balanced(ledger)
