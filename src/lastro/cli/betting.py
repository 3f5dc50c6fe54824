"""
`lastro bet market|markets|place|show|list|overdue`: markets and their odds, bets and how they stand.
"""

from __future__ import annotations

from typing import Annotated

import typer

from lastro.cli import betting_results
from lastro.cli.arguments import Actor, Amount, Metadata, Minor, amount_of, metadata_of, moment_of, shown_amount, whole
from lastro.cli.betting_documents import bet_document, bet_event_document, exposure_document, market_document
from lastro.cli.command import command
from lastro.cli.terminal import Terminal
from lastro.ledger.betting_blocking import Betting
from lastro.model.bet import Bet, Market, market_state
from lastro.model.limits import BET_STAKE_MAX, BETS_LISTED_MAX, MARKETS_LISTED_MAX

SHOWN = 100

MarketName = Annotated[str, typer.Argument(metavar="MARKET", help="The market's name.", show_default=False)]
# No default and none made up: a new key for each attempt is how money moves twice.
Key = Annotated[
    str, typer.Option("--key", help="Names this submission, the same for every attempt.", show_default=False)
]
Opening = Annotated[
    str | None, typer.Option("--currency", help="Open the market, in this currency.", show_default=False)
]
Odds = Annotated[
    list[str] | None,
    typer.Option("--odds", metavar="SELECTION=ODDS", help="Offer these odds: home=2.05", show_default=False),
]
ClosesAt = Annotated[
    str | None, typer.Option("--closes-at", metavar="MOMENT", help="It takes no bet from then on.", show_default=False)
]
SettleBy = Annotated[
    str | None,
    typer.Option("--settle-by", metavar="MOMENT", help="Its bets are overdue from then on.", show_default=False),
]
LiabilityMax = Annotated[
    str | None,
    typer.Option(
        "--liability-max-minor", metavar="INTEGER", help="What bets on one selection may win.", show_default=False
    ),
]
Withdrawn = Annotated[
    str | None, typer.Option("--withdraw", metavar="SELECTION", help="No more bets on it.", show_default=False)
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=BETS_LISTED_MAX)]


def register(app: typer.Typer) -> None:
    """
    Add the commands to *app*.
    """
    betting = typer.Typer(help="Markets, bets on them, and their settlement.", no_args_is_help=True)
    command(betting, "market")(market)
    command(betting, "markets")(markets)
    command(betting, "place")(place)
    command(betting, "show")(show)
    command(betting, "list")(list_bets)
    command(betting, "overdue")(overdue)
    betting_results.register(betting)
    app.add_typer(betting, name="bet")


def market(
    terminal: Terminal,
    *,
    name: MarketName,
    currency: Opening = None,
    odds: Odds = None,
    closes_at: ClosesAt = None,
    settle_by: SettleBy = None,
    stake_min: Annotated[str, typer.Option("--stake-min-minor", metavar="INTEGER")] = "1",
    stake_max: Annotated[str, typer.Option("--stake-max-minor", metavar="INTEGER")] = str(BET_STAKE_MAX),
    liability_max: LiabilityMax = None,
    withdraw: Withdrawn = None,
    suspend: Annotated[bool, typer.Option("--suspend", help="Take no bets until it is resumed.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Take bets again.")] = False,
    close: Annotated[bool, typer.Option("--close", help="Take no more bets, for good.")] = False,
) -> None:
    """
    Open a market (--currency and --odds), change its odds or its state; with its name alone, show it and its exposure.
    """
    offered = betting_results.pairs(odds or [], "--odds")
    with terminal.opened() as ledger:
        betting = ledger.betting
        if currency is not None:
            betting.open_market(
                name,
                currency,
                odds=offered,
                closes_at=moment_of(closes_at, option="--closes-at"),
                settle_by=moment_of(settle_by, option="--settle-by"),
                stake_min=whole(stake_min, "--stake-min-minor"),
                stake_max=whole(stake_max, "--stake-max-minor"),
                liability_max=None if liability_max is None else whole(liability_max, "--liability-max-minor"),
            )
        elif offered:
            betting.offer(name, offered)
        if withdraw is not None:
            betting.withdraw(name, withdraw)
        for asked, change in ((suspend, betting.suspend), (resume, betting.resume), (close, betting.close)):
            if asked:
                change(name)
        _show_market(terminal, betting, name)


def _show_market(terminal: Terminal, betting: Betting, name: str) -> None:
    found, exposed = betting.market(name), betting.exposure(name)
    states = {selection.name: selection.state for selection in found.selections}
    rows = [
        {
            "selection": each.selection,
            "odds": each.odds,
            "state": found.state if found.state != "open" else states[each.selection],
            "bets": str(each.bets),
            "stakes": shown_amount(each.stakes, found.currency),
            "returns": shown_amount(each.returns, found.currency),
        }
        for each in exposed
    ]
    terminal.show(
        {"market": market_document(found), "exposure": [exposure_document(each) for each in exposed]}, table=rows
    )


def markets(
    terminal: Terminal,
    *,
    state: Annotated[str | None, typer.Option("--state", help="open, suspended, closed, settled or void.")] = None,
    after: Annotated[str | None, typer.Option("--after", help="The last market of the page before.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MARKETS_LISTED_MAX)] = SHOWN,
) -> None:
    """
    List markets in the order of their names.
    """
    wanted = None if state is None else market_state(state)
    with terminal.opened() as ledger:
        found = ledger.betting.markets(state=wanted, after=after, limit=limit)
    terminal.show({"markets": [market_document(each) for each in found]}, table=[_market_row(each) for each in found])


def place(
    terminal: Terminal,
    *,
    key: Key,
    account: Annotated[str, typer.Option("--account", help="Who bets.", show_default=False)],
    currency: Annotated[str, typer.Option("--currency", show_default=False)],
    legs: Annotated[
        list[str],
        typer.Option(
            "--leg",
            metavar="MARKET/SELECTION@ODDS",
            help="match/home@2.05; several make a multiple.",
            show_default=False,
        ),
    ],
    amount: Amount = None,
    minor: Minor = None,
    tolerance: Annotated[str, typer.Option("--tolerance", help="By how much lower the odds may be by now.")] = "0",
    actor: Actor = None,
    metadata: Metadata = None,
) -> None:
    """
    Place a bet, once: the same key again gets the first answer, accepted or refused.
    """  # fmt: skip
    stake = amount_of(amount, minor, currency)
    with terminal.opened() as ledger:
        placed = ledger.betting.place(
            key=key,
            account=account,
            currency=currency,
            stake=stake,
            legs=[_leg(leg) for leg in legs],
            tolerance=tolerance,
            actor=actor,
            metadata=metadata_of(metadata),
        )
    outcome = {"outcome": "replayed" if placed.replayed else "accepted"}
    terminal.show({"replayed": placed.replayed, "bet": bet_document(placed.bet)}, table=[outcome | bet_row(placed.bet)])


def show(terminal: Terminal, *, key: Annotated[str, typer.Argument(metavar="BET", show_default=False)]) -> None:
    """
    Show a bet, its legs, and what became of it.
    """
    with terminal.opened() as ledger:
        bet, events = ledger.betting.bet(key), ledger.betting.bet_events(key)
    document = bet_document(bet) | {"events": [bet_event_document(event) for event in events]}
    steps = [
        {
            "step": event.kind,
            "at": event.recorded_at.isoformat(timespec="milliseconds"),
            "version": "" if event.version is None else str(event.version),
            "note": event.reason or ("" if event.shortfall is None else f"below the floor by {event.shortfall}"),
        }
        for event in events
    ]
    placed = {
        "step": "placed",
        "at": bet.placed_at.isoformat(timespec="milliseconds"),
        "version": "",
        "note": ", ".join(f"{leg.market}/{leg.selection}@{leg.odds} {leg.outcome or ''}".rstrip() for leg in bet.legs),
    }
    terminal.show(document, table=[placed, *steps])


def list_bets(
    terminal: Terminal,
    *,
    account: Annotated[str | None, typer.Argument(metavar="[ACCOUNT]", show_default=False)] = None,
    currency: Annotated[str | None, typer.Argument(metavar="[CURRENCY]", show_default=False)] = None,
    market: Annotated[str | None, typer.Option("--market", help="Those on one market.", show_default=False)] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="BET", help="Those after this one.")] = None,
    limit: Limit = SHOWN,
) -> None:
    """
    List the open bets of an account, or on a market.
    """
    with terminal.opened() as ledger:
        found = ledger.betting.open_bets(account, currency, market=market, after=after, limit=limit)
    terminal.show(
        {"bets": [bet_document(bet) for bet in found], "next": found[-1].key if len(found) == limit else None},
        table=[bet_row(bet) for bet in found],
    )


def overdue(terminal: Terminal, *, limit: Limit = SHOWN) -> None:
    """
    List the bets past their deadline that nobody has settled, the longest overdue first.
    """
    with terminal.opened() as ledger:
        found = ledger.betting.overdue(limit=limit)
    terminal.show({"bets": [bet_document(bet) for bet in found]}, table=[bet_row(bet) for bet in found])


def bet_row(bet: Bet) -> dict[str, str]:
    """
    Return a bet for people.
    """
    return {
        "bet": bet.key,
        "account": bet.account,
        "currency": bet.currency,
        "amount": shown_amount(bet.stake, bet.currency),
        "may return": shown_amount(bet.potential_return, bet.currency),
        "state": bet.state,
        "returned": shown_amount(bet.returned, bet.currency),
        "settle by": bet.settle_by.isoformat(timespec="seconds"),
    }


def _market_row(market: Market) -> dict[str, str]:
    return {
        "market": market.name,
        "currency": market.currency,
        "state": market.state,
        "selections": str(len(market.selections)),
        "closes at": "" if market.closes_at is None else market.closes_at.isoformat(timespec="seconds"),
        "result": "" if market.result_version is None else str(market.result_version),
    }


def _leg(text: str) -> tuple[str, str, str]:
    where, at, odds = text.rpartition("@")
    market, slash, selection = where.rpartition("/")
    if not at or not slash:
        raise typer.BadParameter(f"a leg is MARKET/SELECTION@ODDS, as in match/home@2.05; got {text!r}")
    return market, selection, odds
