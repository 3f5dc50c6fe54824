"""
From a database URL to the engine that speaks to it. Drivers that the core doesn't need are imported when one is asked.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from lastro.embedded import resolve
from lastro.engine.postgres import PostgresEngine
from lastro.engine.postgres_async import AsyncPostgresEngine
from lastro.engine.settings import (
    MYSQL_SCHEMES,
    POSTGRES_SCHEMES,
    SQLITE_SCHEME,
    EngineSettings,
    redacted,
    scheme_of,
)
from lastro.errors import InvalidInput

if TYPE_CHECKING:
    from lastro.engine.generic import GenericEngine
    from lastro.engine.generic_async import AwaitedGenericEngine, ThreadedGenericEngine
    from lastro.engine.mysql import MysqlEngine
    from lastro.engine.mysql_async import AsyncMysqlEngine
    from lastro.engine.sqlite import SqliteEngine
    from lastro.engine.sqlite_async import AsyncSqliteEngine

EMBEDDED_SCHEME = "embedded"


def open_engine(settings: EngineSettings) -> PostgresEngine | SqliteEngine | MysqlEngine | GenericEngine:
    """
    Return a blocking engine. It connects when it is first used.
    """
    if scheme_of(settings.url) == SQLITE_SCHEME:
        from lastro.engine.sqlite import SqliteEngine

        return SqliteEngine(settings)
    if scheme_of(settings.url) in MYSQL_SCHEMES:
        _need("pymysql")
        from lastro.engine.mysql import MysqlEngine

        return MysqlEngine(settings)
    if _is_sqlalchemys(settings.url):
        from lastro.engine.generic import GenericEngine

        return GenericEngine(settings)
    return PostgresEngine(_on_postgres(settings))


def open_async_engine(
    settings: EngineSettings,
) -> AsyncPostgresEngine | AsyncSqliteEngine | AsyncMysqlEngine | AwaitedGenericEngine | ThreadedGenericEngine:
    """
    Return an engine for asyncio. It connects when it is first used.
    """
    if scheme_of(settings.url) == SQLITE_SCHEME:
        from lastro.engine.sqlite_async import AsyncSqliteEngine

        return AsyncSqliteEngine(settings)
    if scheme_of(settings.url) in MYSQL_SCHEMES:
        _need("asyncmy")
        from lastro.engine.mysql_async import AsyncMysqlEngine

        return AsyncMysqlEngine(settings)
    if _is_sqlalchemys(settings.url):
        from lastro.engine.generic_async import async_engine

        return async_engine(settings)
    return AsyncPostgresEngine(_on_postgres(settings))


def _need(driver: str) -> None:
    if find_spec(driver) is None:
        raise InvalidInput(
            f"mariadb:// and mysql:// databases need the driver {driver}: pip install 'lastro[mariadb]'", argument="url"
        )


def _is_sqlalchemys(url: str) -> bool:
    """
    Say whether a URL is left to the generic engine: none of ours, and one that an installed SQLAlchemy has a dialect for.
    """
    if scheme_of(url) in (*POSTGRES_SCHEMES, EMBEDDED_SCHEME) or find_spec("sqlalchemy") is None:
        return False
    from lastro.engine.generic_url import has_dialect

    return has_dialect(url)


def _on_postgres(settings: EngineSettings) -> EngineSettings:
    scheme = scheme_of(settings.url)
    if scheme == EMBEDDED_SCHEME:
        return settings._replace(url=resolve(settings.url).url)
    if scheme in POSTGRES_SCHEMES:
        return settings
    raise InvalidInput(
        f"lastro speaks to postgresql:// and embedded:// databases, to mariadb:// and mysql:// databases, to sqlite:// "
        f"files, and to whatever SQLAlchemy has a dialect and a driver for where they are installed "
        f"(pip install 'lastro[sqlalchemy]'); got {redacted(settings.url)!r}",
        argument="url",
    )
