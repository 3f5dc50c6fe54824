"""
`lastro reconcile` and `lastro incidents`: whether what is stored is what the history says, and what differed.
"""

from __future__ import annotations

import threading
from typing import Annotated

import typer

from lastro.cli.arguments import shown_amount
from lastro.cli.command import command, on_terminal
from lastro.cli.documents import incident_document, reconciled_document, totals_document
from lastro.cli.exits import REFUSED
from lastro.cli.terminal import Terminal
from lastro.cli.working import log_to_stderr
from lastro.model.incident import ON_DRIFT, Incident, OnDrift
from lastro.model.limits import (
    INCIDENTS_LISTED_MAX,
    RECONCILIATION_REST_TIMES,
    RECONCILIATION_REST_TIMES_MAX,
)
from lastro.workers.crew import Crew
from lastro.workers.reconciler import Reconciler

SHOWN = 100
MS_IN_A_SECOND = 1_000
# The rules that compare money; the others count rows.
OF_AMOUNTS = ("balance", "held", "chain")


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    command(app, "reconcile")(reconcile)
    incidents = typer.Typer(help="List the drift that nobody has explained (the default), or explain one.")
    incidents.callback(invoke_without_command=True)(on_terminal(list_by_default))
    command(incidents, "list")(list_incidents)
    command(incidents, "explain")(explain)
    app.add_typer(incidents, name="incidents")


def reconcile(
    terminal: Terminal,
    *,
    every: Annotated[
        float | None,
        typer.Option("--every", metavar="SECONDS", min=0.1, help="Again and again until SIGTERM.", show_default="once"),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All accounts, and all of their history.")] = False,
    on_drift: Annotated[
        str, typer.Option("--on-drift", help="report; or adjust, which posts the difference as one transfer as well.")
    ] = "report",
    rest: Annotated[
        float,
        typer.Option(
            "--rest",
            metavar="TIMES",
            min=0,
            max=RECONCILIATION_REST_TIMES_MAX,
            help="After each batch, rest so many times as long as it took; 0 is as fast as it goes.",
        ),
    ] = RECONCILIATION_REST_TIMES,
) -> None:
    """
    Compare what is stored of each account with its history: all that moved since it last agreed.

    Exits 1 where an incident is open: drift that nobody has explained (`lastro incidents`).
    """
    chosen = next((word for word in ON_DRIFT if word == on_drift), None)
    if chosen is None:
        raise typer.BadParameter(f"one of {', '.join(ON_DRIFT)}; got {on_drift!r}", param_hint="--on-drift")
    found_drift = (
        _once(terminal, full=full, on_drift=chosen, rest=rest)
        if every is None
        else _again_and_again(terminal, every, full=full, on_drift=chosen, rest=rest)
    )
    if found_drift:
        raise typer.Exit(REFUSED)


def _once(terminal: Terminal, *, full: bool, on_drift: OnDrift, rest: float) -> bool:
    with terminal.opened() as ledger:
        done = ledger.reconcile(full=full, on_drift=on_drift, rest=rest)
        drift = ledger.incidents(limit=SHOWN) if done.open_incidents else []
    terminal.show(
        reconciled_document(done) | {"incidents": [incident_document(incident) for incident in drift]},
        table=[_row(incident) for incident in drift],
        note=f"accounts compared: {done.accounts}, unmoved: {done.skipped}, differing: {done.drifted}; "
        f"open incidents: {done.open_incidents}",
    )
    return done.open_incidents > 0


def _again_and_again(terminal: Terminal, every_s: float, *, full: bool, on_drift: OnDrift, rest: float) -> bool:
    log_to_stderr()
    stop = threading.Event()
    reconciler = Reconciler(
        terminal.connect(),
        stopping=stop.is_set,
        interval_ms=int(every_s * MS_IN_A_SECOND),
        full=full,
        on_drift=on_drift,
        rest=rest,
    )
    totals = Crew([reconciler], stop=stop).run(signals=True)
    if terminal.as_json:
        terminal.say_json({"event": "stopped", "workers": totals_document(totals)})
    return reconciler.found_drift


def list_by_default(terminal: Terminal, *, context: typer.Context) -> None:
    """
    List the drift that nobody has explained (the default), or explain one.
    """
    if context.invoked_subcommand is None:
        list_incidents(terminal)
    elif terminal != Terminal(None, None, as_json=False):
        raise typer.BadParameter(f"options belong behind the verb: lastro incidents {context.invoked_subcommand} …")


def list_incidents(
    terminal: Terminal,
    *,
    explained: Annotated[bool, typer.Option("--all", help="Those that were explained, too.")] = False,
    before: Annotated[
        int | None, typer.Option("--before", metavar="INCIDENT", help="Older than this one.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=INCIDENTS_LISTED_MAX)] = SHOWN,
) -> None:
    """
    List incidents, the newest first. `agreed` is the last transfer at which the account's numbers agreed.
    """
    with terminal.opened() as ledger:
        found = ledger.incidents(open=not explained, before=before, limit=limit)
    terminal.show(
        {
            "incidents": [incident_document(incident) for incident in found],
            "next": found[-1].id if len(found) == limit else None,
        },
        table=[_row(incident) for incident in found],
    )


def explain(
    terminal: Terminal,
    *,
    incident: Annotated[int, typer.Argument(metavar="INCIDENT", help="Its number.", min=1, show_default=False)],
    explanation: Annotated[str, typer.Option("--explanation", help="What it was.", show_default=False)],
    actor: Annotated[str, typer.Option("--actor", help="Who found out.", show_default=False)],
) -> None:
    """
    Say what an incident was; that closes it.
    """
    with terminal.opened() as ledger:
        explained = ledger.explain(incident, explanation=explanation, actor=actor)
    terminal.show(incident_document(explained), table=[_row(explained)])


def _row(incident: Incident) -> dict[str, str]:
    currency = incident.currency if incident.currency and incident.rule in OF_AMOUNTS else None
    expected, found = (
        str(number) if currency is None else shown_amount(number, currency)
        for number in (incident.expected, incident.found)
    )
    return {
        "incident": str(incident.id),
        "account": incident.account or f"id {incident.account_id}",
        "currency": incident.currency or "",
        "rule": incident.rule,
        "expected": expected,
        "found": found,
        "agreed": "" if incident.agreed_id is None else str(incident.agreed_id),
        "transfer": "" if incident.transfer_id is None else str(incident.transfer_id),
        "opened at": incident.opened_at.isoformat(timespec="seconds"),
        "gone since": "" if incident.cleared_at is None else incident.cleared_at.isoformat(timespec="seconds"),
        "explained": incident.explanation or "",
    }
