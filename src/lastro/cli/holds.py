"""
`lastro hold`: place, capture, release, show and list holds, and expire those past their deadline.
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
from lastro.cli.documents import (
    captured_document,
    hold_document,
    hold_event_document,
    holds_expired_document,
    placed_document,
    released_document,
)
from lastro.cli.terminal import Terminal
from lastro.ledger import Ledger
from lastro.model.hold import Hold, overdue_word
from lastro.model.limits import HOLDS_LISTED_MAX

SHOWN = 100

HoldKey = Annotated[str, typer.Argument(metavar="HOLD", help="The hold's key.", show_default=False)]
# No default and none made up: a new key for each attempt is how money moves twice.
Key = Annotated[str, typer.Option("--key", help="Names this intent, the same for every attempt.", show_default=False)]
Holder = Annotated[str, typer.Option("--account", help="Whose money.", show_default=False)]
Owner = Annotated[str, typer.Option("--owner", help="Who answers for the hold.", show_default=False)]
ExpiresAt = Annotated[
    str,
    typer.Option(
        "--expires-at", metavar="MOMENT", help="The deadline, ISO 8601 with its time zone.", show_default=False
    ),
]
Group = Annotated[str | None, typer.Option("--group", help="Holds that end as one.", show_default=False)]
CaptureMax = Annotated[
    str | None,
    typer.Option(
        "--capture-max-minor", metavar="INTEGER", help="What may be captured in all, in minor units, if more."
    ),
]
WhenOverdue = Annotated[str, typer.Option("--overdue", help="Past the deadline: expire, or list it for its owner.")]


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    holds = typer.Typer(help="Set money aside, capture or release it, and see what is held.", no_args_is_help=True)
    command(holds, "place")(place)
    command(holds, "capture")(capture)
    command(holds, "release")(release)
    command(holds, "show")(show)
    command(holds, "list")(list_holds)
    command(holds, "expire")(expire)
    app.add_typer(holds, name="hold")


def place(
    terminal: Terminal,
    *,
    key: Key,
    account: Holder,
    currency: Annotated[str, typer.Option("--currency", show_default=False)],
    owner: Owner,
    expires_at: ExpiresAt,
    amount: Amount = None,
    minor: Minor = None,
    group: Group = None,
    capture_max_minor: CaptureMax = None,
    overdue: WhenOverdue = "expire",
    cause: Cause = None,
    source: Source = None,
    actor: Actor = None,
    metadata: Metadata = None,
) -> None:
    """
    Set money aside, once: the same key again does nothing and shows the hold as it stands.
    """
    deadline = moment_of(expires_at, option="--expires-at")
    assert deadline is not None, "the option is required"
    wanted = amount_of(amount, minor, currency)
    most = None if capture_max_minor is None else amount_of(None, capture_max_minor, currency)
    with terminal.opened() as ledger:
        placed = ledger.place_hold(
            key=key,
            account=account,
            currency=currency,
            amount=wanted,
            owner=owner,
            expires_at=deadline,
            group=group,
            capture_max=most,
            overdue=overdue_word(overdue),
            cause=cause,
            source=source,
            actor=actor,
            metadata=metadata_of(metadata),
        )
    outcome = "replayed" if placed.replayed else "created"
    terminal.show(placed_document(placed), table=[{"outcome": outcome} | _row(placed.hold)])


def capture(
    terminal: Terminal,
    *,
    hold: HoldKey,
    key: Key,
    credit: Annotated[str, typer.Option("--credit", help="The account that goes up.", show_default=False)],
    kind: Annotated[str, typer.Option("--kind", help="What sort of transfer.", show_default=False)],
    amount: Amount = None,
    minor: Minor = None,
    keep_rest: Annotated[bool, typer.Option("--keep-rest", help="Keep what remains for further captures.")] = False,
    cause: Cause = None,
    source: Source = None,
    actor: Actor = None,
    occurred_at: OccurredAt = None,
    metadata: Metadata = None,
) -> None:
    """
    Transfer money that was set aside: all that is left, or an amount, and give the rest back.
    """
    moment = moment_of(occurred_at, option="--occurred-at")
    with terminal.opened() as ledger:
        captured = ledger.capture(
            key=key,
            hold=hold,
            credit=credit,
            kind=kind,
            amount=_part(ledger, hold, amount, minor),
            final=not keep_rest,
            cause=cause,
            source=source,
            actor=actor,
            occurred_at=moment,
            metadata=metadata_of(metadata),
        )
    transfer = captured.transfer
    row = {
        "outcome": "replayed" if captured.replayed else "created",
        "transferred": shown_amount(transfer.amount, transfer.currency),
        "given back": shown_amount(captured.released, transfer.currency),
    }
    terminal.show(captured_document(captured), table=[row | _row(captured.hold)])


def release(
    terminal: Terminal,
    *,
    hold: HoldKey,
    key: Key,
    amount: Amount = None,
    minor: Minor = None,
    cause: Cause = None,
    source: Source = None,
    actor: Actor = None,
) -> None:
    """
    Give back money that was set aside: all that is left, or an amount.
    """
    with terminal.opened() as ledger:
        part = _part(ledger, hold, amount, minor)
        released = ledger.release(key=key, hold=hold, amount=part, cause=cause, source=source, actor=actor)
    row = {
        "outcome": "replayed" if released.replayed else "created",
        "given back": shown_amount(released.amount, released.hold.currency),
    }
    terminal.show(released_document(released), table=[row | _row(released.hold)])


def show(terminal: Terminal, *, hold: HoldKey) -> None:
    """
    Show a hold, and what became of it.
    """
    with terminal.opened() as ledger:
        found, events = ledger.hold(hold), ledger.hold_events(hold)
    document = hold_document(found) | {"events": [hold_event_document(event) for event in events]}
    steps = [
        {
            "step": event.kind,
            "at": event.recorded_at.isoformat(timespec="milliseconds"),
            "amount": shown_amount(event.amount, found.currency),
            "left": shown_amount(event.left, found.currency),
            "key": event.key or "",
        }
        for event in events
    ]
    placed = {
        "step": "placed",
        "at": found.placed_at.isoformat(timespec="milliseconds"),
        "amount": shown_amount(found.amount, found.currency),
        "left": shown_amount(found.amount, found.currency),
        "key": found.key,
    }
    terminal.show(document, table=[placed, *steps])


def list_holds(
    terminal: Terminal,
    *,
    name: Annotated[str | None, typer.Argument(metavar="[ACCOUNT]", show_default=False)] = None,
    currency: Annotated[str | None, typer.Argument(metavar="[CURRENCY]", show_default=False)] = None,
    overdue: Annotated[
        bool, typer.Option("--overdue", help="Those past their deadline that wait for an owner.")
    ] = False,
    owner: Annotated[str | None, typer.Option("--owner", help="Of --overdue, those of one owner.")] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="HOLD", help="Those after this one.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=HOLDS_LISTED_MAX)] = SHOWN,
) -> None:
    """
    List an account's open holds, or with --overdue those that nobody has ended in time.
    """
    if overdue != (name is None) or overdue != (currency is None) or (owner is not None and not overdue):
        raise typer.BadParameter("give ACCOUNT and CURRENCY, or --overdue (and --owner)", param_hint="ACCOUNT")
    with terminal.opened() as ledger:
        if name is not None and currency is not None:
            found = ledger.holds(name, currency, after=after, limit=limit)
        else:
            found = ledger.overdue_holds(owner=owner, after=after, limit=limit)
    terminal.show(
        {
            "holds": [hold_document(hold) for hold in found],
            "next": found[-1].key if len(found) == limit else None,
        },
        table=[_row(hold) for hold in found],
    )


def expire(terminal: Terminal) -> None:
    """
    Expire what is past its deadline: one round of what the worker `expire` does.
    """
    with terminal.opened() as ledger:
        expired = ledger.expire_holds()
    document = holds_expired_document(expired)
    terminal.show(document, table=[{name: str(value) for name, value in document.items() if name != "full"}])


def _part(ledger: Ledger, key: str, amount: str | None, minor: str | None) -> int | None:
    if amount is None and minor is None:
        return None
    return amount_of(amount, minor, ledger.hold(key).currency)


def _row(hold: Hold) -> dict[str, str]:
    return {
        "hold": hold.key,
        "account": hold.account,
        "currency": hold.currency,
        "amount": shown_amount(hold.amount, hold.currency),
        "left": shown_amount(hold.left, hold.currency),
        "state": hold.state,
        "owner": hold.owner,
        "expires at": hold.expires_at.isoformat(timespec="seconds"),
    }
