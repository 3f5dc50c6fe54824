"""Where the checkout is, and which of its files are the project's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "lastro"

# Hidden folders hold what tools left, but for CI's own.
KEPT_HIDDEN = frozenset({".ci"})
MADE = frozenset({"__pycache__", "build", "dist"})


def files() -> Iterator[Path]:
    """Every file of the checkout that could be committed. Read from the disk: a copy without git has the same rules."""
    for path in sorted(ROOT.rglob("*")):
        folders = path.relative_to(ROOT).parts[:-1]
        made = any(part in MADE or (part.startswith(".") and part not in KEPT_HIDDEN) for part in folders)
        # A worktree of git has a file where a clone has a folder.
        if not made and path.is_file() and path.name != ".git":
            yield path
