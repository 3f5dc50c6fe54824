"""
The `lastro` command: the console script and `python -m lastro` start here.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from lastro.cli.exits import NOT_DONE

NEEDED = ("typer", "rich")


def main() -> None:
    """
    Run the command line and leave with its exit code.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(
            f'The lastro command needs {" and ".join(missing)}: pip install "lastro[cli]". '
            "The library itself (import lastro) works without.",
            file=sys.stderr,
        )
        sys.exit(NOT_DONE)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character gets its escape, not a traceback after the money has moved.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    from lastro.cli.app import app

    app()
