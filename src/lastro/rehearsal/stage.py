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

    `server` is the server where it is the rehearsal's own, and nobody else's.
    """

    url: str
    ledger: str
    marketplace: str
    server: EmbeddedServer | None = field(default=None, compare=False)

    def named(self, application: str) -> str:
        """Return the URL for connections that say whose they are: whoever looks at the server sees it there."""
        return f"{self.url}{'&' if '?' in self.url else '?'}application_name={quote(application)}"

    def connect(self) -> psycopg.Connection[Any]:
        """Return a connection of the application's: autocommit, so that `transaction()` begins and ends each one."""
        return psycopg.connect(self.url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S)

    @contextmanager
    def open_shop(self) -> Iterator[Shop]:
        """Give the marketplace of this stage, for as long as the `with` lasts."""
        with lastro.connect(self.url, ledger=self.ledger, pool_max=2) as ledger:
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
        stage = Stage(libpq_url, f"rehearsal_{name}", f"marketplace_{name}", server)
        try:
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
