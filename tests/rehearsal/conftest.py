"""A stage for each test: a ledger and a marketplace of its own on the session's server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from lastro.rehearsal.marketplace import Shop
from lastro.rehearsal.stage import Stage, set_stage


@pytest.fixture
def stage(server_url: str) -> Iterator[Stage]:
    """Two schemas of this test's own, dropped after it."""
    with set_stage(server_url, beside_others=True) as stage:
        yield stage


@pytest.fixture
def till(stage: Stage) -> Iterator[psycopg.Connection[Any]]:
    """The application's connection."""
    with stage.connect() as connection:
        yield connection


@pytest.fixture
def shop(stage: Stage, till: psycopg.Connection[Any]) -> Iterator[Shop]:
    """The marketplace, ready to sell."""
    with stage.open_shop() as shop:
        shop.set_up(till)
        yield shop
