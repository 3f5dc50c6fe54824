"""The documents don't drift: links and paths lead somewhere, Python uses public names, make targets exist."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.checkout import ROOT, files

pytestmark = pytest.mark.house

DOCUMENTED_MODULES = frozenset(
    {
        "lastro",
        "lastro.charging",
        "lastro.django",
        "lastro.doctor",
        "lastro.embedded",
        "lastro.reads",
        "lastro.relaying",
        "lastro.testing",
    }
)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`(?P<path>(?:\.ci|bench|docs|examples|src|tests)/[\w./-]*\w)(?:::(?P<name>\w+))?[^`]*`")
MAKE = re.compile(r"(?:^|`|\$ )make (?P<target>[a-z]+)", re.MULTILINE)


def documents() -> list[Path]:
    """Every Markdown file of the project."""
    return [path for path in files() if path.suffix == ".md"]


def broken_links(document: Path, text: str) -> Iterator[str]:
    """Links to files that aren't there."""
    for link in LINK.finditer(FENCE.sub("", text)):
        target = link["target"].split("#")[0]
        outside = not target or "://" in target or target.startswith("mailto:")
        if not outside and not (document.parent / target).exists():
            yield f"{document.name}: links to {target}, which isn't there"


def stale_paths(document: Path, text: str) -> Iterator[str]:
    """Paths in backticks that aren't there, and tests named in them that aren't in the file."""
    for found in PATH.finditer(FENCE.sub("", text)):
        path = ROOT / found["path"]
        if not path.exists():
            yield f"{document.name}: names {found['path']}, which isn't there"
        elif found["name"] and not re.search(rf"\b(?:def|class) {found['name']}\b", path.read_text("utf-8")):
            yield f"{document.name}: names {found['name']}, which isn't in {found['path']}"


def stale_targets(document: Path, text: str) -> Iterator[str]:
    """`make` targets that the Makefile doesn't have."""
    known = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for found in MAKE.finditer(text):
        if found["target"] not in known:
            yield f"{document.name}: says make {found['target']}, which the Makefile doesn't have"


def hidden_names(document: Path, text: str, public: frozenset[str]) -> Iterator[str]:
    """Python that doesn't parse, or that takes anything from deeper than the public names."""
    for fence in FENCE.finditer(text):
        if fence["language"] not in {"python", "py"}:
            continue
        try:
            tree = compile(fence["body"], document.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            yield f"{document.name}: Python that doesn't parse: {error}"
            continue
        for node in ast.walk(tree):
            yield from (f"{document.name}: {fault}" for fault in _taken_from_deeper(node, public))


def _taken_from_deeper(node: ast.AST, public: frozenset[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] == "lastro" and alias.name not in DOCUMENTED_MODULES:
                yield f"imports {alias.name}"
    elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lastro":
        if node.module not in DOCUMENTED_MODULES:
            yield f"imports from {node.module}"
        elif node.module == "lastro":
            yield from (f"imports {alias.name} from lastro" for alias in node.names if alias.name not in public)
    elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "lastro" and node.attr not in public:
        yield f"uses lastro.{node.attr}, which isn't public"


def _public() -> frozenset[str]:
    return frozenset(importlib.import_module("lastro").__all__) | {"django", "testing"}


def test_links_and_paths_lead_somewhere() -> None:
    """Every relative link, and every path and test named in backticks, exists."""
    assert documents(), "no document found"
    texts = [(document, document.read_text("utf-8")) for document in documents()]
    assert [fault for document, text in texts for fault in broken_links(document, text)] == []
    assert [fault for document, text in texts for fault in stale_paths(document, text)] == []


def test_documented_commands_exist() -> None:
    """Every `make` target that a document names is in the Makefile."""
    assert [fault for path in documents() for fault in stale_targets(path, path.read_text("utf-8"))] == []


def test_documented_python_uses_public_names_only() -> None:
    """Python in the documents parses, and imports nothing deeper than `lastro` and its packages for users."""
    public = _public()
    assert [fault for path in documents() for fault in hidden_names(path, path.read_text("utf-8"), public)] == []


def test_the_changelog_is_kept() -> None:
    """The changelog opens with what isn't released yet."""
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == "[Unreleased]"


@pytest.mark.parametrize(
    "text",
    [
        "See [the plan](docs/nowhere.md).",
        "See `tests/nowhere/test_nothing.py`.",
        "See `tests/house/test_docs.py::test_that_is_not_there`.",
        "Run `make nonsense`.",
        "```python\nfrom lastro.engine import runner\n```\n",
        "```python\nimport lastro.plans\n```\n",
        "```python\nlastro.no_such_name()\n```\n",
        "```python\nfrom lastro import no_such_name\n```\n",
        "```python\nif:\n```\n",
    ],
)
def test_drift_is_found(text: str) -> None:
    """Each kind of drift is caught by its check."""
    document = ROOT / "README.md"
    public = frozenset({"connect"})
    faults = [
        *broken_links(document, text),
        *stale_paths(document, text),
        *stale_targets(document, text),
        *hidden_names(document, text, public),
    ]
    assert len(faults) == 1


def test_good_documents_are_left_in_peace() -> None:
    """Links that exist, public names and top-level await pass."""
    document = ROOT / "README.md"
    text = (
        "See [the licence](LICENSE), `tests/house/test_docs.py::test_drift_is_found`, `make check`, [web](https://x.y/z).\n"
        "```python\nimport lastro\n\nledger = await lastro.connect('…')\nfrom lastro.testing import temporary_ledger\n```\n"
    )
    public = frozenset({"connect"})
    assert list(broken_links(document, text)) == []
    assert list(stale_paths(document, text)) == []
    assert list(stale_targets(document, text)) == []
    assert list(hidden_names(document, text, public)) == []
