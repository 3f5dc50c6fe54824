"""
`lastro demo` and `lastro rehearse checkout`: real checkouts and seasons of bets, for proof, and checkouts as load.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastro.cli.command import command
from lastro.cli.exits import REFUSED
from lastro.cli.terminal import Terminal

if TYPE_CHECKING:
    from lastro.rehearsal.proof import Proofs
    from lastro.rehearsal.verdict import Verdict

# Those of the rehearsal itself, which is only imported once it is run; a test holds them together.
RATE_PER_SECOND = 100.0
SECONDS = 10.0
CLIENTS = 16
PROCESSES = 2
LATER = "is for a later release: this one has no such part; leave it out"


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    command(app, "demo")(demo)
    rehearse = typer.Typer(
        help="Load a ledger before the real peak does, against criteria set beforehand.", no_args_is_help=True
    )
    command(rehearse, "checkout")(rehearse_checkout)
    app.add_typer(rehearse, name="rehearse")


def demo(
    terminal: Terminal,
    *,
    orders: Annotated[
        Path | None,
        typer.Option(
            "--orders", metavar="CSV", help="Order items to check out; made by seed without.", show_default=False
        ),
    ] = None,
    matches: Annotated[
        list[Path] | None,
        typer.Option(
            "--matches",
            metavar="CSV",
            help="A season of matches to bet on, once for each; made by seed without.",
            show_default=False,
        ),
    ] = None,
    statements: Annotated[
        Path | None,
        typer.Option(
            "--statements",
            metavar="ZIP",
            help="Spreadsheets to merge and match; made of the orders, with ten differences, without.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """
    Check out orders, merge and match statements of them, bet on matches and settle, prove every cent. Exits 1 if a proof fails.

    Runs in schemas of its own that are dropped afterwards, on an embedded server unless a database is named.
    """
    from lastro.rehearsal import demo as played

    proofs = played.run(
        url=terminal.named_url,
        orders=orders,
        matches=matches or (),
        statements=statements,
        progress=None if terminal.as_json else _tell,
    )
    _show_proofs(terminal, proofs)
    if not proofs.hold:
        raise typer.Exit(REFUSED)


def rehearse_checkout(
    terminal: Terminal,
    *,
    rate: Annotated[float, typer.Option("--rate", help="Checkouts a second.")] = RATE_PER_SECOND,
    seconds: Annotated[float, typer.Option("--seconds", help="For how long.")] = SECONDS,
    burst: Annotated[int, typer.Option("--burst", help="So many more at one moment halfway.")] = 0,
    clients: Annotated[int, typer.Option("--clients", help="Threads that check out.")] = CLIENTS,
    processes: Annotated[int, typer.Option("--processes", help="Processes that share the clients.")] = PROCESSES,
    seed: Annotated[int | None, typer.Option("--seed", help="Other orders and moments.", show_default="fixed")] = None,
    criteria: Annotated[
        Path | None,
        typer.Option("--criteria", metavar="FILE", help="TOML with the limits to keep.", show_default=False),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Comes with a later release.", show_default=False)
    ] = None,
    beside_others: Annotated[
        bool, typer.Option("--beside-others", help="Also on a database that holds other ledgers.")
    ] = False,
) -> None:
    """
    Let checkouts arrive by the clock, payouts and a consolidator beside them, and judge how they fared.

    Exit code 0 when every criterion is met, 1 when one is missed, 2 when this machine couldn't make the load. Runs in
    schemas of its own that are dropped afterwards, on an embedded server unless a database is named.
    """
    if report is not None:
        raise typer.BadParameter(f"--report {LATER}", param_hint="--report")
    from lastro.rehearsal import checkout
    from lastro.rehearsal.order_rows import SEED

    verdict = checkout.run(
        url=terminal.named_url,
        rate=rate,
        seconds=seconds,
        burst=burst,
        clients=clients,
        processes=processes,
        seed=SEED if seed is None else seed,
        criteria=criteria,
        beside_others=beside_others,
        progress=None if terminal.as_json else _tell,
    )
    _show_verdict(terminal, verdict)
    raise typer.Exit(verdict.exit_code)


def _show_proofs(terminal: Terminal, proofs: Proofs) -> None:
    terminal.show(
        proofs.as_dict(),
        table=[
            {
                "holds": "yes" if proof.holds else "NO",
                "proof": proof.name,
                "expected": str(proof.expected),
                "actual": str(proof.actual),
            }
            for proof in proofs.proofs
        ],
        note=f"{sum(proof.holds for proof in proofs.proofs)} of {len(proofs.proofs)} proofs hold",
    )


def _show_verdict(terminal: Terminal, verdict: Verdict) -> None:
    document = verdict.as_dict()
    terminal.show(
        document,
        table=[
            {
                "holds": "yes" if criterion["holds"] else "NO",
                "criterion": str(criterion["name"]),
                "limit": str(criterion["limit"]),
                "measured": str(criterion["actual"]),
            }
            for criterion in document["criteria"]
        ],
        note=f"{verdict.word}: {_figures(document['measured'])}",
    )


def _figures(measured: Mapping[str, Any]) -> str:
    return (
        f"{measured['completed']} of {measured['arrivals']} checkouts, {measured['completed_per_second']} a second, "
        f"p50 {measured['p50_ms']} ms, p99 {measured['p99_ms']} ms, {measured['debits_refused']} debits refused"
    )


def _tell(progress: str) -> None:
    # Beside the result, not in it: whoever reads stdout gets the proofs and nothing else.
    print(progress, file=sys.stderr, flush=True)
