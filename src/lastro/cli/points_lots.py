"""
`lastro points spend|give|refund|lots|expire|erase`: what members do with their points, lot by lot.
"""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from lastro.cli.arguments import Actor, Cause, Currency, OccurredAt, Source, moment_of, shown_amount, whole
from lastro.cli.command import command
from lastro.cli.documents import posted_document
from lastro.cli.points_documents import lot_document
from lastro.cli.terminal import Terminal
from lastro.ledger.lot_asks import LOTS_LISTED_MAX
from lastro.model.transfer import Posted

SHOWN = 100
KEY_HELP = "Names the intent, the same for every attempt: cart:77:mug"

Key = Annotated[str, typer.Option("--key", help=KEY_HELP, show_default=False)]
Points = Annotated[str, typer.Option("--points", metavar="INTEGER", help="How many.", show_default=False)]
Unit = Annotated[str, typer.Option("--currency", show_default=False)]
Which = Annotated[str, typer.Option("--policy", help="Which lots go first: soonest, oldest or newest.")]
Member = Annotated[str, typer.Argument(metavar="MEMBER", help="The member's name.", show_default=False)]


def register(points: typer.Typer) -> None:
    """
    Add the commands to the group *points*.
    """
    command(points, "spend")(spend)
    command(points, "give")(give)
    command(points, "refund")(refund)
    command(points, "lots")(lots)
    command(points, "expire")(expire)
    command(points, "erase")(erase)


def spend(
    terminal: Terminal,
    *,
    key: Key,
    member: Annotated[str, typer.Option("--member", help="Whose points.", show_default=False)],
    points: Points,
    currency: Unit,
    reward: Annotated[str, typer.Option("--reward", help="The account they go to.", show_default=False)],
    policy: Which = "soonest",
    cause: Cause = None,
    source: Source = None,
    actor: Actor = None,
    occurred_at: OccurredAt = None,
) -> None:
    """
    Spend a member's points on a reward, once; never below zero.
    """
    moment, amount = moment_of(occurred_at, option="--occurred-at"), whole(points, "--points")
    with terminal.opened() as ledger:
        posted = ledger.points.spend(
            key=key,
            member=member,
            amount=amount,
            currency=currency,
            reward=reward,
            policy=cast(Any, policy),
            cause=cause,
            source=source,
            actor=actor,
            occurred_at=moment,
        )
    _show(terminal, posted)


def give(
    terminal: Terminal,
    *,
    key: Key,
    giver: Annotated[str, typer.Option("--giver", help="Whose points.", show_default=False)],
    receiver: Annotated[str, typer.Option("--receiver", help="Who gets them.", show_default=False)],
    points: Points,
    currency: Unit,
    policy: Which = "soonest",
    cause: Cause = None,
    source: Source = None,
    actor: Actor = None,
    occurred_at: OccurredAt = None,
) -> None:
    """
    Give a member's points to another, once; they keep their expiry.
    """
    moment, amount = moment_of(occurred_at, option="--occurred-at"), whole(points, "--points")
    with terminal.opened() as ledger:
        posted = ledger.points.give(
            key=key,
            giver=giver,
            receiver=receiver,
            amount=amount,
            currency=currency,
            policy=cast(Any, policy),
            cause=cause,
            source=source,
            actor=actor,
            occurred_at=moment,
        )
    _show(terminal, posted)


def refund(
    terminal: Terminal,
    *,
    key: Key,
    spent: Annotated[str, typer.Option("--spend", help="The key of the spend.", show_default=False)],
    points: Annotated[
        str | None, typer.Option("--points", metavar="INTEGER", help="How many.", show_default="all that is left")
    ] = None,
    cause: Cause = None,
    source: Source = None,
    actor: Actor = None,
    occurred_at: OccurredAt = None,
) -> None:
    """
    Undo a spend, wholly or in part: the points go back into the lots they came from.
    """
    moment, amount = (
        moment_of(occurred_at, option="--occurred-at"),
        None if points is None else whole(points, "--points"),
    )
    with terminal.opened() as ledger:
        posted = ledger.points.refund(
            key=key, spend=spent, amount=amount, cause=cause, source=source, actor=actor, occurred_at=moment
        )
    _show(terminal, posted)


def lots(
    terminal: Terminal,
    *,
    member: Member,
    currency: Currency,
    limit: Annotated[int, typer.Option("--limit", min=1, max=LOTS_LISTED_MAX)] = SHOWN,
) -> None:
    """
    List what is left of a member's lots, soonest to expire first.
    """
    with terminal.opened() as ledger:
        found = ledger.points.lots(member, currency, limit=limit)
    terminal.show(
        {"lots": [lot_document(lot) for lot in found]},
        table=[
            {
                "points": str(lot.left_over),
                "earned at": lot.earned_at.isoformat(),
                "expires at": "never" if lot.expires_at is None else lot.expires_at.isoformat(),
            }
            for lot in found
        ],
    )


def expire(terminal: Terminal) -> None:
    """
    Expire what is past its expiry, in bounded batches, as `lastro work expire` does it over and over.
    """
    with terminal.opened() as ledger:
        done = ledger.points.expire()
    terminal.show(
        {"lots": done.lots, "accounts": done.accounts, "points": str(done.points), "skipped": done.skipped},
        table=[{"lots": str(done.lots), "points": str(done.points), "skipped": str(done.skipped)}],
    )


def erase(
    terminal: Terminal,
    *,
    member: Member,
    for_good: Annotated[bool, typer.Option("--for-good", help="Yes: it can't be undone.")] = False,
) -> None:
    """
    Erase a member, once and for good: a pseudonym stands for the name, balances stay.
    """
    if not for_good:
        raise typer.BadParameter("nobody can undo it: say --for-good", param_hint="--for-good")
    with terminal.opened() as ledger:
        erased = ledger.points.erase(member)
    terminal.show(
        {"pseudonym": erased.pseudonym, "accounts": erased.accounts},
        table=[{"pseudonym": erased.pseudonym, "accounts": str(erased.accounts)}],
    )


def _show(terminal: Terminal, posted: Posted) -> None:
    transfer = posted.transfer
    terminal.show(
        posted_document(posted),
        table=[
            {
                "key": transfer.key,
                "kind": transfer.kind,
                "from": transfer.debit,
                "to": transfer.credit,
                "points": shown_amount(transfer.amount, transfer.currency),
                "currency": transfer.currency,
            }
        ],
        note="there already: nothing was moved again" if posted.replayed else "",
    )
