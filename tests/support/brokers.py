"""Real brokers for the tests: a NATS and a RabbitMQ of their own, on loopback, in temporary folders."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

STARTED_WITHIN_S = 60.0
STOPPED_WITHIN_S = 20.0
LOOK_EVERY_S = 0.05


class Broker:
    """A broker that can be killed and started again at the same address."""

    def __init__(self, command: list[str], folder: Path, port: int, environment: dict[str, str] | None = None) -> None:
        self._command, self.folder, self.port = command, folder, port
        self._environment = os.environ | (environment or {})
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Broker:
        """Start it and return once it listens."""
        log = (self.folder / "out.log").open("ab")
        # A group of its own, for a broker may be a script that starts others.
        self._process = subprocess.Popen(
            self._command, stdout=log, stderr=log, env=self._environment, cwd=self.folder, start_new_session=True
        )
        log.close()
        deadline = time.monotonic() + STARTED_WITHIN_S
        while True:
            with socket.socket() as knocking:
                if knocking.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            gone = self._process.poll() is not None or time.monotonic() > deadline
            assert not gone, f"the broker did not start:\n{(self.folder / 'out.log').read_text(errors='replace')}"
            time.sleep(LOOK_EVERY_S)

    def kill(self) -> None:
        """End it, and whatever it started, at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(timeout=STOPPED_WITHIN_S)
            self._process = None


@contextmanager
def nats_server(program: Path) -> Iterator[Broker]:
    """Run a NATS with JetStream."""
    with _folder("nats") as folder:
        port = free_port()
        store = str(folder / "store")
        broker = Broker([str(program), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", store], folder, port)
        try:
            yield broker.start()
        finally:
            broker.kill()


@contextmanager
def rabbitmq_server(program: Path) -> Iterator[Broker]:
    """Run a RabbitMQ, with the port mapper of Erlang's that it needs."""
    with _folder("rabbitmq") as folder:
        port, mapper_port, node_port = free_port(), free_port(), free_port()
        environment = {
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"lastro{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(node_port),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(folder / "none"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "no-env"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_PORT": str(mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }
        (folder / "plugins").write_text("[].")
        mapper = subprocess.Popen(
            ["epmd", "-address", "127.0.0.1", "-port", str(mapper_port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        broker = Broker([str(program)], folder, port, environment)
        try:
            yield broker.start()
        finally:
            broker.kill()
            mapper.kill()
            mapper.wait(timeout=STOPPED_WITHIN_S)


def free_port() -> int:
    """A port that nobody uses just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=f"lastro-{name}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
