"""The worker `settle`, and the same methods awaited."""

from __future__ import annotations

import pytest

from lastro import AsyncLedger, BetConflict, InsufficientFunds, Ledger
from lastro.telemetry import listen
from lastro.workers.settler import Settler
from tests.betting.betting_books import CURRENCY, ODDS, bet, market, players, result


@pytest.mark.req("3.5")
def test_the_worker_settles_and_measures(books: Ledger) -> None:
    """A tick is a round: it returns its figures and tells the backlog's age; told to stop, it ends behind its batch."""
    players(books, "ana")
    market(books)
    for number in range(3):
        bet(books, f"b{number}")
    result(books)
    heard: dict[str, float] = {}
    stop = listen(lambda name, value, _: heard.update({name: value}))
    facts = Settler(books).run_once()
    stop()
    assert (facts.figures["settled"], facts.more) == (3, False)
    assert heard["lastro_settled_bets"] == 3
    assert heard["lastro_settlement_backlog_age_ms"] == 0
    result(books, winner="away", version=2)
    assert Settler(books, stopping=lambda: True).run_once().more is True


async def test_betting_awaited(async_ledger: AsyncLedger) -> None:
    """Placed, refused, replayed, settled and taken from a message, as the blocking ledger does."""
    betting = async_ledger.betting
    await async_ledger.open_account("ana", CURRENCY)
    await async_ledger.post(key="f", kind="fund", debit="world", credit="ana", amount=1_000, currency=CURRENCY)
    await betting.open_market("match", CURRENCY, odds=ODDS)
    on = {"account": "ana", "currency": CURRENCY, "market": "match", "selection": "home", "odds": "2.05"}
    placed = await betting.place(key="b", stake=100, **on)  # type: ignore[arg-type]
    assert (await betting.place(key="b", stake=100, **on)).bet == placed.bet  # type: ignore[arg-type]
    for replayed in (False, True):
        with pytest.raises(InsufficientFunds) as refused:
            await betting.place(key="no", stake=901, **on)  # type: ignore[arg-type]
        assert refused.value.replayed is replayed
    with pytest.raises(BetConflict):
        await betting.place(key="b", stake=99, **on)  # type: ignore[arg-type]
    assert (await betting.take({"market": "match", "version": 1, "void": True})).outcome == "recorded"
    assert (await betting.settle()).voided == 1
    assert (await betting.backlog()).results == 0
