"""
Which database URLs SQLAlchemy can open here: those that name a dialect which is installed, with its driver.
"""

from __future__ import annotations

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from lastro.engine.settings import redacted
from lastro.errors import InvalidInput


def has_dialect(url: str) -> bool:
    """
    Say whether SQLAlchemy has a dialect for *url*. InvalidInput where it has, and the driver is missing.
    """
    try:
        dialect = make_url(url).get_dialect()
    except (ArgumentError, NoSuchModuleError):
        return False
    try:
        dialect.import_dbapi()
    except ImportError as error:
        raise InvalidInput(f"the driver for {redacted(url)!r} isn't installed ({error})", argument="url") from error
    return True
