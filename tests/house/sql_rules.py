"""The house rules for `.sql` files: the header of each statement, and the traps a linter doesn't know."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

NAME_LINE = re.compile(r"^--\s*name:\s*(?P<name>.*?)\s*$", re.MULTILINE)
SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
# Strings and dollar quotes are found in the same sweep as comments, so that `--` inside one isn't taken for the other.
TOKEN = re.compile(r"(?P<comment>--[^\n]*|/\*.*?\*/)|'(?:[^']|'')*'|(?P<tag>\$\w*\$).*?(?P=tag)", re.DOTALL)

# `LIMIT 1` says "the one" and bounds nothing; every other bound has a name.
LITERAL_LIMIT = re.compile(r"\b(?:LIMIT\s+(?!1\b)\d+|FETCH\s+(?:FIRST|NEXT)\s+\d+)", re.IGNORECASE)
UNBOUNDED_CLAIM = re.compile(
    r"\bIN\s*\(\s*SELECT\b(?:(?!;).)*?\bLIMIT\b(?:(?!;).)*?\bFOR\s+(?:NO\s+KEY\s+)?UPDATE", re.IGNORECASE | re.DOTALL
)
NO_CONFLICT_TARGET = re.compile(r"\bON\s+CONFLICT\s+(?!\(|ON\s+CONSTRAINT\b)", re.IGNORECASE)
PLAIN_FOR_UPDATE = re.compile(r"(?<!KEY )\bFOR\s+UPDATE\b(?!\s+(?:OF\s+\w+\s+)?SKIP\s+LOCKED)", re.IGNORECASE)
SEVERAL_ROWS_LOCKED = re.compile(r"=\s*ANY\s*\((?:(?!;).)*\bFOR\s+NO\s+KEY\s+UPDATE", re.IGNORECASE | re.DOTALL)
SESSION_STATE = re.compile(
    r"\bSET\s+(?:SESSION\s+)?(?:lock_timeout|statement_timeout|search_path|synchronous_commit|role|time\s+zone)\b"
    r"|\bpg_(?:try_)?advisory_lock(?:_shared)?\s*\(|\bLISTEN\s+\w|\bPREPARE\s+\w",
    re.IGNORECASE,
)
IGNORE = re.compile(r"\bINSERT\s+(?:OR\s+)?IGNORE\b", re.IGNORECASE)
STAR = re.compile(r"\bSELECT\s+(?:\w+\.)?\*", re.IGNORECASE)

# Migrations: what can never leave once a release calls it, and what makes every insert take a lock.
ENUM = re.compile(r"\bAS\s+ENUM\b", re.IGNORECASE)
FUNCTION = re.compile(
    r"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE)\s+(?P<name>[\w.%()]+)(?P<rest>.*?)\bAS\b",
    re.IGNORECASE | re.DOTALL,
)
NAMELESS_CHECK = re.compile(r"(?<!\w)CHECK\s*\(", re.IGNORECASE)
HOT_TABLE = re.compile(
    r"\bCREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:\w+\.)?(?P<table>transfer|tail)\s*\(.*?;",
    re.IGNORECASE | re.DOTALL,
)


# Dialects that say a step by several statements, because their INSERT can't stand in a WITH.
SEVERAL_A_STEP = ("generic/", "mysql/", "sqlite/")
REFUSED = re.compile(r"refused: \S")
OTHERS_REFUSED = re.compile(r"^-- others refused: \S", re.MULTILINE)


@dataclass(frozen=True)
class Statement:
    """One named statement of a file: its name, the comment lines under it, its text and the same without comments."""

    path: str
    name: str
    header: tuple[str, ...]
    text: str
    code: str

    @property
    def where(self) -> str:
        """How a complaint names the statement."""
        return f"{self.path} {self.name}"


def without_comments(text: str) -> str:
    """The text with its comments blanked and its strings kept as empty ones, so that only code is left to match."""

    def blank(found: re.Match[str]) -> str:
        return " " if found["comment"] else "''"

    return TOKEN.sub(blank, text)


def statements(path: str, text: str) -> list[Statement]:
    """The named statements of one file."""
    names = list(NAME_LINE.finditer(text))
    found = []
    for name, following in zip_longest(names, names[1:]):
        end = following.start() if following else len(text)
        body = text[name.end() : end].strip("\n")
        header = []
        for line in body.splitlines():
            if not line.startswith("--"):
                break
            header.append(line.lstrip("- ").strip())
        found.append(Statement(path, name["name"], tuple(header), body, without_comments(body)))
    return found


def catalogue(folder: Path) -> list[tuple[str, str]]:
    """Every `.sql` file below the folder, as (path, text)."""
    return [(path.relative_to(folder).as_posix(), path.read_text("utf-8")) for path in sorted(folder.rglob("*.sql"))]


def file_is_named_throughout(path: str, text: str) -> Iterator[str]:
    """All SQL of a file stands under a `-- name:`, and no name comes twice."""
    found = statements(path, text)
    before = NAME_LINE.split(text, maxsplit=1)[0]
    if not found and not OTHERS_REFUSED.search(text):
        yield f"{path}: no `-- name:` line"
    if without_comments(before).strip():
        yield f"{path}: SQL before the first `-- name:`"
    names = [statement.name for statement in found]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{path}: the name {name} comes twice"


def has_its_header(statement: Statement) -> Iterator[str]:
    """A statement says its purpose, its locks and what it returns."""
    if not SNAKE_CASE.fullmatch(statement.name):
        yield f"{statement.where}: the name isn't snake_case"
    facts = " ".join(statement.header)
    for fact in ("locks:", "returns:"):
        if not re.search(rf"{fact}\s*\S", facts):
            yield f"{statement.where}: the header says no `{fact}`"
    first = statement.header[0] if statement.header else ""
    if not first or first.startswith(("locks:", "returns:")):
        yield f"{statement.where}: the header's first line states no purpose"


def is_one_statement(statement: Statement) -> Iterator[str]:
    """One name, one effect: exactly one statement, ended by its semicolon; several only where a dialect needs them."""
    parts = [part for part in statement.code.split(";") if part.strip()]
    if any(REFUSED.match(line) for line in statement.header):
        if parts:
            yield f"{statement.where}: refused, and said all the same"
        return
    several = bool(parts) and statement.path.startswith(SEVERAL_A_STEP)
    if (len(parts) != 1 and not several) or not statement.code.rstrip().endswith(";"):
        yield f"{statement.where}: {len(parts)} statements; one name is one statement with its semicolon"


def avoids_the_traps(statement: Statement) -> Iterator[str]:
    """The shapes that have failed before don't come back."""
    code = " ".join(statement.code.split())
    traps = (
        (LITERAL_LIMIT, "a literal LIMIT; a limit has a name"),
        (UNBOUNDED_CLAIM, "IN (SELECT … LIMIT … FOR UPDATE) can ignore its LIMIT; = ANY (ARRAY(SELECT …)) obeys it"),
        (NO_CONFLICT_TARGET, "ON CONFLICT without a target swallows conflicts on other indexes"),
        (PLAIN_FOR_UPDATE, "FOR UPDATE deadlocks with foreign-key checks; FOR NO KEY UPDATE doesn't"),
        (SESSION_STATE, "session state; a transaction pooler hands it to the next client"),
        (IGNORE, "INSERT IGNORE cuts values to size and swallows what it should report"),
        (STAR, "SELECT *; a step has one result shape, spelt out"),
    )
    for trap, why in traps:
        if trap is PLAIN_FOR_UPDATE and statement.path.startswith("mysql/"):
            # This family knows no weaker lock, and a ledger has no foreign keys there.
            continue
        if trap.search(code):
            yield f"{statement.where}: {why}"
    if SEVERAL_ROWS_LOCKED.search(code) and not re.search(r"\bORDER\s+BY\b", code, re.IGNORECASE):
        yield f"{statement.where}: locks several rows in no order; sort inside the CTE that locks"


def migration_can_leave(path: str, text: str) -> Iterator[str]:
    """A migration makes nothing that can never leave, names its checks, and puts no foreign key on the hot tables."""
    code = without_comments(text)
    if ENUM.search(code):
        yield f"{path}: an enum can never leave; a CHECK can"
    for function in FUNCTION.finditer(code):
        if not re.search(r"\bRETURNS\s+trigger\b", function["rest"], re.IGNORECASE):
            yield f"{path}: function {function['name']} isn't a trigger's; logic lives in plans"
    for check in NAMELESS_CHECK.finditer(code):
        if not re.search(r"\bCONSTRAINT\s+\w+\s+$", code[: check.start()], re.IGNORECASE):
            yield f"{path}: a CHECK without a name; a constraint is named after its rule"
    for table in HOT_TABLE.finditer(code):
        if re.search(r"\bREFERENCES\b", table[0], re.IGNORECASE):
            yield f"{path}: {table['table']} has a foreign key; its check locks the hot row for every insert"
    if not text.lstrip().startswith("--"):
        yield f"{path}: the migration opens with no comment that says what it brings"
    if not re.match(r"\d{4}_", path.rsplit("/", 1)[-1]):
        yield f"{path}: a migration's name starts with its number"


STATEMENT_RULES: tuple[Callable[[Statement], Iterator[str]], ...] = (has_its_header, is_one_statement, avoids_the_traps)
FILE_RULES: tuple[Callable[[str, str], Iterator[str]], ...] = (file_is_named_throughout,)
MIGRATION_RULES: tuple[Callable[[str, str], Iterator[str]], ...] = (migration_can_leave,)
