"""
Reads: a read model for screens, fed by the outbox, and the list of which read goes where.
"""

from lastro.plans.reads import ReadBalance, ReadBet, ReadEntry, ReadStanding
from lastro.reads.model import SCHEMES, ReadModel, read_model_of
from lastro.reads.routing import ROUTES, Reads, Route

__all__ = [
    "ROUTES",
    "ReadBalance",
    "ReadBet",
    "ReadEntry",
    "ReadModel",
    "ReadStanding",
    "Reads",
    "Route",
    "SCHEMES",
    "read_model_of",
]
