"""
Every limit of matching by name.
"""

from __future__ import annotations

from typing import Final

# Sums that the search for items that add up looks at in all, for one reference. Fifteen items have 2^15 of them at most.
SUMS_MAX: Final = 50_000
# Items that are read and judged in one go; all of one reference belong together, so it can't have more.
PAGE_ITEMS: Final = 10_000
WINDOW_DAYS_MAX: Final = 366
ACCOUNTS_MAX: Final = 100
KINDS_LOOKED_AT_MAX: Final = 100
FORM_CHARACTERS_MAX: Final = 100
SPEC_BYTES_MAX: Final = 2**20
GROUPS_LISTED_MAX: Final = 1_000
RUNS_LISTED_MAX: Final = 1_000
