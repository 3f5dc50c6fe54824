"""`lastro outbox`, and the relay that `lastro work` runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

import lastro
from lastro import InvalidInput, Ledger
from lastro.relaying import rejected
from lastro.relaying.signing import verify
from lastro.workers.roster import workers_for
from tests.cli.conftest import Run
from tests.relaying.receivers import Receiver
from tests.relaying.taking import Taking, emit, relay
from tests.support.sessions import until

pytestmark = pytest.mark.req("3.13")

BY = ("--reason", "mended", "--actor", "ana")
SECRET = "s" * 32
WORK_S = 30


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A webhook's receiver."""
    with Receiver().at_work() as receiver:
        yield receiver


def test_the_outbox_is_looked_at_and_dealt_with(ledger: Ledger, run: Run) -> None:
    """Status, what waits and why, what was set aside; retried, skipped, switched on, and all of it noted."""
    assert run("outbox", "status", "--json").json()["age_ms"] is None
    emit(ledger, ("bad", "k"), ("behind", "k"))
    relaying = relay(ledger, Taking(lambda event: rejected("HTTP 500")), attempts_max=9, failures_max=2)
    for _ in range(2):
        relaying.run_once()
    status = run("outbox", "status", "--json").json()
    assert (status["waiting"], status["keys_waiting"], status["set_aside"], status["published"]) == (2, 1, 0, 0)
    assert status["age_ms"] > 0
    assert status["targets"][0]["disabled_at"] is not None
    assert "taking is switched off since" in run("outbox", "status").out
    events = run("outbox", "show", "--json").json()["events"]
    assert [(one["event_id"], one["waits_for"], one["reason"]) for one in events] == [
        ("bad", "bad", "HTTP 500"),
        ("behind", "bad", "HTTP 500"),
    ]
    assert run("outbox", "failed", "--json").json() == {"events": []}
    assert run("outbox", "enable", "taking", *BY).out == "enabled: taking\n"
    assert run("outbox", "retry", "bad", *BY, "--json").json() == {"action": "retried", "of": "bad"}
    assert run("outbox", "skip", "bad", *BY).out == "skipped: bad\n"
    refused = run("outbox", "skip", "bad", *BY, "--json")
    assert refused.code == 1
    notes = run("outbox", "notes", "--json").json()["notes"]
    assert [(note["action"], note["about"], note["actor"]) for note in notes] == [
        ("skipped", "bad", "ana"),
        ("retried", "bad", "ana"),
        ("enabled", "taking", "ana"),
        ("disabled", "taking", "relay"),
    ]


def test_a_relay_works_where_it_has_a_target(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, server_url: str) -> None:
    """Without one it is left out of all the work, and refused where it is asked for."""
    name = ledger._operations.ledger

    def names(*work: str) -> set[str]:
        workers = workers_for(work, open_ledger=lambda: lastro.connect(server_url, ledger=name), stopping=lambda: False)
        for worker in workers:
            worker.close()
        return {worker.name for worker in workers}

    monkeypatch.delenv("LASTRO_RELAY_TARGET", raising=False)
    assert "relay" not in names()
    with pytest.raises(InvalidInput, match="LASTRO_RELAY_TARGET"):
        names("relay")
    monkeypatch.setenv("LASTRO_RELAY_TARGET", "https://shop.example/events nats://broker:4222")
    monkeypatch.setenv("LASTRO_RELAY_SECRETS", f"{SECRET} {SECRET[::-1]}")
    assert "relay" in names()
    monkeypatch.setenv("LASTRO_RELAY_AFTER_SET_ASIDE", "shrug")
    with pytest.raises(InvalidInput, match="wait, go_on"):
        names("relay")


def test_lastro_work_relays(ledger: Ledger, server_url: str, receiver: Receiver) -> None:
    """A process of its own publishes what waits, and ends at SIGTERM with nothing half done."""
    emit(ledger, *((f"e{number}", "k") for number in range(20)))
    environment = os.environ | {
        "LASTRO_DATABASE_URL": server_url,
        "LASTRO_LEDGER": ledger._operations.ledger,
        "LASTRO_RELAY_TARGET": receiver.url,
        "LASTRO_RELAY_SECRETS": SECRET,
    }
    working = subprocess.Popen(
        [sys.executable, "-m", "lastro", "work", "relay", "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: ledger.outbox.standing().waiting == 0, "the relay")
        working.send_signal(signal.SIGTERM)
        out, said = working.communicate(timeout=WORK_S)
    finally:
        working.kill()
    assert working.returncode == 0, said
    assert '"published": 20' in out
    assert [one.headers["Lastro-Event-Id"] for one in receiver.received] == [f"e{number}" for number in range(20)]
    stamp = int(receiver.received[0].headers["Lastro-Signature"].split(",")[0].removeprefix("t="))
    for got in receiver.received:
        verify(got.body, got.headers, secrets=[SECRET.encode()], now_s=stamp)
