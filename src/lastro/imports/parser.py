"""
A parser, a process of its own: reads one file by an order on stdin, tells its progress and its report on stdout.

Started as `python -m lastro.imports.parser`. What a file does to it, a crash of a reader or more memory than it may have,
happens to this process alone.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any, Final, TextIO

from lastro.imports.files import read_file
from lastro.imports.reports import document_of_report, failed
from lastro.imports.spec_files import specs_of

TOLD_EVERY_S: Final = 0.2


def main() -> None:
    """
    Read the order, read the file, say what came of it.
    """
    order: dict[str, Any] = json.load(sys.stdin)
    # What a reader might print goes to stderr: stdout speaks to the parent alone.
    said = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    memory = order["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    # A crash is told by its signal; nobody reads a gigabyte of core.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Rows hold no cycles, and looking for some in millions of cells takes a fifth of the time.
    gc.disable()
    told = 0.0

    def on_rows(rows: int, share: float) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= TOLD_EVERY_S:
            told = now
            _say(said, {"rows": rows, "share": share})

    name = order["name"]
    try:
        report = read_file(
            name,
            Path(order["path"]),
            specs_of(order["specs"]),
            folder=Path(order["folder"]),
            period=order["period"],
            on_rows=on_rows,
        )
    except MemoryError:
        report = failed(name, f"needs more than the {memory // 2**20} MiB that a parser may have")
    _say(said, {"report": document_of_report(report)})


def _say(said: TextIO, document: dict[str, Any]) -> None:
    said.write(json.dumps(document) + "\n")
    said.flush()


if __name__ == "__main__":
    main()
