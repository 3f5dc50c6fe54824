"""
What can be asked of a ledger's matching: input checked, and the plan for it. Blocking and awaiting share it.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from lastro.errors import InvalidInput
from lastro.ledger.asking import Ask, Asks, limit_within, whole_number
from lastro.matching import reading, running
from lastro.matching.limits import GROUPS_LISTED_MAX, RUNS_LISTED_MAX
from lastro.matching.spec_files import read_match_spec, ready_match_spec
from lastro.matching.specs import MatchSpec
from lastro.matching.values import MatchGroup, MatchRun
from lastro.model.account import account_name
from lastro.model.limits import ACTOR_CHARACTERS_MAX
from lastro.model.text import optional_text, shown
from lastro.plans.plan import Effect

# A spec, the path of the TOML file that holds it, or the name of a ready one.
Spec: TypeAlias = MatchSpec | Path | str

# Years whose neighbours are dates as well.
PERIOD: Final = re.compile(r"(?:19|2[0-9])[0-9]{2}-(?:0[1-9]|1[0-2])", re.ASCII)


class MatchingAsks:
    """
    The requests about matching, under the terms of one ledger.
    """

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def match(self, spec: Spec, *, period: object, account: object, actor: object) -> Ask[MatchRun]:
        """Ask to match a period."""
        plan = partial(
            running.match,
            _spec(spec),
            period=_period(period),
            account=None if account is None else account_name(account),
            actor=optional_text(actor, argument="actor", characters_max=ACTOR_CHARACTERS_MAX),
            now=self._asks.now(),
        )
        # A second run of the same finds the same, and takes the place of the first.
        return Ask(plan, Effect.KEYED)

    def run(self, run: object) -> Ask[MatchRun]:
        """Ask for one run."""
        number = whole_number(run, "run")
        return Ask(lambda: reading.get_run(number), Effect.READ)

    def runs(self, *, spec: object, period: object, before: object, limit: object) -> Ask[list[MatchRun]]:
        """Ask for a page of runs."""
        plan = partial(
            reading.runs,
            spec=optional_text(spec, argument="spec", characters_max=ACTOR_CHARACTERS_MAX),
            period=None if period is None else _period(period),
            before=None if before is None else whole_number(before, "before"),
            limit=limit_within(limit, RUNS_LISTED_MAX),
        )
        return Ask(plan, Effect.READ)

    def groups(self, run: object, *, matched: bool, after: object, limit: object) -> Ask[list[MatchGroup]]:
        """Ask for a page of what a run found."""
        plan = partial(
            reading.groups,
            whole_number(run, "run"),
            matched=matched,
            after=whole_number(after, "after"),
            limit=limit_within(limit, GROUPS_LISTED_MAX),
        )
        return Ask(plan, Effect.READ)


def _spec(spec: object) -> MatchSpec:
    if isinstance(spec, MatchSpec):
        return spec
    return read_match_spec(spec) if isinstance(spec, Path) else ready_match_spec(spec)


def _period(period: object) -> str:
    if not isinstance(period, str) or not PERIOD.fullmatch(period):
        raise InvalidInput(f"period is a month like 2026-11; got {shown(period)}", argument="period")
    return period
