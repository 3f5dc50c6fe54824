"""
From a sqlite:// URL to the file that it names and how that is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from lastro.engine.settings import redacted
from lastro.errors import InvalidInput

MODES = ("rwc", "rw", "ro")
MEMORY = ("", ":memory:")


class Address(NamedTuple):
    """
    A database file, absolute, and its mode: `rwc` makes it where it is missing, `rw` doesn't, `ro` only reads.
    """

    path: Path
    mode: str

    @property
    def uri(self) -> str:
        """What SQLite opens."""
        return f"file:{quote(str(self.path))}?mode={self.mode}"


def address_of(url: str) -> Address:
    """
    Return the file of sqlite:///relative.db or sqlite:////absolute.db, with `?mode=ro|rw|rwc` where it is given.

    A database in memory is refused: each connection would have one of its own, and money that goes with the process is
    none.
    """
    _, _, rest = url.partition("://")
    host_and_path, _, query = rest.partition("?")
    host, separator, path = host_and_path.partition("/")
    if host or not separator or path in MEMORY:
        raise InvalidInput(
            "a SQLite ledger is a file: sqlite:///relative.db or sqlite:////absolute.db, and none in memory; "
            f"got {redacted(url)!r}",
            argument="url",
        )
    options = dict(parse_qsl(query, keep_blank_values=True))
    mode = options.pop("mode", MODES[0])
    if options or mode not in MODES:
        raise InvalidInput(
            f"a sqlite:// URL takes ?mode={'|'.join(MODES)} and nothing else; got {redacted(url)!r}", argument="url"
        )
    return Address(Path(path).absolute(), mode)
