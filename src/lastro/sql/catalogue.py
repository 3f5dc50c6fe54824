"""
The catalogue: every statement of a dialect by name, read from the `.sql` files beside this module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from lastro.errors import InvalidInput

LEDGER = "lastro"
LEDGER_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}", re.ASCII)
_HEADER = re.compile(r"^-- name: (?P<name>[a-z_]+)$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
_SCHEMA = re.compile(rf"\b{LEDGER}(?=\.[a-z_%]|;)")


class Statement(NamedTuple):
    """
    One statement: `name` is file.statement, `text` what is sent, without its header.
    """

    name: str
    text: str


@lru_cache
def catalogue(dialect: str, ledger: str = LEDGER) -> Mapping[str, Statement]:
    """
    Return the statements of *dialect* for the tables of *ledger*, by name ("posting.post_to_hot").
    """
    statements: dict[str, Statement] = {}
    for file in sorted(files("lastro.sql").joinpath(dialect).iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".sql"):
            continue
        pieces = _HEADER.split(file.read_text(encoding="utf-8"))
        for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
            full_name = f"{file.name.removesuffix('.sql')}.{name}"
            text = in_schema(_COMMENT.sub("", body).strip().removesuffix(";"), ledger)
            assert full_name not in statements, f"two statements are called {full_name}"
            statements[full_name] = Statement(full_name, text)
    return statements


def in_schema(sql: str, ledger: str) -> str:
    """
    Return *sql*, written for the schema `lastro`, for the tables of *ledger*.
    """
    # Quoted, for a ledger may be called as a word of SQL's own: `order`, `user`.
    return sql if ledger == LEDGER else _SCHEMA.sub(f'"{ledger}"', sql)


def ledger_name(name: object) -> str:
    """
    Return *name* if a ledger (one schema) may be called so: it stands in statements, so only a–z, 0–9 and _ will do.
    """
    if not isinstance(name, str) or not LEDGER_NAME.fullmatch(name) or name.startswith("pg_"):
        raise InvalidInput(
            f"a ledger's name has 1 … 48 characters of a–z, 0–9 and _, no digit first, no pg_; got {name!r}",
            argument="ledger",
        )
    return name
