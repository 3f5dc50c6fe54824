"""
What a caller hands in to be merged, checked and taken apart; and what merging it would do, for a dry run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lastro.errors import InvalidInput
from lastro.imports.archives import take
from lastro.imports.declaring import check_all
from lastro.imports.jobs import Sending, parts_of
from lastro.imports.limits import NAME_CHARACTERS_MAX
from lastro.imports.member_names import CODE_PAGE
from lastro.imports.merges import Preview
from lastro.imports.merging import MergedFile, preview
from lastro.imports.reports import FileReport
from lastro.imports.spec_files import ready_specs
from lastro.imports.specs import SheetSpec, checked
from lastro.imports.working import why_not
from lastro.model.limits import ACTOR_CHARACTERS_MAX
from lastro.model.text import optional_text, shown
from lastro.plans.plan import TOGETHER, Plan

MONTH: Final = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])", re.ASCII)


def sending_of(
    file: object,
    folder: Path,
    *,
    period: object,
    specs: Sequence[SheetSpec] | None,
    allow_shrink: bool,
    quarantine: bool,
    actor: object,
    code_page: str = CODE_PAGE,
) -> Sending:
    """
    Return what is sent, taken apart into *folder*. Raises InvalidInput for what isn't a file, or no zip that can be read.
    """
    if not isinstance(file, str | Path):
        raise InvalidInput(f"file must be a path; got {type(file).__name__}", argument="file")
    path = Path(file)
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}", argument="file")
    wanted = ready_specs() if specs is None else checked(specs)
    taken = take(path, folder, code_page=code_page)
    return Sending(
        name=path.name[:NAME_CHARACTERS_MAX],
        sources=taken.sources,
        passed_over=taken.passed_over,
        specs=wanted,
        period=None if period is None else month(period),
        allow_shrink=allow_shrink,
        quarantine=quarantine,
        actor=optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
    )


def month(period: object) -> str:
    """
    Return *period* if it is a month as 2026-11 is one.
    """
    if not isinstance(period, str) or not MONTH.fullmatch(period) or period.startswith("0000"):
        raise InvalidInput(f"period must be a month like 2026-11; got {shown(period)}", argument="period")
    return period


def preview_all(sending: Sending, reports: Sequence[FileReport]) -> Plan[list[Preview]]:
    """
    Return what merging each file would do now, were it the next one.
    """
    yield TOGETHER
    yield from check_all(sending.specs)
    parts = yield from parts_of(sending)
    found = []
    for report, part in zip(reports, parts, strict=True):
        reason = why_not(report, quarantine=sending.quarantine)
        if not report.sheets:
            found.append(Preview(file=report.file, reason=reason))
            continue
        file = MergedFile(0, 0, report.file, sending.period, part, sending.allow_shrink)
        would = yield from preview(file, report, sending.specs)
        found.append(
            Preview(file=report.file, reason=reason or would.reason, sheets=would.sheets, changes=would.changes)
        )
    return found
