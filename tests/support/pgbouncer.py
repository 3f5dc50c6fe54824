"""A real PgBouncer for the tests: transaction mode, on a port of its own, before the run's PostgreSQL."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

# It refuses to run as root, as PostgreSQL does.
USER = "nobody"
STARTED_WITHIN_S = 30.0
LOOK_EVERY_S = 0.05


@contextmanager
def pgbouncer_before(url: str, program: Path, *, pool_size: int) -> Iterator[str]:
    """Run a PgBouncer with so many connections to the server of *url*; yield the URL that leads through it."""
    server = conninfo_to_dict(url)
    folder = Path(tempfile.mkdtemp(prefix="lastro-pgbouncer-"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    host = str(server["host"])
    # A socket's folder is the server's own; its port on the loopback is open to whoever has the password.
    where = "127.0.0.1" if host.startswith("/") else host
    config = folder / "pgbouncer.ini"
    config.write_text(
        "[databases]\n"
        f"{server['dbname']} = host={where} port={server['port']} user={server['user']} password={server['password']}\n"
        "[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        f"pool_mode = transaction\ndefault_pool_size = {pool_size}\nmax_client_conn = 100\n"
    )
    as_user = []
    if os.geteuid() == 0:
        as_user = [f"--user={USER}"]
        for place in (folder, config):
            shutil.chown(place, USER)
    log = (folder / "log").open("wb")
    process = subprocess.Popen([str(program), "--quiet", *as_user, str(config)], stdout=log, stderr=log)
    try:
        _until_it_listens(process, port, folder / "log")
        yield f"postgresql://{server['user']}@127.0.0.1:{port}/{server['dbname']}?sslmode=disable&gssencmode=disable"
    finally:
        process.terminate()
        process.wait(timeout=STARTED_WITHIN_S)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + STARTED_WITHIN_S
    while True:
        with socket.socket() as knocking:
            if knocking.connect_ex(("127.0.0.1", port)) == 0:
                return
        gone = process.poll() is not None or time.monotonic() > deadline
        assert not gone, f"PgBouncer did not start:\n{log.read_text()}"
        time.sleep(LOOK_EVERY_S)
