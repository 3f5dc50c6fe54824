"""
Which workers there are, by the word that `lastro work` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Final, NamedTuple

from lastro import config
from lastro.errors import InvalidInput
from lastro.ledger import Ledger
from lastro.sql.catalogue import catalogue
from lastro.workers.adopter import Adopter
from lastro.workers.consolidator import Consolidator
from lastro.workers.day_closer import DayCloser
from lastro.workers.hold_expirer import HoldExpirer
from lastro.workers.importer import Importer
from lastro.workers.loop import Worker
from lastro.workers.outbox_relay import OutboxRelay
from lastro.workers.partition_keeper import PartitionKeeper
from lastro.workers.points_expirer import PointsExpirer
from lastro.workers.reconciler import Reconciler
from lastro.workers.result_intake import ResultIntake
from lastro.workers.settler import Settler


class _Post(NamedTuple):
    """
    Who does a piece of work, a step of it that a store without a use for it refuses, and whether this process has been
    told what it takes.
    """

    worker: Callable[[Ledger, Callable[[], bool]], Worker]
    step: str
    is_set_up: Callable[[], bool] = lambda: True


_ROSTER: Final[dict[str, tuple[_Post, ...]]] = {
    "consolidate": (
        _Post(lambda ledger, stopping: Consolidator(ledger, stopping=stopping), "consolidating.accounts_with_tail"),
    ),
    "partitions": (_Post(lambda ledger, _: PartitionKeeper(ledger), "partitioning.list"),),
    "expire": (
        _Post(lambda ledger, stopping: HoldExpirer(ledger, stopping=stopping), "ending.due"),
        _Post(lambda ledger, stopping: PointsExpirer(ledger, stopping=stopping), "points_expiring.due"),
    ),
    "close_days": (_Post(lambda ledger, stopping: DayCloser(ledger, stopping=stopping), "closings.hold"),),
    "reconcile": (_Post(lambda ledger, stopping: Reconciler(ledger, stopping=stopping), "reconciling.moved"),),
    "adopt": (_Post(lambda ledger, stopping: Adopter(ledger, stopping=stopping), "adopting.list"),),
    "relay": (
        _Post(
            lambda ledger, stopping: OutboxRelay(ledger, stopping=stopping),
            "relaying.claim",
            is_set_up=lambda: bool(config.relay_targets()),
        ),
    ),
    "import": (_Post(lambda ledger, stopping: Importer(ledger, stopping=stopping), "imports.claim"),),
    "intake": (
        _Post(
            lambda ledger, stopping: ResultIntake(ledger, stopping=stopping),
            "betting_results.bury",
            is_set_up=lambda: bool(config.intake_source()),
        ),
    ),
    "settle": (_Post(lambda ledger, stopping: Settler(ledger, stopping=stopping), "betting_settling.due"),),
}
WORK: Final = tuple(_ROSTER)


def workers_for(
    work: Iterable[str], *, open_ledger: Callable[[], Ledger], stopping: Callable[[], bool]
) -> list[Worker]:
    """
    Return the workers for the words in *work* (when it is empty all of WORK that the store has a use for and that the
    environment says enough about), each on connections of its own.

    Raises InvalidInput for a word that names no work, for work that the store refuses, and for a relay without a target or an intake
    without a source.
    """
    asked = list(dict.fromkeys(work))
    unknown = [word for word in asked if word not in _ROSTER]
    if unknown:
        raise InvalidInput(f"there is no work called {unknown[0]!r}; there is: {', '.join(WORK)}", argument="work")
    workers: list[Worker] = []
    # Whatever was opened is closed where the crew doesn't come to be, and one that can't be closed leaves none open.
    with ExitStack() as opened:
        for word in asked or WORK:
            hired, refused = _hired(word, open_ledger, stopping, opened, asked=bool(asked))
            if asked and not hired:
                raise InvalidInput(f"this database has no use for {word!r}: {refused}", argument="work")
            workers += hired
        opened.pop_all()
    return workers


def _hired(
    word: str,
    open_ledger: Callable[[], Ledger],
    stopping: Callable[[], bool],
    opened: ExitStack,
    *,
    asked: bool,
) -> tuple[list[Worker], str | None]:
    """The workers of one word that the store has a use for, and why it has none for another."""
    workers: list[Worker] = []
    refused = None
    for post in _ROSTER[word]:
        if not (asked or post.is_set_up()):
            continue
        ledger = open_ledger()
        opened.callback(ledger.close)
        dialect = ledger._engine.dialect  # noqa: SLF001  (the store is nobody's business but the engine's, and ours)
        if why := catalogue(dialect)[post.step].refused:
            refused = why
            ledger.close()
        else:
            worker = post.worker(ledger, stopping)
            opened.callback(worker.close)
            workers.append(worker)
    return workers, refused
