"""
`lastro balance`, `lastro entries` and `lastro transfer`: what the ledger knows.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lastro.cli.arguments import By, Currency, Name, moment_of, shown_amount
from lastro.cli.command import command
from lastro.cli.documents import balance_document, entry_document, transfer_document
from lastro.cli.terminal import Terminal
from lastro.errors import UnknownTransfer
from lastro.model.limits import ENTRIES_MAX
from lastro.model.statement import by_word
from lastro.model.transfer import Entry, Transfer

SHOWN = 100


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    command(app, "balance")(balance)
    command(app, "entries")(entries)
    command(app, "transfer")(transfer)


def balance(
    terminal: Terminal,
    *,
    name: Name,
    currency: Currency,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="MOMENT", help="What was posted up to then, ISO 8601 with its time zone."),
    ] = None,
    by: By = "recorded",
) -> None:
    """
    Show what is posted, held and available, read in one snapshot.
    """
    moment = moment_of(at, option="--at")
    with terminal.opened() as ledger:
        found = ledger.balance(name, currency, at=moment, by=by_word(by))
    terminal.show(
        balance_document(found, at=moment),
        table=[
            {
                "account": found.account,
                "currency": found.currency,
                "posted": shown_amount(found.posted, currency),
                "held": shown_amount(found.held, currency),
                "available": shown_amount(found.available, currency),
            }
        ],
    )


def entries(
    terminal: Terminal,
    *,
    name: Name,
    currency: Currency,
    after: Annotated[
        int | None, typer.Option("--after", metavar="ID", help="Those after this transfer id.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=ENTRIES_MAX)] = SHOWN,
) -> None:
    """
    Show an account's entries, oldest first.
    """
    with terminal.opened() as ledger:
        found = ledger.entries(name, currency, after=after, limit=limit)
    terminal.show(
        {
            "entries": [entry_document(entry) for entry in found],
            "next": found[-1].transfer_id if len(found) == limit else None,
        },
        table=[_entry_row(entry) for entry in found],
    )


def transfer(
    terminal: Terminal,
    *,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The transfer's key.", show_default=False)],
) -> None:
    """
    Show the transfer that holds a key.
    """
    with terminal.opened() as ledger:
        found = ledger.transfer(key)
    if found is None:
        raise UnknownTransfer(f"no transfer has the key {key!r} in this ledger", key=key)
    terminal.show(
        transfer_document(found),
        table=[{"field": field, "value": value} for field, value in _fields(found).items()],
    )


def _entry_row(entry: Entry) -> dict[str, str]:
    return {
        "transfer": str(entry.transfer_id),
        "recorded at": entry.recorded_at.isoformat(timespec="milliseconds"),
        "kind": entry.kind,
        "amount": shown_amount(entry.signed, entry.currency),
        "balance": shown_amount(entry.balance_after, entry.currency),
        "other account": entry.counter_account,
        "key": entry.key,
        "cause": entry.cause or "",
    }


def _fields(found: Transfer) -> dict[str, str]:
    amounts = ("amount", "debit_before", "debit_after", "credit_before", "credit_after")
    fields = {
        name: shown_amount(value, found.currency) if name in amounts else str(value)
        for name, value in transfer_document(found).items()
        if value is not None and name not in amounts
    }
    return fields | {
        name: shown_amount(getattr(found, name), found.currency) for name in amounts if getattr(found, name) is not None
    }
