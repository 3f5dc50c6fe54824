"""
The demo: a marketplace's orders, statements about them, and a sportsbook's seasons on one server, and the proof of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lastro.rehearsal import selling
from lastro.rehearsal.football import playing
from lastro.rehearsal.football.match_rows import TEAMS_MADE, make_season, read_seasons
from lastro.rehearsal.football.script import write_script
from lastro.rehearsal.order_rows import ORDERS_MADE, SEED
from lastro.rehearsal.progress import Progress, silent
from lastro.rehearsal.proof import Proofs
from lastro.rehearsal.stage import Stage, serve
from lastro.rehearsal.statements import playing as statements_playing

PROCESSES = 3


def run(
    *,
    url: str | None = None,
    orders: Path | None = None,
    matches: Sequence[Path] = (),
    statements: Path | None = None,
    processes: int = PROCESSES,
    orders_made: int = ORDERS_MADE,
    teams_made: int = TEAMS_MADE,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Proofs:
    """
    Play all parts, and return their proofs; those of part two begin with "matches: ", of part three "statements: ".

    `orders`: a CSV of order items, `matches`: a CSV a season; what isn't given is made by `seed`. `statements`: a zip that
    is merged and matched in the place of one about the orders, made with ten differences. `url`: a database, in which schemas are made and dropped again; without it an embedded server in a temporary directory. `processes` check
    out, and as many bet (1 … 64). Raises InvalidInput for what can't be read, RehearsalBroken where a process failed.
    """
    tell = progress or silent
    # All before anything is started: a file that can't be read isn't found out after part one.
    orders_script = selling.write_script(orders, processes=processes, orders_made=orders_made, seed=seed)
    seasons = read_seasons(matches) if matches else (make_season(teams_made, seed=seed),)
    matches_script = write_script(seasons, processes=processes, seed=seed)
    given = None if statements is None else statements_playing.read_given(statements)

    def match_statements(stage: Stage) -> Proofs:
        return _part("statements", statements_playing.run(stage, orders_script.orders, given=given, progress=tell))

    with serve(url) as server_url:
        sold = selling.run(orders_script, url=server_url, progress=tell, after=match_statements)
        settled = _part("matches", playing.run(matches_script, url=server_url, progress=tell))
    return Proofs((*sold.proofs, *settled.proofs), {**sold.counts, **settled.counts})


def _part(name: str, played: Proofs) -> Proofs:
    """A part's proofs and counts under names that say which part they are of."""
    return Proofs(
        tuple(replace(proof, name=f"{name}: {proof.name}") for proof in played.proofs),
        {f"{name}_{count}": figure for count, figure in played.counts.items()},
    )
