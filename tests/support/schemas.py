"""
Ledgers that a test names itself, and their end.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

import lastro
from lastro.plans.plan import Effect
from lastro.testing.temporary import _drop
from tests.support.stores import POSTGRES, store_of

NAME_BYTES = 6


def drop(url: str, names: Iterable[str]) -> None:
    """Drop ledgers, one at a time: the locks of many schemas don't fit into one transaction."""
    if store_of(url) != POSTGRES:
        for name in names:
            with lastro.connect(url, ledger=name) as ledger:
                ledger._engine.run(lambda name=name, ledger=ledger: _drop(ledger._engine.dialect, name), Effect.KEYED)  # type: ignore[misc]
        return
    with psycopg.connect(url, autocommit=True) as connection:
        for name in names:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


@contextmanager
def names_on(url: str) -> Iterator[Callable[[], str]]:
    """Yield a maker of names for ledgers on a store; those ledgers are dropped at the end."""
    made: list[str] = []

    def name() -> str:
        made.append(f"history_{secrets.token_hex(NAME_BYTES)}")
        return made[-1]

    yield name
    drop(url, made)
