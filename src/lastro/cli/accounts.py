"""
`lastro accounts`: open, close, keep otherwise, list.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lastro.cli.arguments import Currency, Metadata, Name, floor_of, metadata_of, shown_amount
from lastro.cli.command import command, on_terminal
from lastro.cli.documents import account_document
from lastro.cli.terminal import Terminal
from lastro.model.account import Account, keeping_word
from lastro.model.limits import ACCOUNTS_LISTED_MAX

SHOWN = 100


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    accounts = typer.Typer(help="Open, close, list accounts (the default), or keep one otherwise.")
    accounts.callback(invoke_without_command=True)(on_terminal(list_by_default))
    command(accounts, "open")(open_account)
    command(accounts, "close")(close_account)
    command(accounts, "keep")(keep)
    command(accounts, "list")(list_accounts)
    app.add_typer(accounts, name="accounts")


def list_by_default(terminal: Terminal, *, context: typer.Context) -> None:
    """
    Open, close, list accounts (the default), or keep one otherwise.
    """
    if context.invoked_subcommand is None:
        list_accounts(terminal, prefix=None, after=None, limit=SHOWN)
    elif terminal != Terminal(None, None, as_json=False):
        raise typer.BadParameter(f"options belong behind the verb: lastro accounts {context.invoked_subcommand} …")


def open_account(
    terminal: Terminal,
    *,
    name: Name,
    currency: Currency,
    keeping: Annotated[str, typer.Option("--keeping", help="direct, hot or summed.")] = "direct",
    floor: Annotated[
        str | None,
        typer.Option("--floor", metavar="DECIMAL", help="Debits may not go below.", show_default="0"),
    ] = None,
    floor_minor: Annotated[
        str | None, typer.Option("--floor-minor", metavar="INTEGER", help="The same in minor units.")
    ] = None,
    no_floor: Annotated[bool, typer.Option("--no-floor", help="It may go below any amount.")] = False,
    metadata: Metadata = None,
) -> None:
    """
    Open an account. On equal terms it may be opened again.
    """
    lowest = floor_of(floor, floor_minor, without=no_floor, currency=currency)
    with terminal.opened() as ledger:
        account = ledger.open_account(
            name, currency, keeping=keeping_word(keeping), floor=lowest, metadata=metadata_of(metadata)
        )
    _show(terminal, account)


def close_account(terminal: Terminal, *, name: Name, currency: Currency) -> None:
    """
    Close an account for good; its balance must be zero.
    """
    with terminal.opened() as ledger:
        account = ledger.close_account(name, currency)
    _show(terminal, account)


def keep(
    terminal: Terminal,
    *,
    name: Name,
    currency: Currency,
    keeping: Annotated[str, typer.Argument(help="direct, hot or summed.", show_default=False)],
) -> None:
    """
    Keep an account's balance otherwise, while it is in use.
    """
    with terminal.opened() as ledger:
        account = ledger.keep(name, currency, keeping_word(keeping))
    _show(terminal, account)


def list_accounts(
    terminal: Terminal,
    *,
    prefix: Annotated[str | None, typer.Option("--prefix", help="Only names that begin so.")] = None,
    after: Annotated[
        tuple[str, str] | None, typer.Option("--after", metavar="ACCOUNT CURRENCY", help="Those after this one.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=ACCOUNTS_LISTED_MAX)] = SHOWN,
) -> None:
    """
    List accounts in the order of their names.
    """
    with terminal.opened() as ledger:
        accounts = ledger.accounts(after=after, limit=limit, prefix=prefix)
    last = accounts[-1] if len(accounts) == limit else None
    terminal.show(
        {
            "accounts": [account_document(account) for account in accounts],
            "next": None if last is None else {"name": last.name, "currency": last.currency},
        },
        table=[_row(account) for account in accounts],
    )


def _show(terminal: Terminal, account: Account) -> None:
    terminal.show(account_document(account), table=[_row(account)])


def _row(account: Account) -> dict[str, str]:
    return {
        "account": account.name,
        "currency": account.currency,
        "keeping": account.keeping,
        "floor": "none" if account.floor is None else shown_amount(account.floor, account.currency),
        "opened at": account.opened_at.isoformat(timespec="seconds"),
        "closed at": "" if account.closed_at is None else account.closed_at.isoformat(timespec="seconds"),
    }
