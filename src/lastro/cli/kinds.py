"""
`lastro kinds`: the registered kinds of transfer, and the registering of more.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lastro.cli.command import command
from lastro.cli.documents import kind_document
from lastro.cli.terminal import Terminal
from lastro.model.kind import ANY, PREPAID, Kind

KindName = Annotated[
    str | None, typer.Argument(metavar="[KIND]", help="The kind to register, if not --prepaid.", show_default=False)
]
Side = "an account's name, the beginning of names (customer:*), or * for all."
Debit = Annotated[str, typer.Option("--debit", help=f"Who may go down: {Side}")]
Credit = Annotated[str, typer.Option("--credit", help=f"Who may go up: {Side}")]


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    kinds = typer.Typer(help="List the registered kinds of transfer, or register more.", no_args_is_help=True)
    command(kinds, "list")(list_kinds)
    command(kinds, "register")(register_kinds)
    app.add_typer(kinds, name="kinds")


def list_kinds(terminal: Terminal) -> None:
    """
    List the registered kinds: between which accounts each may stand, and what undoes it.
    """
    with terminal.opened() as ledger:
        found = ledger.kinds()
    terminal.show({"kinds": [kind_document(kind) for kind in found]}, table=[_row(kind) for kind in found])


def register_kinds(
    terminal: Terminal,
    *,
    name: KindName = None,
    debit: Debit = ANY,
    credit: Credit = ANY,
    either_way: Annotated[bool, typer.Option("--either-way", help="The other way round as well.")] = False,
    undone_by: Annotated[
        str | None, typer.Option("--undone-by", help="The only kind that may reverse it.", show_default="any")
    ] = None,
    prepaid: Annotated[bool, typer.Option("--prepaid", help="The seven kinds of a prepaid balance.")] = False,
) -> None:
    """
    Register a kind, or --prepaid: from then on every writer is held to it. Again on equal terms does nothing.
    """
    if prepaid == (name is not None):
        raise typer.BadParameter("give a KIND, or --prepaid", param_hint="KIND")
    wanted = list(PREPAID)
    if name is not None:
        wanted = [Kind(name, debit, credit, either_way, undone_by)]
    elif (debit, credit, either_way, undone_by) != (ANY, ANY, False, None):
        raise typer.BadParameter("the kinds of --prepaid have their own terms", param_hint="--prepaid")
    with terminal.opened() as ledger:
        changed = ledger.register_kinds(wanted)
    terminal.show(
        {"registered": changed, "kinds": [kind_document(kind) for kind in wanted]},
        table=[{"outcome": "registered" if kind.name in changed else "there already"} | _row(kind) for kind in wanted],
    )


def _row(kind: Kind) -> dict[str, str]:
    return {
        "kind": kind.name,
        "debit": kind.debit,
        "credit": kind.credit,
        "either way": "yes" if kind.either_way else "no",
        "undone by": kind.undone_by or "any",
    }
