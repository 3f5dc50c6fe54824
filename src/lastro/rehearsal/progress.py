"""
How a rehearsal says how far it is: a line now and then, to whoever asked for it.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """
    Say it to nobody.
    """
