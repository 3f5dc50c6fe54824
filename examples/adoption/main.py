"""From a balance column to the ledger and back, while payments go on."""

from __future__ import annotations

import tempfile

import psycopg
from app import ADOPTION, TABLE, App
from traffic import traffic

import lastro
from lastro.embedded import EmbeddedServer


def adopt(ledger: lastro.Ledger, app: App) -> None:
    """All steps, with a forgotten corner of the application found on the way, and back again."""
    steps = ledger.adopting
    print("phase:", steps.shadow("users").adoption.phase)
    app.old_code(4, 500)
    for found in steps.compare("users").differences:
        print(found.account, found.cause)
    print("adjusted:", steps.adjust("users", reason="old_code didn't post", actor="ana").figures["adjusted"])
    print("differences:", len(steps.compare("users").differences))
    print("phase:", steps.cut_over("users", actor="ana").adoption.phase)
    try:
        app.old_code(4, 500)
    except psycopg.Error as refused:
        print("refused:", refused.diag.message_primary)
    print("phase:", steps.roll_back("users", actor="ana").adoption.phase)
    print("phase:", steps.cut_over("users", actor="ana").adoption.phase)


def main() -> None:
    """Begin with a column, end with a ledger that says the same."""
    folder = tempfile.TemporaryDirectory()
    with (
        folder,
        EmbeddedServer(f"{folder.name}/server") as server,
        lastro.connect(server.url, ledger="books") as ledger,
    ):
        ledger.migrate()
        with psycopg.connect(server.url) as connection:
            connection.execute(TABLE)
        print("can be adopted:", not ledger.adopting.survey(ADOPTION).problems)
        print("imported:", ledger.adopting.import_rows(ADOPTION).figures["imported"])
        app, *others = apps = [App(server.url, ledger) for _ in range(3)]
        with traffic(others):
            adopt(ledger, app)
        ledger.adopting.mirror("users")
        booked = [ledger.balance(f"user:{user}", "EUR").posted for user in range(1, 5)]
        print("the same on both sides:", booked == app.balances())
        print("no cent lost:", sum(booked) == 40_500)
        for one in apps:
            one.close()


if __name__ == "__main__":
    main()
