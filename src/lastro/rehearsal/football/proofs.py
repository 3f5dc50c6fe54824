"""
What the demo's part two proves: every bet, every cent and every result, held against the file and the wagers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lastro.rehearsal.football.books import CURRENCY, Books, Held, Hold, Left
from lastro.rehearsal.football.expectation import HOUSE, WORLD, Expectation, Settled, returned_of, settled_transfers
from lastro.rehearsal.ledger_books import Booked
from lastro.rehearsal.ledger_proofs import prove_ledger
from lastro.rehearsal.proof import Proof, all_of, differing, in_units, matching, shown

SIGKILLED = -9


@dataclass(frozen=True)
class Played:
    """
    What the processes said they did. `answers`: first answers by their kind; `results`: outcomes of the feed's messages.

    `caught`: the markets whose results waited when the settler was killed.
    """

    repeats_dealt: int
    answers: Mapping[str, int]
    answered_again: int
    results: Mapping[str, int]
    settler_exit_code: int
    caught: Sequence[str]


def prove(expected: Expectation, books: Books, played: Played) -> tuple[Proof, ...]:
    """
    Hold the books against what the rows and the wagers say, and against what the processes did.
    """
    return (
        *_prove_bets(expected, books, played),
        *_prove_results(expected, books, played),
        *_prove_settlements(expected, books),
        *_prove_money(expected, books),
        *_prove_nothing_is_left(expected, books, played),
    )


def _prove_bets(expected: Expectation, books: Books, played: Played) -> Iterator[Proof]:
    yield Proof("markets, one a match", len(expected.results), len(books.states))
    yield Proof("selections at the odds of the file", all_of(len(expected.odds)), matching(expected.odds, books.odds))
    due = {key: (bet.account, bet.stake, bet.potential_return, bet.legs) for key, bet in expected.bets.items()}
    found = {key: (bet.account, bet.stake, bet.potential_return, bet.legs) for key, bet in books.bets.items()}
    yield Proof("bets as they were accepted", all_of(len(due)), matching(due, found))
    yield Proof("first answers to submissions", _counted(expected.answers), _counted(books.answers))
    yield Proof("first answers that the bettors were given", _counted(expected.answers), _counted(played.answers))
    yield Proof("submissions answered again under the same keys", played.repeats_dealt, played.answered_again)
    exposed = matching(expected.exposure, books.exposure)
    yield Proof("selections with the exposure of their bets", all_of(len(expected.exposure)), exposed)


def _prove_results(expected: Expectation, books: Books, played: Played) -> Iterator[Proof]:
    reports = sum(version for version, _ in expected.results.values())
    # Two feeds bring each of them: it is taken from one, and known for a repetition from the other.
    due = {"duplicate": reports, "recorded": reports}
    yield Proof("results that two feeds brought", _counted(due), _counted(played.results))
    corrected = sum(version > 1 for version, _ in expected.results.values())
    turned = [versions for versions in books.versions.values() if len(versions) > 1 and versions[1] != versions[2]]
    yield Proof("results first wrong and then corrected", corrected, len(turned))
    found = {market: _newest(books, market) for market in books.states}
    settled = matching(expected.results, found)
    yield Proof("markets settled at their last version", all_of(len(expected.results)), settled)


def _prove_settlements(expected: Expectation, books: Books) -> Iterator[Proof]:
    due = {key: (bet.outcomes, bet.returned) for key, bet in expected.bets.items()}
    found = {key: (versions[-1].outcomes, versions[-1].returned) for key, versions in books.settlements.items()}
    yield Proof("bets settled as the file says", all_of(len(due)), matching(due, found))
    stray = [
        key
        for key, versions in sorted(books.settlements.items())
        if key not in expected.bets or not _follows(expected, key, versions)
    ]
    yield Proof("bets with a settlement by no report", all_of(0), shown(stray) if stray else all_of(0))
    stakes = {f"bet:{key}": _hold(expected, key, versions) for key, versions in books.settlements.items()}
    stakes |= {f"bet:{key}": None for key in expected.bets if key not in books.settlements}
    ended = matching(stakes, books.holds)
    yield Proof("stakes set aside, then taken or given back", all_of(len(expected.bets)), ended)


def _prove_money(expected: Expectation, books: Books) -> Iterator[Proof]:
    right = matching(expected.balances, books.ledger.balances)
    yield Proof("accounts whose balance is right to the cent", all_of(len(expected.balances)), right)
    won = _won_by_the_house(expected, books)
    for season, due in expected.house.items():
        yield Proof(f"house's result, season {season} ({CURRENCY})", in_units(due), in_units(won.get(season, 0)))
    wanted = {
        f"deposit:{account}": Booked("deposit", WORLD, account, amount) for account, amount in expected.deposits.items()
    }
    for key, versions in books.settlements.items():
        if key in expected.bets and key in books.bets:
            wanted |= settled_transfers(books.bets[key].id, expected.bets[key], versions)
    yield Proof("transfers: one a bet, entry kind and version", len(wanted), books.ledger.transfer_count)
    yield Proof("transfers other than expected", all_of(0), differing(wanted, books.ledger.transfers))


def _prove_nothing_is_left(expected: Expectation, books: Books, played: Played) -> Iterator[Proof]:
    yield Proof(f"still held ({CURRENCY})", _held(Held(0, 0)), _held(books.held))
    yield Proof("left to settle", _left(Left(0, 0, 0, 0)), _left(books.left))
    yield from prove_ledger(books.ledger, currency=CURRENCY, unguarded={WORLD, HOUSE})
    yield Proof("settler killed in the middle of a batch: its exit code", SIGKILLED, played.settler_exit_code)
    waiting = {
        leg.market
        for key, bet in expected.bets.items()
        for leg in bet.legs
        if leg.market in played.caught and key not in books.settlements
    }
    taken_up = f"{len(played.caught)} less {shown(sorted(waiting))}" if waiting else all_of(len(played.caught))
    yield Proof("markets that waited then, settled by others", all_of(max(1, len(played.caught))), taken_up)


def _newest(books: Books, market: str) -> tuple[int, str] | None:
    """Return the newest version of a settled market's result and its winner, where exactly one won and the others lost."""
    versions = books.versions.get(market)
    if not versions or books.states[market] != "settled":
        return None
    newest = max(versions)
    winners = [selection for selection, outcome in versions[newest].items() if outcome == "won"]
    losers = [selection for selection, outcome in versions[newest].items() if outcome == "lost"]
    if len(winners) != 1 or len(winners) + len(losers) != len(versions[newest]):
        return None
    return newest, winners[0]


def _follows(expected: Expectation, key: str, versions: list[Settled]) -> bool:
    """Whether a bet's versions are 1, 2, 3 …, each by results that were reported, with what comes back by those."""
    bet = expected.bets[key]
    for number, settled in enumerate(versions, start=1):
        is_void = all(outcome == "void" for outcome in settled.outcomes)
        by_outcomes = Settled(number, returned_of(bet, settled.outcomes), is_void, settled.outcomes)
        if settled != by_outcomes:
            return False
        for leg, outcome in zip(bet.legs, settled.outcomes, strict=True):
            reported = expected.reported[leg.market]
            possible = {"void" if one is None else "won" if one == leg.selection else "lost" for one in reported}
            if outcome not in possible:
                return False
    return True


def _hold(expected: Expectation, key: str, versions: list[Settled]) -> Hold | None:
    """Return what must have become of a bet's stake: its first settlement takes it, or gives it back where it is void."""
    bet = expected.bets.get(key)
    if bet is None:
        return None
    captured = 0 if versions[0].is_void else bet.stake
    return Hold(bet.account, bet.stake, captured, bet.stake - captured)


def _won_by_the_house(expected: Expectation, books: Books) -> dict[str, int]:
    """Return what the house's account won a season, by the transfers of its bets."""
    seasons = {str(bet.id): key.rpartition(":")[0] for key, bet in books.bets.items()}
    won = dict.fromkeys(expected.house, 0)
    for key, transfer in books.ledger.transfers.items():
        parts = key.split(":")
        season = seasons.get(parts[1]) if parts[0] == "bet" else None
        if season in won:
            won[season] += transfer.amount * ((transfer.credit == HOUSE) - (transfer.debit == HOUSE))
    return won


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{word} {count}" for word, count in sorted(counts.items()) if count)


def _held(held: Held) -> str:
    return f"{in_units(held.on_accounts)} on accounts, {in_units(held.by_holds)} by holds"


def _left(left: Left) -> str:
    return f"results {left.results}, legs {left.legs}, stuck bets {left.stuck}, dead letters {left.dead_letters}"
