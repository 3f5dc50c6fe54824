"""
`lastro post` and `lastro reverse`: the commands that move money, each under a key.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lastro.cli.arguments import (
    Actor,
    Amount,
    Cause,
    Metadata,
    Minor,
    OccurredAt,
    Source,
    amount_of,
    metadata_of,
    moment_of,
    shown_amount,
)
from lastro.cli.command import command
from lastro.cli.documents import posted_document
from lastro.cli.terminal import Terminal
from lastro.errors import UnknownTransfer
from lastro.ledger import Ledger
from lastro.model.transfer import Posted

KEY_HELP = "Names the intent, the same for every attempt: order:8812:commission"


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    command(app, "post")(post)
    command(app, "reverse")(reverse)


def post(
    terminal: Terminal,
    *,
    # No default and none made up: a new key for each attempt is how money moves twice.
    key: Annotated[str, typer.Option("--key", help=KEY_HELP, show_default=False)],
    kind: Annotated[str, typer.Option("--kind", help="What sort of transfer.", show_default=False)],
    debit: Annotated[str, typer.Option("--debit", help="The account that goes down.", show_default=False)],
    credit: Annotated[str, typer.Option("--credit", help="The account that goes up.", show_default=False)],
    currency: Annotated[str, typer.Option("--currency", show_default=False)],
    amount: Amount = None,
    minor: Minor = None,
    cause: Cause = None,
    source: Source = None,
    actor: Actor = None,
    occurred_at: OccurredAt = None,
    metadata: Metadata = None,
) -> None:
    """
    Post one transfer, once: the same key again does nothing and shows the first one.
    """
    wanted = amount_of(amount, minor, currency)
    moment = moment_of(occurred_at, option="--occurred-at")
    with terminal.opened() as ledger:
        posted = ledger.post(
            key=key,
            kind=kind,
            debit=debit,
            credit=credit,
            amount=wanted,
            currency=currency,
            cause=cause,
            source=source,
            actor=actor,
            occurred_at=moment,
            metadata=metadata_of(metadata),
        )
    _show(terminal, posted)


def reverse(
    terminal: Terminal,
    *,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The transfer to undo.", show_default=False)],
    new_key: Annotated[str, typer.Argument(metavar="NEW_KEY", help="Names the undoing.", show_default=False)],
    amount: Amount = None,
    minor: Minor = None,
    kind: Annotated[str | None, typer.Option("--kind", help="The one that undoes the transfer's, if left out.")] = None,
    cause: Cause = None,
    source: Source = None,
    actor: Actor = None,
    occurred_at: OccurredAt = None,
    metadata: Metadata = None,
) -> None:
    """
    Undo a transfer by a new one: all that is left of it, or an amount.
    """
    moment = moment_of(occurred_at, option="--occurred-at")
    with terminal.opened() as ledger:
        posted = ledger.reverse(
            key,
            new_key,
            amount=_part(ledger, key, amount, minor),
            kind=kind,
            cause=cause,
            source=source,
            actor=actor,
            occurred_at=moment,
            metadata=metadata_of(metadata),
        )
    _show(terminal, posted)


def _part(ledger: Ledger, key: str, amount: str | None, minor: str | None) -> int | None:
    if amount is None and minor is None:
        return None
    original = ledger.transfer(key)
    if original is None:
        raise UnknownTransfer(f"no transfer has the key {key!r} in this ledger; nothing was reversed", key=key)
    return amount_of(amount, minor, original.currency)


def _show(terminal: Terminal, posted: Posted) -> None:
    transfer = posted.transfer
    terminal.show(
        posted_document(posted),
        table=[
            {
                "outcome": "replayed" if posted.replayed else "created",
                "key": transfer.key,
                "kind": transfer.kind,
                "amount": shown_amount(transfer.amount, transfer.currency),
                "currency": transfer.currency,
                "debit": transfer.debit,
                "credit": transfer.credit,
                "recorded at": transfer.recorded_at.isoformat(timespec="milliseconds"),
            }
        ],
    )
