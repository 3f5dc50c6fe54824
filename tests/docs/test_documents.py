"""The documents are true: every block of Python, shell and SQL runs, in order, and prints what stands below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from lastro.rehearsal.criteria import names_of, read_criteria
from tests.docs.blocks import FENCE, RUN, blocks_of, documents, languages_of, unrun_commands
from tests.docs.running import Reader
from tests.house.checkout import ROOT

# What a reader types and no test runs here: each is run by CI itself.
OUTSIDE = ("make ", "pip install ", "python3 -m venv ", ". .venv/bin/activate", "git clone ")
REHEARSAL = ROOT / "docs" / "rehearsal.md"
ROLE = re.compile(r"CREATE ROLE (\w+)")
DROP = "DROP DATABASE IF EXISTS {} WITH (FORCE)"
VARIABLES = ("LASTRO_DATABASE_URL", "LASTRO_LEDGER", "LASTRO_DATA")


class Databases(NamedTuple):
    """Two empty databases of a document's own."""

    url: str
    empty_url: str


@pytest.fixture
def databases(server_url: str, request: pytest.FixtureRequest) -> Iterator[Databases]:
    """A document's databases, gone afterwards, and with them the roles that the document makes."""
    document: Path = request.node.callspec.params["document"]
    names = [f"docs_{request.node.callspec.id.lower()}{ending}" for ending in ("", "_empty")]
    made = {role for block in blocks_of(document) for role in ROLE.findall(block.body)}
    with psycopg.connect(server_url, autocommit=True) as connection:
        # A role that was there before isn't ours: the document's CREATE ROLE fails then, and it stays.
        there = {role for (role,) in connection.execute("SELECT rolname FROM pg_roles")}
        for name in names:
            connection.execute(sql.SQL(DROP).format(sql.Identifier(name)))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield Databases(*(urlunsplit(urlsplit(server_url)._replace(path=f"/{name}")) for name in names))
        finally:
            for name in names:
                connection.execute(sql.SQL(DROP).format(sql.Identifier(name)))
            for role in made - there:
                connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))


@pytest.mark.parametrize(
    "document",
    [document for document in documents() if blocks_of(document)],
    ids=lambda document: document.stem.replace("-", "_"),
)
def test_every_block_does_what_it_says(
    document: Path, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed in one after the other, a document's blocks run without an error and print what it says they print."""
    monkeypatch.chdir(tmp_path)
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "")
    # README begins with nothing, as its reader does; the others begin with a database.
    if document.name != "README.md":
        monkeypatch.setenv("LASTRO_DATABASE_URL", databases.url)
        monkeypatch.setenv("EMPTY_DATABASE_URL", databases.empty_url)
    reader = Reader(tmp_path, monkeypatch)
    try:
        _read(reader, document)
    finally:
        reader.close()


def test_the_guides_follow_the_readme_on_its_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """README's Python may be typed in twice, and what it leaves in its database is in no guide's way."""
    monkeypatch.chdir(tmp_path)
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "")
    *readme, goodbye = blocks_of(ROOT / "README.md")
    assert goodbye.body == "lastro db stop\n"
    reader = Reader(tmp_path, monkeypatch)
    try:
        for block in readme:
            reader.run(block)
        again = [reader.run(block) for block in readme if block.language == "python"]
        assert again[0].startswith("True\nTrue\n")
        assert again[1:] == [block.output or "" for block in readme if block.language == "python"][1:]
        for name in ("guide.md", "within.md"):
            _read(reader, ROOT / "docs" / name)
    finally:
        reader.close()
        reader.run(goodbye)


def _read(reader: Reader, document: Path) -> None:
    for block in blocks_of(document):
        printed = reader.run(block)
        if block.output is not None:
            assert _lines(printed) == _lines(block.output), f"{block.place} prints otherwise"


def _lines(printed: str) -> list[str]:
    # psql fills its last column with blanks, which no editor keeps.
    return [line.rstrip() for line in printed.strip("\n").splitlines()]


def test_there_is_something_to_run() -> None:
    """README and the guides do hold blocks; a pattern that finds none would pass everything."""
    counts = {document.name: len(blocks_of(document)) for document in documents()}
    for name in ("README.md", "guide.md", "within.md", "operating.md", "reference-sql.md"):
        assert counts[name] >= 3, counts


@pytest.mark.parametrize("document", documents(), ids=lambda document: document.stem)
def test_no_block_escapes(document: Path) -> None:
    """Every block has a language that is run, or is the output of one, or holds commands that CI itself types."""
    for above, language in languages_of(document):
        assert language in {"", *RUN, "text", "toml"}, f"{document.name}: ```{language} is never run"
        assert language != "text" or above in RUN, f"{document.name}: output of no block"
    assert [line for line in unrun_commands(document) if not line.startswith(OUTSIDE)] == []


def test_criteria_are_read_as_written(tmp_path: Path) -> None:
    """The example of a file of criteria sets every criterion there is."""
    (body,) = [fence["body"] for fence in FENCE.finditer(REHEARSAL.read_text("utf-8")) if fence["language"] == "toml"]
    file = tmp_path / "peak.toml"
    file.write_text(body, "utf-8")
    assert read_criteria(file, "placement").limits.keys() == names_of("placement")


def test_a_false_block_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that raises, and one that prints otherwise, are both noticed."""
    document = tmp_path / "false.md"
    document.write_text("```python\nprint(1)\n```\n```text\n2\n```\n```python\nraise KeyError\n```\n", "utf-8")
    first, second = blocks_of(document)
    reader = Reader(tmp_path, monkeypatch)
    try:
        assert reader.run(first) == "1\n"
        assert first.output == "2\n"
        with pytest.raises(KeyError):
            reader.run(second)
    finally:
        reader.close()


def test_the_documents_are_where_the_readme_says() -> None:
    """README links every guide."""
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [path.name for path in documents()[1:] if f"docs/{path.name}" not in readme] == []
