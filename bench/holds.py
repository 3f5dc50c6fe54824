"""
Holds by SQL: placing beside a direct debit of the same accounts, placing and capturing beside two of them.
"""

from __future__ import annotations

from bench import pgbench, scripts
from bench.books import SPREAD_ACCOUNTS, Books, books
from bench.figures import Run
from bench.loads import Load
from bench.pgbench import Script

CLIENTS = (8, 32)
FUNDS = 10**15


def measure(run: Run) -> None:
    """Each over 8 and 32 clients on 10,000 accounts kept direct, with a floor to guard."""
    with books(run.server, f"bench_holds_{run.flush.lower()}") as made:
        # Not by postings, of which there would be as many; the ledger is dropped afterwards.
        made.execute(f"UPDATE base SET amount = {FUNDS} WHERE account_id <= {SPREAD_ACCOUNTS}")
        world_id = made.account_id("world")
        subjects = {
            "post": (scripts.debit_spread(made.name, world_id=world_id, accounts=SPREAD_ACCOUNTS), (1, 0)),
            "place": (scripts.place_spread(made.name, accounts=SPREAD_ACCOUNTS), (0, 1)),
            "two_posts": (scripts.debit_twice(made.name, world_id=world_id, accounts=SPREAD_ACCOUNTS), (2, 0)),
            "place_and_capture": (
                scripts.place_and_capture(made.name, world_id=world_id, accounts=SPREAD_ACCOUNTS),
                (1, 1),
            ),
        }
        for clients in CLIENTS:
            for name, (script, written) in subjects.items():
                _beside(run, made, f"holds.{name}.{clients}", script, clients=clients, written=written)
            for subject, post in (("place", "post"), ("place_and_capture", "two_posts")):
                # Of ratios and not of rates: the machine may have been quicker for one of the two.
                ratio = run.figure(f"holds.{subject}.{clients}")["ratio"]
                run.note(
                    f"holds.{subject}_over_{post}.{clients}",
                    times=ratio / run.figure(f"holds.{post}.{clients}")["ratio"],
                )


def _beside(run: Run, made: Books, name: str, script: Script, *, clients: int, written: tuple[int, int]) -> None:
    """Measure a script, and check that what pgbench counted was written: transfers and holds a transaction."""

    def subject() -> Load:
        before = _written(made)
        load = pgbench.run(
            run.server.embedded, script, clients=clients, seconds=run.scale.subject_s, seed=run.next_seed()
        )
        counted = int(load.more["processed"])
        for there, was, each in zip(_written(made), before, written, strict=True):
            # A client that is stopped between its commit and its count may leave one more.
            if not counted * each <= there - was <= (counted + clients) * each:
                raise RuntimeError(f"{name}: pgbench counted {counted} transactions, but {there - was} rows are there")
        return load

    run.beside_limit(name, subject, clients=clients)


def _written(made: Books) -> tuple[int, int]:
    return made.posted(), int(made.value("SELECT count(*) FROM hold"))
