"""
`lastro points rule|rules|earn|cancel|activity|rebuild`: what activity earns, and by which rules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lastro.cli import points_lots
from lastro.cli.arguments import Actor, OccurredAt, moment_of, whole
from lastro.cli.command import command
from lastro.cli.points_documents import activity_document, earning_document, rebuilt_document, rule_document
from lastro.cli.terminal import Terminal
from lastro.errors import UnknownActivity
from lastro.points.rules import RULES_LISTED_MAX

if TYPE_CHECKING:
    from lastro.points.activities import Activity, Earning
    from lastro.points.rebuilding import Rebuilt
    from lastro.points.rules import Rule

SHOWN = 100

ActivityKey = Annotated[
    str, typer.Option("--key", help="Names the activity, the same for every attempt: match:8812", show_default=False)
]


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    points = typer.Typer(help="What members earn, spend and give, and the rules they earn by.", no_args_is_help=True)
    command(points, "rule")(rule)
    command(points, "rules")(rules)
    command(points, "earn")(earn)
    command(points, "cancel")(cancel)
    command(points, "activity")(activity)
    command(points, "rebuild")(rebuild)
    points_lots.register(points)
    app.add_typer(points, name="points")


def rule(
    terminal: Terminal,
    *,
    name: Annotated[str, typer.Argument(metavar="RULE", help="The rule's name.", show_default=False)],
    activity: Annotated[
        str | None, typer.Option("--activity", help="The kind of activity.", show_default=False)
    ] = None,
    points: Annotated[
        str | None, typer.Option("--points", metavar="INTEGER", help="For each unit of it.", show_default=False)
    ] = None,
    currency: Annotated[str | None, typer.Option("--currency", help="Of which unit.", show_default=False)] = None,
    cap: Annotated[
        str | None,
        typer.Option("--cap", metavar="INTEGER", help="To one member in a period at most.", show_default="none"),
    ] = None,
    period: Annotated[str, typer.Option("--period", help="day, week, month or ever.")] = "ever",
    time_zone: Annotated[str, typer.Option("--time-zone", help="Whose calendar counts.")] = "UTC",
    priority: Annotated[int, typer.Option("--priority", help="Of several rules the highest posts first.")] = 0,
    beyond_cap: Annotated[str, typer.Option("--beyond-cap", help="fit: give what still fits; refuse.")] = "fit",
    lot_days: Annotated[
        int | None, typer.Option("--lot-days", help="After so many days the points expire.", show_default="never")
    ] = None,
    end: Annotated[bool, typer.Option("--end", help="The rule gives nothing from now on.")] = False,
) -> None:
    """
    Define a rule, or a new version of one; --end ends it; with its name alone, show it.

    A new version is told whole: an option left out takes its default, not what it was.
    """
    said = {"--activity": activity, "--points": points, "--currency": currency}
    with terminal.opened() as ledger:
        if end or not any(said.values()):
            found = ledger.points.end_rule(name) if end else ledger.points.rule(name)
        else:
            for option, value in said.items():
                if value is None:
                    raise typer.BadParameter(f"a rule needs {option}", param_hint=option)
            found = ledger.points.define_rule(
                name,
                activity=cast(str, activity),
                points=whole(cast(str, points), "--points"),
                currency=cast(str, currency),
                cap=None if cap is None else whole(cap, "--cap"),
                period=cast(Any, period),
                time_zone=time_zone,
                priority=priority,
                beyond_cap=cast(Any, beyond_cap),
                lot_days=lot_days,
            )
    terminal.show(rule_document(found), table=[_rule_row(found)])


def rules(
    terminal: Terminal,
    *,
    after: Annotated[str | None, typer.Option("--after", help="The last rule of the page before.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=RULES_LISTED_MAX)] = SHOWN,
) -> None:
    """
    List the rules in the order of their names, each in its newest version.
    """
    with terminal.opened() as ledger:
        found = ledger.points.rules(after=after, limit=limit)
    terminal.show({"rules": [rule_document(each) for each in found]}, table=[_rule_row(each) for each in found])


def earn(
    terminal: Terminal,
    *,
    key: ActivityKey,
    activity: Annotated[str, typer.Option("--activity", help="What sort of activity.", show_default=False)],
    member: Annotated[str, typer.Option("--member", help="Who did it.", show_default=False)],
    units: Annotated[int, typer.Option("--units", help="How many units of it.")] = 1,
    occurred_at: OccurredAt = None,
    actor: Actor = None,
) -> None:
    """
    Report an activity, once, and give what it earns: the same key again does nothing and shows the first one.
    """
    moment = moment_of(occurred_at, option="--occurred-at")
    with terminal.opened() as ledger:
        done = ledger.points.earn(key, activity=activity, member=member, units=units, occurred_at=moment, actor=actor)
    note = "" if done.earnings else "recorded; it earned nothing: no rule gives for it, or its cap is reached"
    terminal.show(
        {"replayed": done.replayed, "activity": activity_document(done.activity)},
        table=_earning_rows(done.earnings),
        note="there already: nothing was given again" if done.replayed else note,
    )


def cancel(terminal: Terminal, *, key: ActivityKey, actor: Actor = None) -> None:
    """
    Take back what an activity earned, below zero as well.
    """
    with terminal.opened() as ledger:
        done = ledger.points.cancel(key, actor=actor)
    terminal.show(
        {
            "replayed": done.replayed,
            "taken": [earning_document(taken) for taken in done.taken],
            "activity": activity_document(done.activity),
        },
        table=_earning_rows(done.taken),
        note="cancelled already: nothing was taken again" if done.replayed else "",
    )


def activity(
    terminal: Terminal,
    *,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The activity's key.", show_default=False)],
) -> None:
    """
    Show an activity and what it has earned.
    """
    with terminal.opened() as ledger:
        found = ledger.points.activity(key)
    if found is None:
        raise UnknownActivity(f"there is no activity with the key {key!r}", key=key)
    terminal.show(activity_document(found), table=[_activity_row(found)])


def rebuild(
    terminal: Terminal,
    *,
    name: Annotated[str, typer.Argument(metavar="RULE", help="The rule's name.", show_default=False)],
    since: Annotated[str, typer.Option("--since", metavar="MOMENT", help="From here on.", show_default=False)],
    until: Annotated[str, typer.Option("--until", metavar="MOMENT", help="Before here.", show_default=False)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what it would change.")] = False,
    actor: Actor = None,
) -> None:
    """
    Compute anew what a rule gave, under its newest version, and post the differences. Killed, it goes on when run again.
    """
    start, end = moment_of(since, option="--since"), moment_of(until, option="--until")
    assert start is not None
    assert end is not None
    with terminal.opened() as ledger, _progress(terminal) as progress:
        done = ledger.points.rebuild(name, start, end, dry_run=dry_run, actor=actor, progress=progress)
    terminal.show(
        rebuilt_document(done),
        table=[{name: str(value) for name, value in rebuilt_document(done).items() if name != "dry_run"}],
        note="a dry run: nothing was written" if dry_run else "",
    )


@contextmanager
def _progress(terminal: Terminal) -> Iterator[Callable[[Rebuilt], None] | None]:
    """A bar on stderr, for people who watch."""
    if terminal.as_json or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("members", total=None)
        yield lambda so_far: bar.update(task, total=so_far.members_all, completed=so_far.members)


def _rule_row(found: Rule) -> dict[str, str]:
    period = "for ever" if found.period == "ever" else f"a {found.period} ({found.time_zone})"
    cap = "" if found.cap is None else f"{found.cap} {period}, {found.beyond_cap}"
    return {
        "rule": found.name,
        "version": str(found.version),
        "activity": found.activity,
        "points": f"{found.points} {found.currency}",
        "cap": cap,
        "expires": "never" if found.lot_days is None else f"after {found.lot_days} days",
    }


def _earning_rows(earned: tuple[Earning, ...]) -> list[dict[str, str]]:
    return [{"rule": earning.rule, "points": str(earning.amount), "currency": earning.currency} for earning in earned]


def _activity_row(found: Activity) -> dict[str, str]:
    return {
        "key": found.key,
        "activity": found.kind,
        "member": found.member,
        "units": str(found.units),
        "occurred at": found.occurred_at.isoformat(),
        "earned": ", ".join(f"{earning.amount} {earning.currency} ({earning.rule})" for earning in found.earnings),
        "cancelled at": "" if found.cancelled_at is None else found.cancelled_at.isoformat(),
    }
