"""
`lastro migrate`: the ledger's tables, brought up to this release.
"""

from __future__ import annotations

import typer

from lastro.cli.command import command
from lastro.cli.terminal import Terminal


def register(app: typer.Typer) -> None:
    """
    Add the command to *app*.
    """
    command(app, "migrate")(migrate)


def migrate(terminal: Terminal) -> None:
    """
    Bring the ledger's tables up to this release. Safe beside traffic, and to repeat.
    """
    with terminal.opened(making=True) as ledger:
        applied = ledger.migrate()
    terminal.show(
        {"ledger": terminal.ledger_name, "applied": applied},
        table=[{"applied": name} for name in applied],
        note="" if applied else f"ledger {terminal.ledger_name} is up to date",
    )
