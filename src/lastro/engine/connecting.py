"""
From a database URL to the engine that speaks to it.
"""

from __future__ import annotations

from lastro.embedded import resolve
from lastro.engine.postgres import PostgresEngine
from lastro.engine.postgres_async import AsyncPostgresEngine
from lastro.engine.settings import POSTGRES_SCHEMES, EngineSettings, redacted, scheme_of
from lastro.errors import InvalidInput

EMBEDDED_SCHEME = "embedded"


def open_engine(settings: EngineSettings) -> PostgresEngine:
    """
    Return a blocking engine. It connects when it is first used.
    """
    return PostgresEngine(_on_postgres(settings))


def open_async_engine(settings: EngineSettings) -> AsyncPostgresEngine:
    """
    Return an engine for asyncio. It connects when it is first used.
    """
    return AsyncPostgresEngine(_on_postgres(settings))


def _on_postgres(settings: EngineSettings) -> EngineSettings:
    scheme = scheme_of(settings.url)
    if scheme == EMBEDDED_SCHEME:
        return settings._replace(url=resolve(settings.url).url)
    if scheme in POSTGRES_SCHEMES:
        return settings
    raise InvalidInput(
        f"lastro speaks to postgresql:// and embedded:// databases; got {redacted(settings.url)!r}",
        argument="url",
    )
