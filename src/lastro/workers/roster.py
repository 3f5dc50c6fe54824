"""
Which workers there are, by the word that `lastro work` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lastro.errors import InvalidInput
from lastro.ledger import Ledger
from lastro.sql.catalogue import catalogue
from lastro.workers.consolidator import Consolidator
from lastro.workers.hold_expirer import HoldExpirer
from lastro.workers.loop import Worker
from lastro.workers.partition_keeper import PartitionKeeper

_ROSTER: Final[dict[str, Callable[[Ledger, Callable[[], bool]], Worker]]] = {
    "consolidate": lambda ledger, stopping: Consolidator(ledger, stopping=stopping),
    "partitions": lambda ledger, _: PartitionKeeper(ledger),
    "expire": lambda ledger, stopping: HoldExpirer(ledger, stopping=stopping),
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
        ledger = open_ledger()
        if not asked and _has_nothing_to_do(word, ledger):
            ledger.close()
        else:
            workers.append(_ROSTER[word](ledger, stopping))
    return workers


def _has_nothing_to_do(word: str, ledger: Ledger) -> bool:
    dialect = ledger._engine.dialect  # noqa: SLF001  (the store is nobody's business but the engine's, and ours)
    return word == "partitions" and bool(catalogue(dialect)["partitioning.list"].refused)
