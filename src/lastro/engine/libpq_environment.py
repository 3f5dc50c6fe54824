"""
What leads libpq's programs to a database: its URL as environment variables, for on a command line everybody sees its
password.
"""

from __future__ import annotations

from psycopg.pq import Conninfo


def environment_of(url: str) -> dict[str, str]:
    """
    Return the variables for what a postgresql:// URL says.
    """
    return {
        option.envvar.decode(): option.val.decode()
        for option in Conninfo.parse(url.encode())
        if option.val is not None and option.envvar is not None
    }
