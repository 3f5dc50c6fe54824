"""
`lastro rehearse`: load by the clock, exit criteria set beforehand, a verdict, a report, and two runs compared.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lastro.cli.command import command
from lastro.cli.exits import NOT_DONE
from lastro.cli.terminal import Terminal
from lastro.errors import LastroError

if TYPE_CHECKING:
    from lastro.rehearsal.scenario import Scenario

SHARED: Final = ("database_url", "as_json")
SEED: Final = 1

Rate = Annotated[
    float | None, typer.Option("--rate", help="Arrivals a second.", show_default="the scenario's, as the docs say")
]
Seconds = Annotated[
    float | None, typer.Option("--seconds", help="For how long they arrive.", show_default="the scenario's")
]
Burst = Annotated[
    int | None,
    typer.Option("--burst", help="How much comes at one moment halfway; 0 for none.", show_default="the scenario's"),
]
Clients = Annotated[int | None, typer.Option("--clients", help="Threads that make the load.", show_default="16")]
Processes = Annotated[
    int | None, typer.Option("--processes", help="Processes that share the clients.", show_default="2")
]
Accounts = Annotated[
    int | None,
    typer.Option("--accounts", help="Between how many accounts the load is spread.", show_default="the scenario's"),
]
Workers = Annotated[
    int | None, typer.Option("--workers", help="Processes that drain the queue of the burst.", show_default="1")
]
Seed = Annotated[int, typer.Option("--seed", help="Other moments, the same for the same number.")]
Idle = Annotated[
    float,
    typer.Option("--idle-transaction", metavar="SECONDS", help="Leave a transaction open so long, from a quarter on."),
]
Crash = Annotated[
    bool, typer.Option("--crash", help="Kill the server at three quarters; on an embedded server of its own only.")
]
CriteriaFile = Annotated[
    Path | None,
    typer.Option("--criteria", metavar="FILE", help="TOML with the limits to keep.", show_default="the scenario's own"),
]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write one HTML page there.", show_default=False)
]
Against = Annotated[
    Path | None,
    typer.Option(
        "--against", metavar="FILE", help="Show another run, its --json, beside this one.", show_default=False
    ),
]
BesideOthers = Annotated[
    bool, typer.Option("--beside-others", help="Also on a database that holds other ledgers; takes --accept-load too.")
]
AcceptLoad = Annotated[
    bool, typer.Option("--accept-load", help="Say for the second time that whoever else is there may be slowed down.")
]
Planted = Annotated[
    str | None,
    typer.Option(
        "--planted",
        metavar="FAULT",
        help="See it fail: direct-house or one-transaction.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    rehearse = typer.Typer(
        help="Load a ledger before the real peak does, against criteria set beforehand.", no_args_is_help=True
    )
    command(rehearse, "checkout", shared=SHARED)(checkout)
    command(rehearse, "match", shared=SHARED)(match)
    command(rehearse, "prepaid", shared=SHARED)(prepaid)
    command(rehearse, "compare", shared=("as_json",))(compare)
    app.add_typer(rehearse, name="rehearse")


def checkout(
    terminal: Terminal,
    *,
    rate: Rate = None,
    seconds: Seconds = None,
    burst: Burst = None,
    clients: Clients = None,
    processes: Processes = None,
    seed: Seed = SEED,
    idle_transaction: Idle = 0.0,
    criteria: CriteriaFile = None,
    report: Report = None,
    against: Against = None,
    beside_others: BesideOthers = False,
    accept_load: AcceptLoad = False,
) -> None:
    """
    A marketplace's checkouts on one hot account, payouts and a consolidator beside them; the burst is checkouts too.

    Exit code 0: every criterion was kept; 1: one wasn't; 2: it couldn't be run, or this machine couldn't make the load.
    Runs in schemas of its own that are dropped afterwards, on an embedded server unless a database is named.
    """
    from lastro.rehearsal.checkout import Checkout

    programme = {"rate": rate, "seconds": seconds, "burst": burst, "clients": clients, "processes": processes}
    _rehearse(
        terminal,
        Checkout(),
        {**programme, "seed": seed, "idle_s": idle_transaction},
        {"criteria": criteria, "beside_others": beside_others, "accept_load": accept_load},
        report=report,
        against=against,
    )


def match(
    terminal: Terminal,
    *,
    rate: Rate = None,
    seconds: Seconds = None,
    burst: Burst = None,
    clients: Clients = None,
    processes: Processes = None,
    accounts: Accounts = None,
    workers: Workers = None,
    seed: Seed = SEED,
    idle_transaction: Idle = 0.0,
    crash: Crash = False,
    planted: Planted = None,
    criteria: CriteriaFile = None,
    report: Report = None,
    against: Against = None,
    beside_others: BesideOthers = False,
    accept_load: AcceptLoad = False,
) -> None:
    """
    Bets placed on live markets; the burst is the result of a market with so many open bets on the same accounts.

    Exit code 0: every criterion was kept; 1: one wasn't; 2: it couldn't be run, or this machine couldn't make the load.
    Runs in schemas of its own that are dropped afterwards, on an embedded server unless a database is named.
    """
    programme = {"rate": rate, "seconds": seconds, "burst": burst, "clients": clients, "processes": processes}
    programme |= {"accounts": accounts, "workers": workers}
    _rehearse(
        terminal,
        _match(planted),
        {**programme, "seed": seed, "idle_s": idle_transaction, "crash": crash},
        {"criteria": criteria, "beside_others": beside_others, "accept_load": accept_load},
        report=report,
        against=against,
    )


def prepaid(
    terminal: Terminal,
    *,
    rate: Rate = None,
    seconds: Seconds = None,
    burst: Burst = None,
    clients: Clients = None,
    processes: Processes = None,
    accounts: Accounts = None,
    workers: Workers = None,
    seed: Seed = SEED,
    idle_transaction: Idle = 0.0,
    crash: Crash = False,
    criteria: CriteriaFile = None,
    report: Report = None,
    against: Against = None,
    beside_others: BesideOthers = False,
    accept_load: AcceptLoad = False,
) -> None:
    """
    Debits and top-ups of prepaid balances; the burst is a charging run over so many jobs on the same accounts.

    Exit code 0: every criterion was kept; 1: one wasn't; 2: it couldn't be run, or this machine couldn't make the load.
    Runs in schemas of its own that are dropped afterwards, on an embedded server unless a database is named.
    """
    from lastro.rehearsal.prepaid import Prepaid

    programme = {"rate": rate, "seconds": seconds, "burst": burst, "clients": clients, "processes": processes}
    programme |= {"accounts": accounts, "workers": workers}
    _rehearse(
        terminal,
        Prepaid(),
        {**programme, "seed": seed, "idle_s": idle_transaction, "crash": crash},
        {"criteria": criteria, "beside_others": beside_others, "accept_load": accept_load},
        report=report,
        against=against,
    )


def compare(
    terminal: Terminal,
    *,
    before: Annotated[Path, typer.Argument(metavar="A.json", help="What the earlier run printed with --json.")],
    after: Annotated[Path, typer.Argument(metavar="B.json", help="What the later run printed with --json.")],
    report: Report = None,
) -> None:
    """
    Show two runs of one scenario beside each other, figure by figure.
    """
    from lastro.rehearsal.comparing import compared, programmes_differ, read_run, refuse_others
    from lastro.rehearsal.report import write_report
    from lastro.rehearsal.verdict import shown

    one, other = read_run(before), read_run(after)
    refuse_others(one, other)
    lines = list(compared(one, other))
    differing = programmes_differ(one, other)
    if report is not None:
        write_report(report, other, against=one)
    terminal.show(
        {
            "verdicts": [one["verdict"], other["verdict"]],
            "programmes_differ_in": differing,
            "figures": [line._asdict() for line in lines],
        },
        table=[
            {
                "figure": line.name,
                "before": "none" if line.before is None else shown(line.before),
                "after": "none" if line.after is None else shown(line.after),
                "change": line.change,
                "": line.direction,
            }
            for line in lines
        ],
        note=f"{one['verdict']} before, {other['verdict']} after"
        + (f"; the programmes differ in {', '.join(differing)}" if differing else ""),
    )


def _match(planted: str | None) -> Scenario:
    from lastro.rehearsal.match import Match
    from lastro.rehearsal.planted import PLANTED

    if planted is None:
        return Match()
    if planted not in PLANTED:
        raise typer.BadParameter(f"there is {' and '.join(PLANTED)}; got {planted!r}", param_hint="--planted")
    return PLANTED[planted]()


def _rehearse(
    terminal: Terminal,
    scenario: Scenario,
    asked: Mapping[str, Any],
    how: Mapping[str, Any],
    *,
    report: Path | None,
    against: Path | None,
) -> None:
    try:
        exit_code = _played(terminal, scenario, asked, how, report=report, against=against)
    except LastroError as error:
        # Not 1, whatever it was: that says that a criterion was missed, and nothing was judged.
        terminal.fail(error)
        exit_code = NOT_DONE
    raise typer.Exit(exit_code)


def _played(
    terminal: Terminal,
    scenario: Scenario,
    asked: Mapping[str, Any],
    how: Mapping[str, Any],
    *,
    report: Path | None,
    against: Path | None,
) -> int:
    from lastro.rehearsal.comparing import read_run, refuse_others
    from lastro.rehearsal.programme import Programme
    from lastro.rehearsal.rehearsing import rehearse
    from lastro.rehearsal.report import write_report

    # Read before the load: a run of minutes must not end with a file that isn't there.
    other = None if against is None else read_run(against)
    if other is not None:
        refuse_others(other, {"scenario": scenario.name})
    programme = Programme(**{**scenario.defaults._asdict(), **_given(asked)})
    tell: Callable[[str], None] | None = None if terminal.as_json else _tell
    rehearsed = rehearse(scenario, programme, url=terminal.named_url, progress=tell, **how)
    if report is not None:
        write_report(report, rehearsed.document, against=other)
    _show(terminal, rehearsed.document)
    return rehearsed.verdict.exit_code


def _given(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


def _show(terminal: Terminal, document: Mapping[str, Any]) -> None:
    measured = document["measured"]
    terminal.show(
        document,
        table=[
            {
                "holds": "yes" if criterion["holds"] else "NO",
                "criterion": criterion["name"],
                "limit": str(criterion["limit"]),
                "measured": str(criterion["actual"]),
            }
            for criterion in document["criteria"]
        ],
    )
    summary = (
        f"{document['verdict']}: {measured['completed']} of {measured['arrivals']} {document['waits_for']}s, "
        f"{measured['completed_per_second']} a second, p50 {measured['p50_ms']} ms, p99 {measured['p99_ms']} ms; "
        f"the generator took {document['generator']['cpu_share']:.1%} of a processor"
    )
    for line in (summary, *document["reasons"], *(_found(finding) for finding in document["findings"])):
        terminal.say(line)


def _found(finding: Mapping[str, str]) -> str:
    return f"found during {finding['phase']}: {finding['code']}: {finding['subject']}: {finding['evidence']}"


def _tell(progress: str) -> None:
    # Beside the result, not in it: whoever reads stdout gets the verdict and nothing else.
    print(progress, file=sys.stderr, flush=True)
