"""
`lastro outbox`: how far behind publishing is, what failed and why, and having it retried or skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from lastro.cli.command import command
from lastro.cli.outbox_documents import note_document, set_aside_document, standing_document, waiting_document
from lastro.cli.terminal import Terminal
from lastro.ledger import Ledger
from lastro.model.limits import EVENTS_LISTED_MAX
from lastro.model.outbox import TargetStanding

SHOWN = 100

EventId = Annotated[str, typer.Argument(metavar="EVENT", help="The event's id.", show_default=False)]
After = Annotated[int | None, typer.Option("--after", help="Those behind this number.", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", min=1, max=EVENTS_LISTED_MAX)]
Reason = Annotated[str, typer.Option("--reason", help="Why.", show_default=False)]
By = Annotated[str, typer.Option("--actor", help="Who does it.", show_default=False)]


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    outbox = typer.Typer(
        help="See how far behind publishing is, and deal with what wasn't taken.", no_args_is_help=True
    )
    command(outbox, "status")(status)
    command(outbox, "show")(show)
    command(outbox, "failed")(failed)
    command(outbox, "notes")(notes)
    command(outbox, "retry")(retry)
    command(outbox, "skip")(skip)
    command(outbox, "enable")(enable)
    app.add_typer(outbox, name="outbox")


def status(terminal: Terminal) -> None:
    """
    Show how much waits, the age of the oldest event, what was set aside, and how the targets do.
    """
    with terminal.opened() as ledger:
        standing = ledger.outbox.standing()
    table = [
        {
            "waiting": str(standing.waiting),
            "age (ms)": "" if standing.age_ms is None else str(standing.age_ms),
            "keys waiting": str(standing.keys_waiting),
            "set aside": str(standing.set_aside),
            "published": str(standing.published),
        }
    ]
    notes = [_sentence(target) for target in standing.targets]
    terminal.show(standing_document(standing), table=table, note=notes)


def show(terminal: Terminal, *, after: After = None, limit: Limit = SHOWN) -> None:
    """
    List events that wait, the oldest first, each with why its key waits where it does.
    """
    with terminal.opened() as ledger:
        found = ledger.outbox.waiting(after=after, limit=limit)
    table = [
        {
            "number": str(event.id),
            "event": event.event_id,
            "topic": event.topic,
            "key": event.ordering_key,
            "opened at": event.opened_at.isoformat(timespec="milliseconds"),
            "waits for": event.waits_for or "",
            "attempts": str(event.attempts),
            "reason": event.reason or "",
        }
        for event in found
    ]
    terminal.show({"events": [waiting_document(event) for event in found]}, table=table)


def failed(terminal: Terminal, *, after: After = None, limit: Limit = SHOWN) -> None:
    """
    List events that were set aside, the oldest first, each with its reason.
    """
    with terminal.opened() as ledger:
        found = ledger.outbox.set_aside(after=after, limit=limit)
    table = [
        {
            "number": str(event.id),
            "event": event.event_id,
            "topic": event.topic,
            "key": event.ordering_key,
            "attempts": str(event.attempts),
            "set aside at": event.set_aside_at.isoformat(timespec="milliseconds"),
            "reason": event.reason,
        }
        for event in found
    ]
    terminal.show({"events": [set_aside_document(event) for event in found]}, table=table)


def notes(terminal: Terminal, *, limit: Limit = SHOWN) -> None:
    """
    List what was done about events and targets, the newest first: by whom and why.
    """
    with terminal.opened() as ledger:
        found = ledger.outbox.notes(limit=limit)
    table = [
        {
            "recorded at": note.recorded_at.isoformat(timespec="milliseconds"),
            "action": note.action,
            "about": note.about,
            "actor": note.actor,
            "reason": note.reason,
        }
        for note in found
    ]
    terminal.show({"notes": [note_document(note) for note in found]}, table=table)


def retry(terminal: Terminal, *, event: EventId, reason: Reason, actor: By) -> None:
    """
    Have an event published that was set aside, or that waits for its next attempt; what is behind it follows.
    """
    _do(
        terminal,
        "retried",
        event,
        lambda ledger: ledger.outbox.retry(event, reason=reason, actor=actor),
    )


def skip(terminal: Terminal, *, event: EventId, reason: Reason, actor: By) -> None:
    """
    Take an event out for good, unpublished; what is behind it goes on. The event stays on record.
    """
    _do(terminal, "skipped", event, lambda ledger: ledger.outbox.skip(event, reason=reason, actor=actor))


def enable(
    terminal: Terminal,
    *,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="As `status` names it.", show_default=False)],
    reason: Reason,
    actor: By,
) -> None:
    """
    Switch a target on again that was switched off after its failures.
    """
    _do(terminal, "enabled", target, lambda ledger: ledger.outbox.enable(target, reason=reason, actor=actor))


def _do(terminal: Terminal, done: str, what: str, act: Callable[[Ledger], None]) -> None:
    with terminal.opened() as ledger:
        act(ledger)
    if terminal.as_json:
        terminal.say_json({"action": done, "of": what})
    terminal.say(f"{done}: {what}")


def _sentence(target: TargetStanding) -> str:
    if target.disabled_at is not None:
        return f"{target.name} is switched off since {target.disabled_at.isoformat()}: {target.reason}"
    if target.failures:
        return f"{target.name} failed {target.failures} times in a row: {target.reason}"
    return f"{target.name} takes events"
