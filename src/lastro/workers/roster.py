"""
Which workers there are, by the word that `lastro work` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from lastro.errors import InvalidInput
from lastro.ledger import Ledger
from lastro.sql.catalogue import catalogue
from lastro.workers.consolidator import Consolidator
from lastro.workers.hold_expirer import HoldExpirer
from lastro.workers.loop import Worker
from lastro.workers.partition_keeper import PartitionKeeper
from lastro.workers.points_expirer import PointsExpirer
from lastro.workers.settler import Settler


class _Post(NamedTuple):
    """Who does a piece of work, and a step of it that a store without a use for it refuses."""

    worker: Callable[[Ledger, Callable[[], bool]], Worker]
    step: str


_ROSTER: Final[dict[str, tuple[_Post, ...]]] = {
    "consolidate": (
        _Post(lambda ledger, stopping: Consolidator(ledger, stopping=stopping), "consolidating.accounts_with_tail"),
    ),
    "partitions": (_Post(lambda ledger, _: PartitionKeeper(ledger), "partitioning.list"),),
    "expire": (
        _Post(lambda ledger, stopping: HoldExpirer(ledger, stopping=stopping), "ending.due"),
        _Post(lambda ledger, stopping: PointsExpirer(ledger, stopping=stopping), "points_expiring.due"),
    ),
    "settle": (_Post(lambda ledger, stopping: Settler(ledger, stopping=stopping), "betting_settling.due"),),
}
WORK: Final = tuple(_ROSTER)


def workers_for(
    work: Iterable[str], *, open_ledger: Callable[[], Ledger], stopping: Callable[[], bool]
) -> list[Worker]:
    """
    Return the workers for the words in *work* (when it is empty all of WORK that the store has a use for), each on
    connections of its own.

    Raises InvalidInput for a word that names no work.
    """
    asked = list(dict.fromkeys(work))
    unknown = [word for word in asked if word not in _ROSTER]
    if unknown:
        raise InvalidInput(f"there is no work called {unknown[0]!r}; there is: {', '.join(WORK)}", argument="work")
    workers = []
    for word in asked or WORK:
        for post in _ROSTER[word]:
            ledger = open_ledger()
            if not asked and _has_nothing_to_do(post, ledger):
                ledger.close()
            else:
                workers.append(post.worker(ledger, stopping))
    return workers


def _has_nothing_to_do(post: _Post, ledger: Ledger) -> bool:
    dialect = ledger._engine.dialect  # noqa: SLF001  (the store is nobody's business but the engine's, and ours)
    return bool(catalogue(dialect)[post.step].refused)
