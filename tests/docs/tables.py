"""The tables of the documents that repeat what the code says: found between their marks, and read cell by cell."""

from __future__ import annotations

import re
from pathlib import Path

MARKED = "<!-- checked: {name} -->\n(?P<body>.*?)<!-- end -->"


def marked(document: Path, name: str) -> str:
    """The text between `<!-- checked: name -->` and `<!-- end -->`."""
    found = re.search(MARKED.format(name=re.escape(name)), document.read_text("utf-8"), re.DOTALL)
    assert found is not None, f"{document.name} has no part marked {name!r}"
    return found["body"]


def rows(document: Path, name: str) -> list[list[str]]:
    """The rows of a marked table, without its head."""
    lines = [line for line in marked(document, name).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def code(cell: str) -> list[str]:
    """What a cell has in backticks."""
    return re.findall(r"`([^`]+)`", cell)
