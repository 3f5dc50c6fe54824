"""The fenced blocks of the documents: which language, which text, where, and what they are said to print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import NamedTuple

from tests.house.checkout import ROOT

FENCE = re.compile(r"^```(?P<language>\w*)[ \t]*\n(?P<body>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
# A `text` block is the output of the block above it; blocks without a language are read by people only.
OUTPUT = "text"
RUN = ("python", "sh", "sql")

# benchmarks.md is written by `make bench`; decisions hold no examples to follow.
NOT_RUN = frozenset({"benchmarks.md"})


class Block(NamedTuple):
    """
    A block to run: `line` is that of its first line in the document, `output` what it must print, or None.
    """

    document: Path
    line: int
    language: str
    body: str
    output: str | None

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.document.name}:{self.line}"


def documents() -> list[Path]:
    """The documents whose blocks are run."""
    return [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").glob("*.md") if path.name not in NOT_RUN)]


def blocks_of(document: Path) -> list[Block]:
    """The blocks to run, in their order, each with the output that the next block promises."""
    return list(_blocks(document, document.read_text("utf-8")))


def _blocks(document: Path, text: str) -> Iterator[Block]:
    fences = list(FENCE.finditer(text))
    for fence, following in zip_longest(fences, fences[1:]):
        if fence["language"] in RUN:
            output = following["body"] if following is not None and following["language"] == OUTPUT else None
            line = text.count("\n", 0, fence.start("body")) + 1
            yield Block(document, line, fence["language"], fence["body"], output)


def languages_of(document: Path) -> list[tuple[str, str]]:
    """Each block's language, with that of the block above it."""
    found = [fence["language"] for fence in FENCE.finditer(document.read_text("utf-8"))]
    return list(pairwise(["", *found]))


def unrun_commands(document: Path) -> list[str]:
    """The lines of the blocks that no test runs."""
    text = document.read_text("utf-8")
    bodies = [fence["body"] for fence in FENCE.finditer(text) if fence["language"] == ""]
    return [line for body in bodies for line in body.splitlines() if line.strip()]
