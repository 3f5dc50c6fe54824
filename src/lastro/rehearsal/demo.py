"""
The demo: a marketplace's orders and a sportsbook's seasons, one after the other on one server, and the proof of both.
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
from lastro.rehearsal.stage import serve

PROCESSES = 3


def run(
    *,
    url: str | None = None,
    orders: Path | None = None,
    matches: Sequence[Path] = (),
    processes: int = PROCESSES,
    orders_made: int = ORDERS_MADE,
    teams_made: int = TEAMS_MADE,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Proofs:
    """
    Play both parts, and return all of their proofs; those of part two begin with "matches: ".

    `orders`: a CSV of order items, `matches`: a CSV a season; what isn't given is made by `seed`. `url`: a database, in
    which schemas are made and dropped again; without it an embedded server in a temporary directory. `processes` check
    out, and as many bet (1 … 64). Raises InvalidInput for what can't be read, RehearsalBroken where a process failed.
    """
    tell = progress or silent
    # Both before anything is started: a file that can't be read isn't found out after part one.
    orders_script = selling.write_script(orders, processes=processes, orders_made=orders_made, seed=seed)
    seasons = read_seasons(matches) if matches else (make_season(teams_made, seed=seed),)
    matches_script = write_script(seasons, processes=processes, seed=seed)
    with serve(url) as server_url:
        sold = selling.run(orders_script, url=server_url, progress=tell)
        settled = playing.run(matches_script, url=server_url, progress=tell)
    of_matches = (replace(proof, name=f"matches: {proof.name}") for proof in settled.proofs)
    counts = {**sold.counts, **{f"matches_{name}": count for name, count in settled.counts.items()}}
    return Proofs((*sold.proofs, *of_matches), counts)
