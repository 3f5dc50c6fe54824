"""
Matching: the lines of merged sheets against the ledger's transfers, by declared rules; the ledger is only read.
"""

from lastro.matching.spec_files import match_spec_of, read_match_spec, ready_match_spec
from lastro.matching.specs import MatchSpec
from lastro.matching.values import Item, MatchGroup, MatchRun, Outcome

__all__ = [
    "Item",
    "MatchGroup",
    "MatchRun",
    "MatchSpec",
    "Outcome",
    "match_spec_of",
    "read_match_spec",
    "ready_match_spec",
]
