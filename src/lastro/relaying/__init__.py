"""
Relaying: publishing the outbox's events to a webhook, Kafka, NATS JetStream or RabbitMQ, at least once and in order.
"""

from lastro.plans.relaying import Outgoing, RelayTerms
from lastro.relaying.choosing import choose
from lastro.relaying.delivering import ACKNOWLEDGED, Outcome, Target, envelope, impossible, rejected, unanswered
from lastro.relaying.relay import Relay, Relayed
from lastro.relaying.signing import BadSignature, verify

__all__ = [
    "ACKNOWLEDGED",
    "BadSignature",
    "Outcome",
    "Outgoing",
    "Relay",
    "RelayTerms",
    "Relayed",
    "Target",
    "choose",
    "envelope",
    "impossible",
    "rejected",
    "unanswered",
    "verify",
]
