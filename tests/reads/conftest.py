"""A read model of each test's own, in a schema beside the ledger's."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from lastro.reads import ReadModel


@pytest.fixture
def model(server_url: str, ledger_name: str) -> Iterator[ReadModel]:
    """A migrated read model, gone afterwards."""
    schema = f"{ledger_name[:40]}_reads"
    model = ReadModel(server_url, schema=schema)
    assert model.migrate() == ["0001_reads"]
    yield model
    model.close()
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
