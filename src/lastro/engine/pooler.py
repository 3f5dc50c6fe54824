"""
The console of a PgBouncer: it speaks PostgreSQL's protocol, and understands SHOW and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

from lastro.engine.psycopg_errors import translated
from lastro.engine.settings import CONNECT_TIMEOUT_S, without_driver
from lastro.plans.plan import Row
from lastro.sql.catalogue import catalogue

DIALECT: Final = "pgbouncer"
# What its answer to SHOW VERSION begins with.
PRODUCT: Final = "PgBouncer"


class PoolerConsole:
    """
    One connection to a console, opened when it is first asked. Raises what connections of a ledger raise.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[dict[str, Any]] | None = None
        self._statements = catalogue(DIALECT)

    def ask(self, statement: str) -> Sequence[Row]:
        """Return the rows of a statement; a connection that broke is opened anew the next time."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(
                    without_driver(self._url),
                    autocommit=True,
                    row_factory=dict_row,
                    connect_timeout=CONNECT_TIMEOUT_S,
                    prepare_threshold=None,
                )
            # Without parameters the driver sends a simple query: the console takes no others.
            return self._connection.execute(self._statements[statement].text.encode()).fetchall()
        except psycopg.Error as error:
            self.close()
            raise translated(error, ambiguous=False) from error

    def version(self) -> str:
        """Return the pooler's version: 1.18.0."""
        said = str(next(iter(self.ask("pooler.version")[0].values())))
        return said.removeprefix(PRODUCT).strip()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
