"""
Posting by SQL: the catalogue's own statements under pgbench, with a consolidator at work.
"""

from __future__ import annotations

from bench import pgbench, scripts
from bench.books import SPREAD_ACCOUNTS, Books, books, consolidating
from bench.figures import Run
from bench.loads import Load
from bench.pgbench import Script

CLIENTS = (8, 32)
ONE_ACCOUNT_CLIENTS = 32


def measure(run: Run) -> None:
    """Hot and direct posts over 8 and 32 clients; one account hot, direct and naive over 32."""
    with books(run.server, f"bench_sql_{run.flush.lower()}") as made, consolidating(made):
        world_id = made.account_id("world")
        to_hot = scripts.post_to_hot(made.name, world_id=world_id, credit_id=made.account_id("platform"))
        spread = scripts.post_credit_spread(made.name, world_id=world_id, accounts=SPREAD_ACCOUNTS)
        one = scripts.post_credit(made.name, world_id=world_id, credit_id=made.account_id("busy"))
        for clients in CLIENTS:
            _beside(run, made, f"sql.hot.{clients}", to_hot, clients)
            _beside(run, made, f"sql.direct.{clients}", spread, clients)
        _beside(run, made, f"sql.direct_one_account.{ONE_ACCOUNT_CLIENTS}", one, ONE_ACCOUNT_CLIENTS)
        run.beside_limit(
            f"sql.naive_one_account.{ONE_ACCOUNT_CLIENTS}",
            lambda: _load(run, scripts.naive(), ONE_ACCOUNT_CLIENTS),
            clients=ONE_ACCOUNT_CLIENTS,
        )
        hot = run.figure(f"sql.hot.{ONE_ACCOUNT_CLIENTS}")
        for other in ("direct", "naive"):
            # Of ratios and not of rates: the machine may have been quicker for one of the two.
            one_ratio = run.figure(f"sql.{other}_one_account.{ONE_ACCOUNT_CLIENTS}")["ratio"]
            run.note(f"sql.hot_over_{other}_one_account", times=hot["ratio"] / one_ratio)


def _beside(run: Run, made: Books, name: str, script: Script, clients: int) -> None:
    """Measure a posting script, and check that what pgbench counted was posted."""

    def subject() -> Load:
        before = made.posted()
        load = _load(run, script, clients)
        written, counted = made.posted() - before, int(load.more["processed"])
        # A client that is stopped between its commit and its count may leave one more.
        if not counted <= written <= counted + clients:
            raise RuntimeError(f"{name}: pgbench counted {counted} transactions, but {written} transfers are there")
        return load

    run.beside_limit(name, subject, clients=clients)


def _load(run: Run, script: Script, clients: int) -> Load:
    return pgbench.run(run.server.embedded, script, clients=clients, seconds=run.scale.subject_s, seed=run.next_seed())
