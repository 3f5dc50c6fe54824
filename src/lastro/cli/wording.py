"""
What the library says of its methods, said in commands: who reads it in a terminal has no ledger object at hand.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable
from shlex import quote
from typing import Final

_TEXT: Final = r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"


def _open_account(found: re.Match[str]) -> str:
    name, currency = (quote(str(literal_eval(part))) for part in found.groups())
    return f"`lastro accounts open {name} {currency}`"


_COMMANDS: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(rf"ledger\.open_account\({_TEXT}, {_TEXT}\)"), _open_account),
    (re.compile(r" \(or ledger\.migrate\(\)\)"), ""),
    (re.compile(r"\(ledger\.points\.give\)"), "(`lastro points give`)"),
)


def in_commands(message: str) -> str:
    """
    Return *message* with the commands for the methods that it names.
    """
    for pattern, command in _COMMANDS:
        message = pattern.sub(command, message)
    return message
