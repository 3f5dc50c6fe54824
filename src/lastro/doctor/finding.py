"""
A finding: one thing that is wrong, how it was seen, what would disprove it and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

Severity: TypeAlias = Literal["critical", "warning", "notice"]
SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "warning", "notice")
PAGE: Final = "docs/doctor.md"


@dataclass(frozen=True)
class Finding:
    """
    One thing that is wrong: of which account, session, table, … (`subject`), by what evidence, and which reading would
    prove it wrong. `page` is where the docs say more. `about` has what a remedy needs to know, by name.
    """

    code: str
    severity: Severity
    subject: str
    evidence: str
    disproved_by: str
    advice: str
    page: str
    about: Mapping[str, Any] = field(default_factory=dict)


def page_of(code: str) -> str:
    """Return where the docs speak of a finding: each code is a section of its own."""
    return f"{PAGE}#{code}"
