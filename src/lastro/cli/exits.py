"""
The exit codes of every command.

| code | means | again? |
|---|---|---|
| 0 | done, or found to be done already (a replayed key) | |
| 1 | refused: the answer is no and will be no again; or a proof fails | no |
| 2 | not done: the command line isn't understood, or a fault (database unreachable, lock timeout); the error's `kind` tells | a fault: with the same key |
| 130 | interrupted at the keyboard | with the same key |
"""

from __future__ import annotations

from typing import Final

DONE: Final = 0
REFUSED: Final = 1
NOT_DONE: Final = 2
