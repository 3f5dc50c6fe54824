"""
A ledger for one test: on an embedded server of its own, or in a throw-away schema of a server that is there.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lastro.connecting import connect
from lastro.embedded import EmbeddedServer
from lastro.errors import InvalidInput
from lastro.ledger import Ledger
from lastro.plans.plan import TOGETHER, Effect, Plan, Step
from lastro.schema.migrations import removal

# Data that lives for seconds need not survive a power cut; everything else is as in production.
THROW_AWAY_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
NAME_BYTES = 6


@contextmanager
def temporary_ledger(url: str | None = None, **options: Any) -> Iterator[Ledger]:
    """
    Yield a migrated ledger that is gone afterwards: `with temporary_ledger() as ledger: …`.

    Without *url* an embedded server of its own runs it in a temporary directory, stopped and deleted at the end (some
    2 s). With *url* it gets a schema of its own in that database, named at random and dropped at the end (some 50 ms).
    *options* are those of `lastro.connect`; the schema's name (`ledger`) only without a URL, since what it names is
    dropped.
    """
    if url is None:
        with tempfile.TemporaryDirectory(prefix="lastro-") as directory:
            server = EmbeddedServer(Path(directory) / "server").start(settings=THROW_AWAY_SETTINGS)
            try:
                with connect(server.url, **options) as ledger:
                    ledger.migrate()
                    yield ledger
            finally:
                server.stop("immediate")
        return
    if "ledger" in options:
        raise InvalidInput(
            "temporary_ledger(url) names its schema itself, because it drops it afterwards; leave `ledger` out",
            argument="ledger",
        )
    name = f"temporary_{secrets.token_hex(NAME_BYTES)}"
    with connect(url, ledger=name, **options) as ledger:
        try:
            ledger.migrate()
            yield ledger
        finally:
            engine = ledger._engine  # noqa: SLF001  (no ledger drops itself in production)
            engine.run(lambda: _drop(engine.dialect, name), Effect.KEYED)


def _drop(dialect: str, name: str) -> Plan[None]:
    yield TOGETHER
    yield Step("script", {}, script=removal(dialect, name))
