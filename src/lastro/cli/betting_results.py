"""
`lastro bet settle|correct|void|retry|stuck|letters`: results as people report them, and rounds of settlement by hand.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lastro.cli.arguments import Actor, Source, moment_of
from lastro.cli.betting_documents import (
    bet_document,
    letter_document,
    result_document,
    settlement_document,
    stuck_document,
)
from lastro.cli.command import command
from lastro.cli.terminal import Terminal
from lastro.ledger import Ledger
from lastro.model.bet import ResultTaken
from lastro.model.limits import BETS_LISTED_MAX

SHOWN = 100

Market = Annotated[str, typer.Argument(metavar="MARKET", help="The market's name.", show_default=False)]
Outcomes = Annotated[
    list[str] | None,
    typer.Option(
        "--outcome",
        metavar="SELECTION=OUTCOME",
        help="home=won; won, lost, void, half_won, half_lost or dead_heat:a/b.",
        show_default=False,
    ),
]
Others = Annotated[str | None, typer.Option("--others", help="What became of the others: lost.", show_default=False)]
Version = Annotated[int | None, typer.Option("--version", min=1, help="The result's version.", show_default=False)]
DecidedAt = Annotated[
    str | None,
    typer.Option("--decided-at", metavar="MOMENT", help="Bets placed later are void.", show_default="now"),
]


def register(betting: typer.Typer) -> None:
    """
    Add the commands to the group *betting*.
    """
    command(betting, "settle")(settle)
    command(betting, "correct")(correct)
    command(betting, "void")(void)
    command(betting, "stuck")(stuck)
    command(betting, "retry")(retry)
    command(betting, "letters")(letters)


def settle(
    terminal: Terminal,
    *,
    market: Annotated[str | None, typer.Argument(metavar="[MARKET]", show_default=False)] = None,
    outcomes: Outcomes = None,
    others: Others = None,
    version: Version = None,
    decided_at: DecidedAt = None,
    source: Source = None,
    actor: Actor = None,
) -> None:
    """
    Report a market's first result, and run a round of settlement; without a market, only the round.
    """
    moment = moment_of(decided_at, option="--decided-at")
    with terminal.opened() as ledger:
        taken = None
        if market is not None:
            taken = ledger.betting.result(
                market,
                pairs(outcomes or [], "--outcome"),
                others=others,
                # The first one by default: said twice it is a duplicate, and no correction.
                version=version or 1,
                decided_at=moment,
                source=source,
                actor=actor,
            )
        _settle(terminal, ledger, taken)


def correct(
    terminal: Terminal,
    *,
    market: Market,
    version: Annotated[int, typer.Option("--version", min=2, help="Of the corrected result.", show_default=False)],
    outcomes: Outcomes = None,
    others: Others = None,
    decided_at: DecidedAt = None,
    source: Source = None,
    actor: Actor = None,
) -> None:
    """
    Report a result again, of a higher version: what was settled by the one before is reversed, and settled anew.
    """
    moment = moment_of(decided_at, option="--decided-at")
    with terminal.opened() as ledger:
        taken = ledger.betting.result(
            market,
            pairs(outcomes or [], "--outcome"),
            others=others,
            version=version,
            decided_at=moment,
            source=source,
            actor=actor,
        )
        _settle(terminal, ledger, taken)


def void(
    terminal: Terminal,
    *,
    market: Annotated[str | None, typer.Argument(metavar="[MARKET]", show_default=False)] = None,
    bet: Annotated[
        str | None, typer.Option("--bet", metavar="KEY", help="Void this bet alone, for good.", show_default=False)
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, with --bet.", show_default=False)] = None,
    version: Version = None,
    source: Source = None,
    actor: Actor = None,
) -> None:
    """
    Void a market, or one bet: stakes are given back, also where it was settled before.
    """
    if (market is None) == (bet is None):
        raise typer.BadParameter("give a market, or --bet KEY")
    if bet is None and reason is not None:
        raise typer.BadParameter(
            "a market is voided by a result, which has no reason: say --source", param_hint="--reason"
        )
    if bet is not None and (version, source) != (None, None):
        raise typer.BadParameter("--version and --source belong to a market's result", param_hint="--bet")
    if bet is not None and (reason is None or actor is None):
        raise typer.BadParameter("say why, and who you are: --reason and --actor", param_hint="--bet")
    with terminal.opened() as ledger:
        if market is not None:
            taken = ledger.betting.void(market, version=version, source=source, actor=actor)
            _settle(terminal, ledger, taken)
        elif bet is not None and reason is not None and actor is not None:
            _void_bet(terminal, ledger, bet, reason=reason, actor=actor)


def _void_bet(terminal: Terminal, ledger: Ledger, key: str, *, reason: str, actor: str) -> None:
    voided = ledger.betting.void_bet(key, reason=reason, actor=actor)
    document = {"bet": bet_document(voided.bet), "replayed": voided.replayed}
    outcome = "replayed" if voided.replayed else "voided"
    row = {"outcome": outcome, "bet": key, "state": voided.bet.state, "version": str(voided.bet.version)}
    terminal.show(document, table=[row])


def stuck(terminal: Terminal, *, limit: Annotated[int, typer.Option(min=1, max=BETS_LISTED_MAX)] = SHOWN) -> None:
    """
    List the bets that couldn't be settled, each with its reason.
    """
    with terminal.opened() as ledger:
        found = ledger.betting.stuck(limit=limit)
    documents = [stuck_document(each) for each in found]
    rows = [{"bet": each.key, "market": each.market, "code": each.code, "why": each.message} for each in found]
    terminal.show({"stuck": documents}, table=rows)


def letters(terminal: Terminal, *, limit: Annotated[int, typer.Option(min=1, max=BETS_LISTED_MAX)] = SHOWN) -> None:
    """
    List the messages that were no results, each with its reason, the newest first.
    """
    with terminal.opened() as ledger:
        found = ledger.betting.dead_letters(limit=limit)
    documents = [letter_document(each) for each in found]
    names = ("received_at", "topic", "code", "reason", "message")
    terminal.show({"letters": documents}, table=[{name: one[name] for name in names} for one in documents])


def retry(
    terminal: Terminal, *, key: Annotated[str | None, typer.Argument(metavar="[BET]", show_default=False)] = None
) -> None:
    """
    Try bets again that couldn't be settled: one, or all of them.
    """
    with terminal.opened() as ledger:
        bets = ledger.betting.try_again(key)
        done = ledger.betting.settle()
    document = {"bets": bets, "settlement": settlement_document(done)}
    terminal.show(document, table=[{"tried again": str(bets), "stuck": str(done.stuck)}])


def _settle(terminal: Terminal, ledger: Ledger, taken: ResultTaken | None) -> None:
    done = ledger.betting.settle()
    document = {
        "result": None if taken is None else result_document(taken),
        "settlement": settlement_document(done),
    }
    row = {} if taken is None else {"result": taken.outcome, "version": str(taken.version)}
    row |= {name: str(value) for name, value in done._asdict().items() if name != "full"}
    terminal.show(document, table=[row])


def pairs(texts: list[str], option: str) -> dict[str, str]:
    """
    Return the pairs of an option that is given as NAME=VALUE, again and again.
    """
    said: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or name in said:
            raise typer.BadParameter(f"give each name once, as NAME=VALUE; got {text!r}", param_hint=option)
        said[name] = value
    return said
