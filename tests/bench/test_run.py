"""A short run from end to end: the server with the slow flush, pgbench on the catalogue's statements, the files."""

from __future__ import annotations

import json
from pathlib import Path

from bench.__main__ import main


def test_a_short_run_writes_figures(tmp_path: Path) -> None:
    """One part of a quick run posts by SQL, folds it in, obeys the bound, and writes the JSON and the page."""
    assert main(["--quick", "--only", "folding", "--results", str(tmp_path), "--page", str(tmp_path / "page.md")]) == 0
    [file] = tmp_path.glob("*.json")
    figures = json.loads(file.read_text(encoding="utf-8"))["figures"]
    assert figures["consolidation.F0"]["rows_per_s"] > 0
    assert figures["consolidation.bound.F0"]["obeyed"] is True
    slow = figures.get("commit_of_one_row.F1000")
    if slow is not None:  # a machine with a compiler
        assert slow["p50_us"] >= 1_000
    assert "# Benchmarks" in (tmp_path / "page.md").read_text(encoding="utf-8")
