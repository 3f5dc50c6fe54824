"""
How the rows of a sheet are matched: which of its fields say what, what a reference is in the ledger, and which transfers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeAlias, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lastro.errors import InvalidInput
from lastro.imports.columns import FIELD
from lastro.imports.limits import FIELD_CHARACTERS_MAX
from lastro.matching.limits import ACCOUNTS_MAX, FORM_CHARACTERS_MAX, KINDS_LOOKED_AT_MAX, WINDOW_DAYS_MAX
from lastro.matching.values import Window
from lastro.model.limits import ACCOUNT_CHARACTERS_MAX, KIND_CHARACTERS_MAX
from lastro.model.text import shown

By: TypeAlias = Literal["cause", "source", "key"]
Side: TypeAlias = Literal["debit", "credit"]

REFERENCE: Final = "{reference}"
ANY: Final = "*"


@dataclass(frozen=True, kw_only=True)
class MatchSpec:
    """
    How lines and transfers are matched.

    The lines are the rows of `sheet` (the spec's own name where none is given): `reference`, `amount`, `currency` and
    `date` are its fields. A transfer belongs to a reference when its `by` ("cause", "source" or "key") is the `form`
    with the reference in the place of `{reference}`.

    Looked at are the transfers of `accounts`, names or `seller:*` for all that begin so, of these `kinds` (all, where
    none are given). A line's amount is positive where money comes to the accounts' `side`: "credit" for a line of what
    they got, "debit" for one of what they gave. A line may be dated `days_before` its transfer and `days_after` it; a
    transfer's day is that of its `occurred_at` in `zone`.

    Raises `InvalidInput` for anything else.
    """

    name: str
    accounts: tuple[str, ...]
    side: Side
    sheet: str = ""
    reference: str = "reference"
    amount: str = "amount"
    currency: str = "currency"
    date: str = "date"
    by: By = "cause"
    form: str = REFERENCE
    kinds: tuple[str, ...] = ()
    days_before: int = 3
    days_after: int = 3
    zone: str = "UTC"

    def __post_init__(self) -> None:
        _field(self.name, self.name, "name")
        if self.sheet == "":
            object.__setattr__(self, "sheet", self.name)
        for setting in ("sheet", "reference", "amount", "currency", "date"):
            _field(getattr(self, setting), self.name, setting)
        for setting, words in (("by", get_args(By)), ("side", get_args(Side))):
            if getattr(self, setting) not in words:
                self.refuse(setting, f"is one of {', '.join(words)}; got {shown(getattr(self, setting))}")
        self._texts("accounts", ACCOUNTS_MAX, ACCOUNT_CHARACTERS_MAX)
        self._texts("kinds", KINDS_LOOKED_AT_MAX, KIND_CHARACTERS_MAX)
        if not self.accounts:
            self.refuse("accounts", "are the accounts whose transfers the sheet is about, like 'world' or 'seller:*'")
        if any(ANY in name.removesuffix(ANY) for name in self.accounts):
            self.refuse("accounts", "may end in *, for all that begin so; it stands nowhere else")
        self._check_form()
        for setting in ("days_before", "days_after"):
            days = getattr(self, setting)
            if isinstance(days, bool) or not isinstance(days, int) or not 0 <= days <= WINDOW_DAYS_MAX:
                self.refuse(setting, f"are a whole number of 0 … {WINDOW_DAYS_MAX}; got {shown(days)}")
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
            self.refuse("zone", f"names no time zone: {shown(self.zone)}")

    @property
    def window(self) -> Window:
        """How far a line's date may be from its transfer's."""
        return Window(self.days_before, self.days_after)

    @property
    def affixes(self) -> tuple[str, str]:
        """What stands before a reference and behind it, in the ledger."""
        before, _, behind = self.form.partition(REFERENCE)
        return before, behind

    def refuse(self, setting: str, why: str) -> NoReturn:
        """Raise InvalidInput that names the spec's setting."""
        raise InvalidInput(f"match spec {shown(self.name)}: {setting} {why}", argument=f"{self.name}.{setting}")

    def _texts(self, setting: str, most: int, characters_max: int) -> None:
        given = getattr(self, setting)
        good = isinstance(given, tuple) and len(given) <= most
        if not good or not all(isinstance(text, str) and 0 < len(text) <= characters_max for text in given):
            self.refuse(setting, f"are up to {most} texts of 1 … {characters_max} characters")

    def _check_form(self) -> None:
        good = isinstance(self.form, str) and len(self.form) <= FORM_CHARACTERS_MAX
        if not good or self.form.count(REFERENCE) != 1:
            self.refuse("form", f"holds {REFERENCE} once, like 'order:{REFERENCE}'; got {shown(self.form)}")


def _field(given: Any, name: object, setting: str) -> None:
    if not isinstance(given, str) or not FIELD.fullmatch(given) or len(given) > FIELD_CHARACTERS_MAX:
        raise InvalidInput(
            f"match spec {shown(name)}: {setting} is a name of small letters, digits and _; got {shown(given)}",
            argument=f"{setting}",
        )
