"""
A parser, a process of its own: reads files by orders on stdin, one after another, and answers on stdout.

Started as `python -m lastro.imports.parser MEMORY_BYTES`. What a file does to it, a crash of a reader or more memory than it
may have, happens to this process alone. An order and an answer are each a line of JSON; for each order come some lines
of progress and one report.
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
from lastro.imports.reports import FileReport, document_of_report, failed
from lastro.imports.spec_files import specs_of

TOLD_EVERY_S: Final = 0.2


def main() -> None:
    """
    Read files until there are no more orders.
    """
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    # A crash is told by its signal; nobody reads a gigabyte of core.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What a reader might print goes to stderr: stdout speaks to the parent alone.
    said = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Rows hold no cycles, and looking for some among millions of cells takes a fifth of the time.
    gc.disable()
    for line in sys.stdin:
        _say(said, {"report": document_of_report(_read(json.loads(line), memory, said))})
        gc.collect()


def _read(order: dict[str, Any], memory: int, said: TextIO) -> FileReport:
    told = time.monotonic()

    def on_rows(rows: int, share: float) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= TOLD_EVERY_S:
            told = now
            _say(said, {"rows": rows, "share": share})

    try:
        return read_file(
            order["name"],
            Path(order["path"]),
            specs_of(order["specs"]),
            folder=Path(order["folder"]),
            period=order["period"],
            on_rows=on_rows,
        )
    except MemoryError:
        return failed(order["name"], f"needs more than the {memory // 2**20} MiB that a parser may have")


def _say(said: TextIO, document: dict[str, Any]) -> None:
    said.write(json.dumps(document) + "\n")
    said.flush()


if __name__ == "__main__":
    main()
