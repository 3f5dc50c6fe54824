"""
The migrations of a dialect, as files in numerical order, and the versions of the schema that this code can serve.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from lastro.sql.catalogue import for_ledger

_FILE = re.compile(r"(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql")
_SERVES = re.compile(r"^-- serves: code from (?P<number>\d{4}) on$", re.MULTILINE)


class Migration(NamedTuple):
    """
    One step up. `serves_from` is the number of the oldest code that can still work once this step is done.
    """

    number: int
    name: str
    script: str
    serves_from: int
    checksum: str


@lru_cache
def migrations(dialect: str, ledger: str) -> tuple[Migration, ...]:
    """
    Return every migration of *dialect*, in order, written for the tables of *ledger*.
    """
    found = []
    for file in files("lastro.schema").joinpath(dialect).iterdir():
        named = _FILE.fullmatch(file.name)
        if not named:
            continue
        text = file.read_text(encoding="utf-8")
        serves = _SERVES.search(text)
        assert serves, f"{file.name} doesn't say which code it serves"
        found.append(
            Migration(
                number=int(named["number"]),
                name=named["name"],
                script=for_ledger(text, ledger, dialect=dialect),
                serves_from=int(serves["number"]),
                checksum=hashlib.sha256(text.encode()).hexdigest(),
            )
        )
    return tuple(sorted(found))


def foundation(dialect: str, ledger: str) -> str:
    """
    Return the script that makes room for a ledger and its table of migrations; it may run twice.
    """
    return _beside_the_migrations(dialect, "foundation.sql", ledger)


def removal(dialect: str, ledger: str) -> str:
    """
    Return the script that takes a throw-away ledger out of its database again.
    """
    return _beside_the_migrations(dialect, "removal.sql", ledger)


def _beside_the_migrations(dialect: str, name: str, ledger: str) -> str:
    text = files("lastro.schema").joinpath(dialect, name).read_text(encoding="utf-8")
    return for_ledger(text, ledger, dialect=dialect)
