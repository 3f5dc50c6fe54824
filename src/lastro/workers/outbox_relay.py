"""
The relay as a worker: every 500 ms it publishes what waits in the outbox, and again at once while more is waiting.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from lastro import config
from lastro.errors import InvalidInput
from lastro.ledger import Ledger
from lastro.reads import SCHEMES, read_model_of
from lastro.relaying import Relay, RelayTerms, Target, choose
from lastro.workers.loop import Facts

INTERVAL_MS: Final = 500
JITTER: Final = 0.1
AFTER_SET_ASIDE: Final = {"wait": False, "go_on": True}

_log = logging.getLogger("lastro.workers")


class OutboxRelay:
    """
    One round a tick, to the target that the environment names. Several at once share the work, lane by lane.

    Once *stopping* says so, what is on its way is the round's last.
    """

    name = "relay"
    interval_ms = INTERVAL_MS
    jitter = JITTER

    def __init__(
        self, ledger: Ledger, *, target: Target | None = None, stopping: Callable[[], bool] = lambda: False
    ) -> None:
        # Before the target, which is opened and would stay so.
        terms = _terms()
        self._relay = Relay(ledger, target or _target(), terms=terms, stopping=stopping)
        self._said: str | None = None

    def run_once(self) -> Facts:
        """Run one round."""
        done = self._relay.run_once()
        if done.left_alone != self._said:
            # Said when it changes: a target that is away for an hour would fill the log.
            _log.warning("relay: the target %s", f"is left alone: {done.left_alone}" if done.left_alone else "goes on")
            self._said = done.left_alone
        figures = {
            "published": done.published,
            "failed": done.failed,
            "set_aside": done.set_aside,
            "lost": done.lost,
            "left_alone": int(done.left_alone is not None),
        }
        return Facts(figures, more=done.more)

    def close(self) -> None:
        """Let go of the connections."""
        self._relay.close()


def _target() -> Target:
    urls = config.relay_targets()
    if not urls:
        raise InvalidInput(
            f"the relay has nowhere to publish to: set {config.RELAY_TARGET_VARIABLE} to https://…, kafka://…, nats://… "
            "or amqp://…",
            argument=config.RELAY_TARGET_VARIABLE,
        )
    return choose(urls, secrets=config.relay_secrets(), others=dict.fromkeys(SCHEMES, read_model_of))


def _terms() -> RelayTerms:
    said = config.relay_after_set_aside()
    if said not in AFTER_SET_ASIDE:
        raise InvalidInput(
            f"{config.RELAY_AFTER_SET_ASIDE_VARIABLE} is one of {', '.join(AFTER_SET_ASIDE)}; got {said!r}",
            argument=config.RELAY_AFTER_SET_ASIDE_VARIABLE,
        )
    return RelayTerms(others_go_on=AFTER_SET_ASIDE[said])
