"""
A server that is killed under load and started again, while clients go on submitting what they got no answer for.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeAlias

import lastro
from lastro import Fault, Ledger, OutcomeUnknown
from lastro.embedded import EmbeddedServer
from lastro.testing import assert_balanced
from tests.support.acknowledged import ClientLog, Verdict, Wanted, acked, judge
from tests.support.mariadb import MariadbServer
from tests.support.money import fund, transfer
from tests.support.sessions import Background, Observer, observer_of
from tests.support.stores import POSTGRES, connected, store_of

Server: TypeAlias = EmbeddedServer | MariadbServer

CLIENTS = 4
PAUSE_S = 0.05
RESUBMISSIONS_MAX = 400


class Crashed(NamedTuple):
    """What a run with crashes came to: the verdict, and how many calls ended as OutcomeUnknown or another fault."""

    verdict: Verdict
    unknown: int
    faults: int


class Submitting:
    """Threads that post, each again and again with the same key until it is answered."""

    def __init__(self, ledger: Ledger, directory: Path, run: int) -> None:
        self._ledger, self._stop = ledger, threading.Event()
        self.unknown = self.faults = 0
        self._running = [
            Background(lambda n=number: self._post(ClientLog(directory, f"{run}-{n}"), f"client:{run}:{n}"))  # type: ignore[misc]
            for number in range(CLIENTS)
        ]

    def _post(self, log: ClientLog, name: str) -> None:
        for number in count():
            if self._stop.is_set():
                return
            wanted = [Wanted(f"{name}:{number}:{part}", "world", ("platform", "shop")[part], 3) for part in range(2)]
            log.intends(*wanted)
            for _ in range(RESUBMISSIONS_MAX):
                try:
                    if number % 2:
                        self._ledger.post_many([transfer(*one) for one in wanted])
                    else:
                        for one in wanted:
                            self._ledger.post(**transfer(*one))
                    log.heard(*wanted)
                    break
                except OutcomeUnknown:
                    self.unknown += 1
                except Fault:
                    self.faults += 1
                # Not for order: a server that restarts isn't asked a thousand times a second.
                self._stop.wait(PAUSE_S)

    def stop(self) -> None:
        """Let each thread finish what it has in hand."""
        self._stop.set()
        for going in self._running:
            going.result()


def kill_postmaster(server: EmbeddedServer, observer: Observer) -> None:
    """Kill -9 of the server's first process; its children end by themselves."""
    del observer
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    server.start()


def kill_backend(server: EmbeddedServer, observer: Observer) -> None:
    """Kill -9 of one process that serves a client: the server restarts all of them."""
    del server
    victim = (
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1"
    )
    os.kill(observer.value(victim), signal.SIGKILL)


def kill_mariadbd(server: MariadbServer, observer: Observer) -> None:
    """Kill -9 of the one process that MariaDB is."""
    del observer
    server.kill()
    server.start()


def crash(server: Server, directory: Path, *, runs: int, acked_a_run: int, kill: object) -> Crashed:
    """Kill the server under load so many times, then judge what it holds."""
    unknown = faults = 0
    with lastro.connect(server.url) as ledger:
        ledger.migrate()
        fund(ledger, "platform", 0, "hot")
        fund(ledger, "shop", 0)
    # What comes before the load is on the disk, also where commits don't wait for it.
    _flush(server.url)
    for run in range(runs):
        with lastro.connect(server.url) as ledger:
            load = Submitting(ledger, directory, run)
            with observer_of(server.url) as observer:
                target = len(acked(directory)) + acked_a_run
                observer.until(lambda goal=target: len(acked(directory)) >= goal, "acknowledgements")  # type: ignore[misc]
                kill(server, observer)  # type: ignore[operator]
            back = len(acked(directory)) + acked_a_run
            waiting = threading.Event()
            for _ in range(RESUBMISSIONS_MAX):
                if len(acked(directory)) >= back:
                    break
                waiting.wait(PAUSE_S)
            load.stop()
            unknown, faults = unknown + load.unknown, faults + load.faults
    with lastro.connect(server.url) as ledger:
        verdict = judge(directory, server.url, "lastro")
        assert_balanced(ledger)
    return Crashed(verdict, unknown, faults)


def _flush(url: str) -> None:
    with closing(connected(url, autocommit=True)) as connection:
        connection.cursor().execute("CHECKPOINT" if store_of(url) == POSTGRES else "FLUSH ENGINE LOGS")
