"""
`lastro demo`: real checkouts and seasons of bets, and the proof of every cent.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastro.cli.command import command
from lastro.cli.exits import REFUSED
from lastro.cli.terminal import Terminal

if TYPE_CHECKING:
    from lastro.rehearsal.proof import Proofs


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    command(app, "demo")(demo)


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


def _tell(progress: str) -> None:
    # Beside the result, not in it: whoever reads stdout gets the proofs and nothing else.
    print(progress, file=sys.stderr, flush=True)
