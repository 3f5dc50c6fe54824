"""
Where a rehearsal plays: a server, and schemas of its own there that are dropped when it ends.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

import lastro
from lastro.embedded import EmbeddedServer, resolve
from lastro.engine.psycopg_errors import translated
from lastro.engine.settings import POSTGRES_SCHEMES, redacted, scheme_of, without_driver
from lastro.rehearsal.marketplace import Shop, Tables

NAME_BYTES = 4
CONNECT_TIMEOUT_S = 10
# psycopg's own: a statement is prepared when it comes for the sixth time.
PREPARE_THRESHOLD = 5
APPLICATION = "rehearsal"
CONNECTIONS_MAX = 2
OTHERS_SHOWN_MAX = 5

# A ledger is known by the tables that no other schema has together.
_LEDGERS = """
SELECT namespace.nspname
FROM pg_catalog.pg_class AS class
INNER JOIN pg_catalog.pg_namespace AS namespace ON class.relnamespace = namespace.oid
WHERE class.relkind IN ('r', 'p') AND class.relname IN ('transfer', 'transfer_key', 'tail', 'base')
GROUP BY namespace.nspname
HAVING count(*) = 4
ORDER BY namespace.nspname
"""


class OtherLedgersThere(lastro.Refusal):
    """The database holds ledgers, and load beside them must be asked for. Details: `ledgers`."""

    code = "other_ledgers_there"


@dataclass(frozen=True)
class Stage:
    """
    A database, and the names of a ledger and of an application's schema in it. Goes to other processes as it is.

    `server` is the server where it is the rehearsal's own, and nobody else's. `prepared` is false behind a pooler, which
    may lose prepared statements.
    """

    url: str
    ledger: str
    marketplace: str
    server: EmbeddedServer | None = field(default=None, compare=False)
    prepared: bool = True

    def named(self, application: str) -> str:
        """Return the URL for connections that say whose they are: whoever looks at the server sees it there."""
        return f"{self.url}{'&' if '?' in self.url else '?'}application_name={quote(application)}"

    def connect(self, application: str = APPLICATION) -> psycopg.Connection[Any]:
        """Return a connection of the application's: autocommit, so that `transaction()` begins and ends each one."""
        return psycopg.connect(
            self.named(application),
            autocommit=True,
            connect_timeout=CONNECT_TIMEOUT_S,
            prepare_threshold=PREPARE_THRESHOLD if self.prepared else None,
        )

    def open_ledger(self, application: str = APPLICATION, *, pool_max: int = CONNECTIONS_MAX) -> lastro.Ledger:
        """Return the ledger on connections of its own; the caller closes it."""
        return lastro.connect(self.named(application), ledger=self.ledger, pool_max=pool_max, prepared=self.prepared)

    @contextmanager
    def open_shop(self) -> Iterator[Shop]:
        """Give the marketplace of this stage, for as long as the `with` lasts."""
        with self.open_ledger() as ledger:
            yield Shop(ledger, Tables(self.marketplace))

    def names(self) -> dict[str, sql.Identifier]:
        """Return both schemas' names for use in a statement."""
        return {"ledger": sql.Identifier(self.ledger), "marketplace": sql.Identifier(self.marketplace)}


@contextmanager
def set_stage(url: str | None, *, beside_others: bool) -> Iterator[Stage]:
    """
    Give a stage in the database at *url*, or on an embedded server in a temporary directory; nothing is left of it.

    Raises OtherLedgersThere where the database holds ledgers and *beside_others* is false, and lastro's errors where it
    can't be reached or refuses the schemas.
    """
    name = secrets.token_hex(NAME_BYTES)
    with _server(url) as (libpq_url, server):
        try:
            prepared = server is not None or not _is_pooled(libpq_url)
            stage = Stage(libpq_url, f"rehearsal_{name}", f"marketplace_{name}", server, prepared)
            if not beside_others:
                _refuse_others(stage)
            try:
                yield stage
            finally:
                _clear(stage)
        except psycopg.Error as error:
            # No server there, no right to make a schema: a sentence for whoever started the rehearsal.
            raise translated(error, ambiguous=False) from error


@contextmanager
def serve(url: str | None) -> Iterator[str]:
    """
    Give the libpq URL of the database at *url*, or of an embedded server in a temporary directory, gone afterwards.
    """
    with _server(url) as (libpq_url, _):
        yield libpq_url


@contextmanager
def _server(url: str | None) -> Iterator[tuple[str, EmbeddedServer | None]]:
    if url is None:
        with tempfile.TemporaryDirectory(prefix="lastro-rehearsal-") as folder:
            server = EmbeddedServer(Path(folder) / "server")
            try:
                server.start()
                yield server.url, server
            finally:
                server.stop("immediate")
    elif url.startswith("embedded:"):
        address = resolve(url)
        try:
            yield address.url, None
        finally:
            address.server.release()
    else:
        if scheme_of(url) not in POSTGRES_SCHEMES:
            raise lastro.InvalidInput(
                f"a rehearsal plays on PostgreSQL: give it a postgresql:// or an embedded:// URL; got {redacted(url)!r}",
                argument="url",
            )
        yield without_driver(url), None


def _is_pooled(url: str) -> bool:
    """Say whether a pooler stands in between: it tells its clients a session's number of its own making."""
    with psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S, prepare_threshold=None) as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        return row != (connection.info.backend_pid,)


def _refuse_others(stage: Stage) -> None:
    with stage.connect() as connection:
        others = [name for (name,) in connection.execute(_LEDGERS)]
    if others:
        shown = ", ".join(others[:OTHERS_SHOWN_MAX])
        raise OtherLedgersThere(
            f"the database holds {len(others)} ledger(s) ({shown}), and a rehearsal loads the whole server: "
            "give a database of its own, or say twice that it may run beside them (--beside-others --accept-load)",
            ledgers=others,
        )


def _clear(stage: Stage) -> None:
    with stage.connect() as connection:
        for schema in stage.names().values():
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(schema))
