"""A prepaid balance: credits and a bonus, and jobs charged by the hour until the money is gone."""

from __future__ import annotations

import tempfile
from datetime import UTC, timedelta

from jobs import TABLE, JobTable

import lastro
from lastro.charging import Charger
from lastro.embedded import EmbeddedServer

CUSTOMER = ("customer:42", "USD")


def top_up(ledger: lastro.Ledger) -> None:
    """A payment, whose webhook comes twice, and a bonus, which can't take anything away."""
    for _ in range(2):
        paid = ledger.credit(*CUSTOMER, amount=500, key="payment:1", kind="credit", source="payment:1", actor="webhook")
        print("payment: replayed", paid.replayed)
    ledger.credit(*CUSTOMER, amount=100, key="grant:user:42", kind="bonus", actor="marketing")
    try:
        ledger.debit(*CUSTOMER, amount=1, key="oops", kind="bonus")
    except lastro.KindNotAllowed as refused:
        print("refused:", refused.kind)


def main() -> None:
    """Top an account up, and charge two jobs until nothing is left."""
    folder = tempfile.TemporaryDirectory()
    with folder, EmbeddedServer(f"{folder.name}/server") as server, lastro.connect(server.url) as ledger:
        ledger.migrate()
        ledger.register_kinds(lastro.PREPAID)
        ledger.open_account(*CUSTOMER)
        top_up(ledger)

        jobs = JobTable(server.url)
        with jobs.transaction() as connection:
            connection.execute(TABLE)
        jobs.begin("gpu", 150)
        jobs.begin("disk", 75)
        charger = Charger(ledger, jobs)
        for hour in range(5):
            print(f"hour {hour}:", dict(charger.run_once().figures))
            jobs.now += timedelta(hours=1)

        with jobs.transaction() as connection:
            for name, since, why in connection.execute("SELECT id, stopped_at, stopped_because FROM job ORDER BY 2"):
                print(f"{name} stopped at {since.astimezone(UTC):%H:%M}: {why}")
        print("left:", ledger.balance(*CUSTOMER).available)
        print("entries:", *(entry.kind for entry in ledger.entries(*CUSTOMER)))


if __name__ == "__main__":
    main()
