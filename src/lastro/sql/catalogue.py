"""
The catalogue: every statement of a dialect by name, read from the `.sql` files beside this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from lastro.errors import InvalidInput

LEDGER = "lastro"
# The dialect that says every step.
FULLEST = "postgres"
# Dialects in which a ledger is a prefix of its tables' names, and not a schema.
PREFIXING = ("sqlite", "generic")
LEDGER_NAME = re.compile(r"[a-z_][a-z0-9_]{0,47}", re.ASCII)
_HEADER = re.compile(r"^-- name: (?P<name>[a-z_]+)$", re.MULTILINE)
_REFUSED = re.compile(r"^-- refused: (?P<why>.+)$", re.MULTILINE)
_OTHERS_REFUSED = re.compile(r"^-- others refused: (?P<why>.+)$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
# A semicolon inside a string ends nothing: partitions are composed of texts that hold some.
_STRING_OR_END = re.compile(r"'(?:[^']|'')*'|;")
_IN_SCHEMA = re.compile(rf"\b{LEDGER}(?=\.[a-z_%]|;| CASCADE)")
# What stands in statements for the names of an application's own table; and, before a parameter, for the character set
# of a text, which only one dialect has to be told.
_OWN_NAME = re.compile(r"\bown_(?:table|id|id_2|balance|currency|only|null)\b|/\* text (?P<place>\w+) \*/ ?")
# What stands in statements for the names of a merged sheet: its table, and lists of its fields.
_ITS_NAME = re.compile(
    r"(?P<of>\b[a-z_]+\.)?\bits_"
    r"(?P<place>table|staged|changes|fields|key|period|reference|currency|amount|date)\b"
)
_PREFIXED = re.compile(rf"\b{LEDGER}_(?=[a-z])")


class Statement(NamedTuple):
    """
    One step as a dialect says it: `name` is file.statement, `texts` what is sent, in order, without its header.

    PostgreSQL says each step by one text. A dialect whose INSERT can't stand in a WITH takes several: all get the
    step's parameters, and the step's rows are those of the last that returns any. Where the dialect can't do the step
    at all, `refused` says why and `texts` is empty; a file may refuse at once
    every step of its plan that it doesn't say.
    """

    name: str
    texts: tuple[str, ...]
    refused: str | None = None

    @property
    def text(self) -> str:
        """The one text of a step that is said by one."""
        (text,) = self.texts
        return text


@lru_cache
def catalogue(dialect: str, ledger: str = LEDGER) -> Mapping[str, Statement]:
    """
    Return the statements of *dialect* for the tables of *ledger*, by name ("posting.post_to_hot").
    """
    said: dict[str, Statement] = {}
    others_refused: dict[str, Statement] = {}
    for file in sorted(files("lastro.sql").joinpath(dialect).iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".sql"):
            continue
        text = file.read_text(encoding="utf-8")
        if others := _OTHERS_REFUSED.search(text):
            others_refused |= _all_refused(file.name.removesuffix(".sql"), others["why"])
        pieces = _HEADER.split(text)
        for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
            full_name = f"{file.name.removesuffix('.sql')}.{name}"
            assert full_name not in said, f"two statements are called {full_name}"
            refused = _REFUSED.search(body)
            texts = texts_of(for_ledger(_COMMENT.sub("", body), ledger, dialect=dialect))
            assert bool(texts) != bool(refused), f"{full_name} is either said or refused"
            said[full_name] = Statement(full_name, texts, refused["why"] if refused else None)
    return others_refused | said


def _all_refused(plan: str, why: str) -> dict[str, Statement]:
    names = (name for name in catalogue(FULLEST) if name.partition(".")[0] == plan)
    return {name: Statement(name, (), why) for name in names}


def texts_of(sql: str) -> tuple[str, ...]:
    """
    Return the statements of *sql*, which has no comments, without the semicolons that end them.
    """
    ends = [found.start() for found in _STRING_OR_END.finditer(sql) if found[0] == ";"]
    starts = [0, *(end + 1 for end in ends)]
    pieces = (sql[start:end].strip() for start, end in zip(starts, [*ends, len(sql)], strict=True))
    return tuple(piece for piece in pieces if piece)


def for_ledger(sql: str, ledger: str, *, dialect: str) -> str:
    """
    Return *sql*, written for the ledger `lastro`, for the tables of *ledger*: another schema, or, where there
    needn't be any, another prefix (`lastro_transfer`).
    """
    if ledger == LEDGER:
        return sql
    if dialect in PREFIXING:
        return _PREFIXED.sub(f"{ledger}_", sql)
    # Quoted, for a ledger may be called as a word of SQL's own: `order`, `user`.
    return _IN_SCHEMA.sub(f"`{ledger}`" if dialect == "mysql" else f'"{ledger}"', sql)


def with_names(sql: str, names: Iterable[tuple[str, Sequence[str]]], *, dialect: str) -> str:
    """
    Return *sql* with the *names* of an application's own table in the places of `own_table`, `own_id` and so on: each
    part of a name quoted, whatever characters it has.
    """
    said = {place: ".".join(quoted(part, dialect=dialect) for part in parts) for place, parts in names}
    if not said:
        return sql

    def named(found: re.Match[str]) -> str:
        if found["place"] is None:
            return said[found[0]]
        return "_utf8mb4 " if f"text_{found['place']}" in said else ""

    return _OWN_NAME.sub(named, sql)


def with_lists(sql: str, names: Iterable[tuple[str, Sequence[str]]], *, dialect: str) -> str:
    """
    Return *sql* with the *names* of a merged sheet in the places of `its_table`, `its_key` and so on: a list of them with
    commas between, and each behind the alias that stands before the place (`staged.its_key`).
    """
    said = dict(names)

    def named(found: re.Match[str]) -> str:
        of = found["of"] or ""
        return ", ".join(f"{of}{quoted(name, dialect=dialect)}" for name in said[found["place"]])

    return _ITS_NAME.sub(named, sql)


def quoted(name: str, *, dialect: str) -> str:
    """
    Return *name* as an identifier of *dialect*.
    """
    quote = "`" if dialect == "mysql" else '"'
    return f"{quote}{name.replace(quote, quote * 2)}{quote}"


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
