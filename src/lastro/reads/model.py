"""
The read model: balances, entries and bets for screens, in a schema or a database of its own, fed by events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from lastro.engine.connecting import open_engine
from lastro.engine.settings import POOL_MAX, EngineSettings
from lastro.errors import InvalidInput, Refusal
from lastro.ledger import Ledger
from lastro.ledger.asking import Ask, limit_within, positive
from lastro.ledger.operations import Operations
from lastro.ledger.running import Walks
from lastro.model.account import WORLD, account_name, currency_code
from lastro.model.limits import ACCOUNTS_LISTED_MAX, ENTRIES_MAX
from lastro.plans import reads
from lastro.plans.plan import Effect
from lastro.plans.reads import BetEvent, ReadBalance, ReadBet, ReadEntry, ReadStanding
from lastro.plans.relaying import Outgoing
from lastro.plans.versions import check_version
from lastro.reads.understanding import Understood, entry_of, understand
from lastro.relaying.delivering import ACKNOWLEDGED, Outcome, impossible
from lastro.schema.migrate import latest, migrate_reads
from lastro.sql.catalogue import ledger_name

SCHEMA: Final = "lastro_reads"
# The folder of its migrations.
DIALECT: Final = "reads"
SHOWN: Final = 100
# As which a relay's target names a read model.
SCHEMES: Final = ("reads+postgresql", "reads+embedded")


class ReadModel(Walks):
    """
    What screens show, as far as events have come. A target of a relay, or fed by `apply` from a broker's messages.

    `url` names a PostgreSQL, the ledger's or another; `schema` is its own. Each event is applied once, by its key, however
    often it comes. Threads may share it.
    """

    failures_max: int | None = None

    def __init__(self, url: str, *, schema: str = SCHEMA, pool_max: int = POOL_MAX) -> None:
        name = ledger_name(schema)
        settings = EngineSettings(url, name, positive(pool_max, "pool_max"), lock_timeout_ms=reads.LOCK_TIMEOUT_MS)
        super().__init__(open_engine(settings), Operations(name))
        if self._engine.dialect != "postgres":
            raise InvalidInput("a read model lives in a PostgreSQL", argument="url")
        self.name = f"reads:{name}"

    def migrate(self) -> list[str]:
        """Make or bring up its tables; return what was applied."""
        applied: list[str] = self._walk(migrate_reads(self._operations.ledger), migrating=True)
        return applied

    def publish(self, events: Sequence[Outgoing], *, timeout_ms: int) -> list[Outcome]:
        """Apply events of the outbox, as a target of a relay."""
        del timeout_ms  # every wait for a lock has its limit already
        outcomes: list[Outcome] = []
        understood: list[Understood] = []
        for event in events:
            try:
                understood.append(understand(event.event_id, json.loads(event.payload), event.opened_at))
                outcomes.append(ACKNOWLEDGED)
            except Refusal as refusal:
                outcomes.append(impossible(str(refusal)))
        self._apply(understood, newest_opened_at=max((event.opened_at for event in events), default=None))
        return outcomes

    def apply(self, message: bytes | str) -> bool:
        """
        Apply one event as a broker delivered it (the envelope); return whether it changed anything. Acknowledge it then.

        Raises InvalidInput for what is no event of a ledger's.
        """
        try:
            envelope: dict[str, Any] = json.loads(message)
            opened_at = datetime.fromisoformat(envelope["opened_at"])
            event_id, payload = envelope["event_id"], dict(envelope["payload"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"this is no event of a ledger's: {error!r}", argument="message") from error
        return self._apply([understand(event_id, payload, opened_at)], newest_opened_at=opened_at) > 0

    def fill(self, ledger: Ledger) -> int:
        """
        Apply the whole history of a ledger, account by account; return how many entries were new.

        Harmless beside events that are applied meanwhile, and at any time again.
        """
        filled = 0
        for page in _pages(ledger):
            filled += self._run(_asked([entry_of(entry) for entry in page], [], 0, None))
        return filled

    def rebuild(self, ledger: Ledger) -> int:
        """Empty the entries and balances and fill them again; screens show less until it is done."""
        self._run(Ask(reads.clear, Effect.KEYED))
        return self.fill(ledger)

    def standing(self) -> ReadStanding:
        """Return how far it came. Its lag, while a relay feeds it, is the age of the outbox it is fed from."""
        return self._run(Ask(reads.standing, Effect.READ))

    def balance(self, account: str, currency: str) -> ReadBalance:
        """Return what is posted on an account, as far as events have come."""
        name, code = account_name(account), currency_code(currency)
        return self._run(Ask(lambda: reads.balance(name, code), Effect.READ))

    def entries(self, account: str, currency: str, *, before: int | None = None, limit: int = SHOWN) -> list[ReadEntry]:
        """Return up to `limit` (1 … 1,000) entries, the newest first: those before the transfer id `before`."""
        name, code, rows_max = account_name(account), currency_code(currency), limit_within(limit, ENTRIES_MAX)
        return self._run(Ask(lambda: reads.entries(name, code, before_id=before, limit=rows_max), Effect.READ))

    def open_bets(self, account: str, *, limit: int = SHOWN) -> list[ReadBet]:
        """Return up to `limit` (1 … 1,000) bets that wait for their results, the newest first."""
        return self._bets(account, open_only=True, limit=limit)

    def bets(self, account: str, *, limit: int = SHOWN) -> list[ReadBet]:
        """Return up to `limit` (1 … 1,000) bets, the newest first."""
        return self._bets(account, open_only=False, limit=limit)

    def close(self) -> None:
        """Close the connections."""
        self._engine.close()

    def _bets(self, account: str, *, open_only: bool, limit: int) -> list[ReadBet]:
        name, rows_max = account_name(account), limit_within(limit, ENTRIES_MAX)
        return self._run(Ask(lambda: reads.bets(name, open_only=open_only, limit=rows_max), Effect.READ))

    def _apply(self, understood: Sequence[Understood], *, newest_opened_at: datetime | None) -> int:
        entries = [entry for each in understood for entry in each.entries]
        bets = [each.bet for each in understood if each.bet is not None]
        return self._run(_asked(entries, bets, len(understood), newest_opened_at))

    def _check_schema(self) -> None:
        name, expected = self._operations.ledger, latest(DIALECT, self._operations.ledger)
        self._engine.run(lambda: check_version(name, expected), Effect.READ)
        self._operations.schema_checked = True


def read_model_of(url: str) -> ReadModel:
    """
    Return the read model that a relay's target names: reads+postgresql://…?schema=….
    """
    parts = urlsplit(url)
    words = dict(parse_qsl(parts.query, keep_blank_values=True))
    schema = words.pop("schema", SCHEMA)
    bare = urlunsplit(parts._replace(scheme=parts.scheme.partition("+")[2], query=urlencode(words)))
    return ReadModel(bare, schema=schema)


def _asked(entries: list[ReadEntry], bets: list[BetEvent], events: int, newest: datetime | None) -> Ask[int]:
    return Ask(
        lambda: reads.apply_entries(entries, bets, events=events, newest_opened_at=newest),
        Effect.KEYED,
    )


def _pages(ledger: Ledger) -> Iterator[list[Any]]:
    after: tuple[str, str] | None = None
    while accounts := ledger.accounts(after=after, limit=ACCOUNTS_LISTED_MAX):
        for account in accounts:
            last: int | None = None
            while account.name != WORLD and (
                page := ledger.entries(account.name, account.currency, after=last, limit=ENTRIES_MAX)
            ):
                yield page
                last = page[-1].transfer_id
        after = accounts[-1].name, accounts[-1].currency
