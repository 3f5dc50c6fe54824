"""
How an engine connects: the parts of a database URL and the limits around it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lastro.errors import InvalidInput
from lastro.model.limits import LOCK_TIMEOUT_MS

POOL_MAX = 10
CONNECT_TIMEOUT_S = 5
POOL_TIMEOUT_S = 10.0

EMBEDDED_PREFIX = "embedded:"
POSTGRES_SCHEMES = ("postgresql", "postgres")
SQLITE_SCHEME = "sqlite"
MYSQL_SCHEMES = ("mariadb", "mysql")
_PASSWORD = re.compile(r"(?<=://)([^:/@\s]*):([^@/\s]*)@")


class EngineSettings(NamedTuple):
    """
    Where and how to connect. `prepared=False` sends no named prepared statements (for poolers that lose them).

    `lock_timeout_ms` is for stores whose lock the engine takes before a plan's first step; elsewhere the plans set it.
    """

    url: str
    ledger: str
    pool_max: int = POOL_MAX
    prepared: bool = True
    lock_timeout_ms: int = LOCK_TIMEOUT_MS


def scheme_of(url: str) -> str:
    """
    Return the scheme of a database URL, without a driver named after a plus sign.
    """
    given: object = url
    if not isinstance(given, str):
        raise InvalidInput(f"a database URL is text; got {type(given).__name__}", argument="url")
    if url.startswith(EMBEDDED_PREFIX):
        # embedded:relative/path has no slashes behind its colon.
        return EMBEDDED_PREFIX.removesuffix(":")
    scheme, separator, _ = url.partition("://")
    if not separator:
        raise InvalidInput(
            f"a database URL begins with its scheme, as in postgresql://user@host/database; got {redacted(url)!r}",
            argument="url",
        )
    return scheme.partition("+")[0].lower()


def without_driver(url: str) -> str:
    """
    Return the URL as libpq reads it: SQLAlchemy's postgresql+psycopg:// without the driver.
    """
    scheme, _, rest = url.partition("://")
    return f"{scheme.partition('+')[0]}://{rest}"


def redacted(url: str) -> str:
    """
    Return the URL without its password, for messages and logs.
    """
    return _PASSWORD.sub(r"\1:…@", url)
