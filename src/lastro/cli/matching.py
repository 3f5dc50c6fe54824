"""
`lastro match`: which lines of merged sheets are which transfers, and what has no other side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lastro.cli.command import command
from lastro.cli.exits import REFUSED
from lastro.cli.terminal import Terminal

if TYPE_CHECKING:
    from lastro.matching import Item, MatchGroup, MatchRun

# Groups that are shown on the screen, or in JSON; files hold all.
GROUPS_SHOWN: Final = 100
ACTOR: Final = "lastro match"


def register(app: typer.Typer) -> None:
    """
    Add the command to *app*.
    """
    command(app, "match")(match)


def match(
    terminal: Terminal,
    *,
    spec: Annotated[
        str,
        typer.Option("--spec", metavar="SPEC", help="A ready one (movements, billing), or a TOML file that holds one."),
    ],
    period: Annotated[str, typer.Option("--period", metavar="YYYY-MM", help="The month to match.")],
    account: Annotated[
        str | None,
        typer.Option("--account", metavar="NAME", help="Only this account's transfers.", show_default="the spec's"),
    ] = None,
    matched: Annotated[bool, typer.Option("--all", help="Show what matched as well.")] = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write it there as CSV too.", show_default=False)
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE.html", help="Write a page to be printed too.", show_default=False),
    ] = None,
) -> None:
    """
    Match a month's lines of a merged sheet with transfers, store the result and show what differs.

    Exits 1 where something differs. The ledger is only read; the newest run of a spec and a month stands.
    """
    from lastro.matching.files import figures

    with terminal.opened() as ledger:
        matching = ledger.matching
        run = matching.match(_spec(spec), period=period, account=account, actor=ACTOR)
        for path, format_ in ((csv, "csv"), (page, "html")):
            if path is not None:
                matching.write(run.id, path, "csv" if format_ == "csv" else "html", matched=matched)
        found = list(islice(matching.each_group(run.id, matched=matched), GROUPS_SHOWN))
    more = (run.matched if matched else 0) + run.differences - len(found)
    terminal.show(
        _run_document(run) | {"groups": [_group_document(group) for group in found], "groups_left_out": more},
        table=list(_rows(found)),
        note=f"{figures(run)}{f'; {more} groups more than shown' if more else ''}",
    )
    if run.differences:
        raise typer.Exit(REFUSED)


def _spec(given: str) -> str | Path:
    from lastro.matching.spec_files import READY

    path = Path(given)
    return path if given not in READY and (path.suffix or path.exists()) else given


def _rows(groups: Iterable[MatchGroup]) -> Iterator[dict[str, str]]:
    from lastro.matching.files import SAID, amount_text

    for group in groups:
        yield {
            "outcome": SAID[group.outcome],
            "reference": group.reference or "",
            "lines": _listed(group.lines, group.currency),
            "transfers": _listed(group.transfers, group.currency),
            "difference": f"{amount_text(group.difference, group.currency)} {group.currency}",
        }


def _listed(items: Iterable[Item], currency: str) -> str:
    from lastro.matching.files import amount_text

    return "; ".join(f"{item.id} {item.on.isoformat()} {amount_text(item.amount, currency)}" for item in items)


def _run_document(run: MatchRun) -> dict[str, Any]:
    return {**run._asdict(), "ran_at": run.ran_at.isoformat(), "differences": run.differences}


def _group_document(group: MatchGroup) -> dict[str, Any]:
    return {
        "number": group.number,
        "outcome": group.outcome,
        "reference": group.reference,
        "currency": group.currency,
        "difference": str(group.difference),
        "cut_short": group.cut_short,
        "lines": [_item_document(line) for line in group.lines],
        "transfers": [_item_document(transfer) for transfer in group.transfers],
    }


def _item_document(item: Item) -> dict[str, Any]:
    return {"id": item.id, "on": item.on.isoformat(), "amount": str(item.amount), "inside": item.inside}
