"""
Which workers there are, by the word that `lastro work` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lastro.errors import InvalidInput
from lastro.ledger import Ledger
from lastro.workers.consolidator import Consolidator
from lastro.workers.loop import Worker
from lastro.workers.partition_keeper import PartitionKeeper

_ROSTER: Final[dict[str, Callable[[Ledger, Callable[[], bool]], Worker]]] = {
    "consolidate": lambda ledger, stopping: Consolidator(ledger, stopping=stopping),
    "partitions": lambda ledger, _: PartitionKeeper(ledger),
}
WORK: Final = tuple(_ROSTER)


def workers_for(
    work: Iterable[str], *, open_ledger: Callable[[], Ledger], stopping: Callable[[], bool]
) -> list[Worker]:
    """
    Return the workers for the words in *work* (all of WORK when it is empty), each on connections of its own.

    Raises InvalidInput for a word that names no work.
    """
    words = list(dict.fromkeys(work)) or list(WORK)
    unknown = [word for word in words if word not in _ROSTER]
    if unknown:
        raise InvalidInput(f"there is no work called {unknown[0]!r}; there is: {', '.join(WORK)}", argument="work")
    return [_ROSTER[word](open_ledger(), stopping) for word in words]
