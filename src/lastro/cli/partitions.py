"""
`lastro partitions`: the parts of the history, and the retiring of an old one.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lastro.cli.command import command
from lastro.cli.documents import partition_document
from lastro.cli.terminal import Terminal
from lastro.plans.partitioning import Partition


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    partitions = typer.Typer(help="List the partitions of the history, or retire an old one.", no_args_is_help=True)
    command(partitions, "list")(list_partitions)
    command(partitions, "retire")(retire)
    app.add_typer(partitions, name="partitions")


def list_partitions(terminal: Terminal) -> None:
    """
    List the partitions, oldest first.
    """
    with terminal.opened() as ledger:
        found = ledger.partitions()
    terminal.show(
        {"partitions": [partition_document(partition) for partition in found]},
        table=[_row(partition) for partition in found],
    )


def retire(
    terminal: Terminal,
    *,
    name: Annotated[str, typer.Argument(metavar="PARTITION", help="Its name, as listed.", show_default=False)],
) -> None:
    """
    Take a full partition out of the history. Its table stays for an archive; no balance changes.
    """
    with terminal.opened() as ledger:
        retired = ledger.retire_partition(name)
    terminal.show(partition_document(retired), table=[_row(retired)])


def _row(partition: Partition) -> dict[str, str]:
    return {
        "partition": partition.name,
        "from": str(partition.from_id),
        "to": str(partition.to_id),
        "transfers (about)": str(partition.transfers_about),
    }
