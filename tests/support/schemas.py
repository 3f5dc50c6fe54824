"""
Ledgers that a test names itself, and their end.
"""

from __future__ import annotations

from collections.abc import Iterable

import psycopg
from psycopg import sql


def drop(url: str, names: Iterable[str]) -> None:
    """Drop ledgers, one at a time: the locks of many schemas don't fit into one transaction."""
    with psycopg.connect(url, autocommit=True) as connection:
        for name in names:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))
