"""Every error that Lastro raises: refusals (same answer again), faults (a retry may help), and their codes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

__all__ = [
    "AccountBarred", "AccountClosed", "AccountConflict", "AccountNotEmpty", "ActivityConflict", "AdoptionConflict",
    "AdoptionNotReady", "AlreadyReversed", "AmountOutOfRange", "BetConflict", "BetInProgress", "CapExceeded",
    "ConnectionLost", "CurrencyMismatch", "EventConflict", "Fault", "HistoryRetired", "HoldClosed", "HoldConflict",
    "HoldExceeded", "ImportRefused", "IncidentExplained", "InsufficientFunds", "InvalidInput", "KindConflict",
    "KindNotAllowed", "LastroError", "LiabilityExceeded", "LockTimeout", "MarketClosed", "MarketConflict",
    "NotInTransaction", "OddsChanged", "OutcomeUnknown", "PeriodClosed", "PeriodConflict", "Refusal", "ResultConflict",
    "RuleConflict", "SchemaOutdated", "SerializationLost", "ServerUnavailable", "StakeOutOfRange", "TransferConflict",
    "UnknownAccount", "UnknownActivity", "UnknownAdoption", "UnknownBet", "UnknownEvent", "UnknownHold",
    "UnknownImport", "UnknownIncident", "UnknownMarket", "UnknownMember", "UnknownRule", "UnknownTransfer",
    "UnreadableRow",
]  # fmt: skip


class LastroError(Exception):
    """
    The root of every error of this library.

    `code` is the same word in Python, HTTP, the terminal and the metrics. `details` carries the numbers and names the
    message speaks of (amounts in minor units), each also readable as an attribute: `error.needed`, `error.fields`.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details

    def __getattr__(self, name: str) -> Any:
        # Only reached when the attribute isn't set otherwise; __dict__ keeps this free of recursion while unpickling.
        try:
            return self.__dict__["details"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no detail {name!r}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross process borders in worker pools; the default pickling drops keyword arguments.
        return _rebuild, (type(self), str(self), self.details)


def _rebuild(kind: type[LastroError], message: str, details: dict[str, Any]) -> LastroError:
    return kind(message, **details)


class Refusal(LastroError):
    """
    The answer to the request as it stands is no, and will be no again: nothing was written, and no key was used up.
    """

    code = "refused"


class Fault(LastroError):
    """
    The work could not be done this time; the same call with the same key may be tried again.

    `committed` says what is known of the transaction: "no" (nothing was stored) or "unknown" (a COMMIT was sent and no
    answer came; the same call with the same key finds out).
    """

    code = "fault"
    committed: Literal["no", "unknown"] = "no"


class InvalidInput(Refusal, ValueError):
    """An argument is not what it must be: a float for an amount, an empty key, a datetime without a time zone."""

    code = "invalid_input"


class AmountOutOfRange(InvalidInput):
    """An amount outside 1 … 2^63−1 minor units, or a balance that would leave the 64-bit range."""

    code = "amount_out_of_range"


class InsufficientFunds(Refusal):
    """The debit would take the account below its floor. Details: `needed`, `available`, `floor`, `account`, `currency`."""

    code = "insufficient_funds"


class TransferConflict(Refusal):
    """The key already names a transfer of other content. Details: `key`, `fields` (name → (stored, given))."""

    code = "transfer_conflict"


class UnknownAccount(Refusal):
    """No account of that name and currency was opened in this ledger. Details: `account`, `currency`."""

    code = "unknown_account"


class AccountClosed(Refusal):
    """The account was closed and takes no transfers. Details: `account`, `currency`, `closed_at`."""

    code = "account_closed"


class AccountConflict(Refusal):
    """The account exists with other terms than the ones asked for. Details: `account`, `currency`, `fields`."""

    code = "account_conflict"


class AccountNotEmpty(Refusal):
    """An account is closed only at a posted balance of zero and without a hold. Details: `posted`, `held`."""

    code = "account_not_empty"


class CurrencyMismatch(Refusal):
    """An account of that name exists, in other currencies only. Details: `account`, `currency`, `currencies`."""

    code = "currency_mismatch"


class KindNotAllowed(Refusal):
    """The kind of transfer may not stand between these accounts, or not undo that kind. Details: `kind`."""

    code = "kind_not_allowed"


class KindConflict(Refusal):
    """The kind is registered on other terms, and transfers stand under it. Details: `kind`, `fields`."""

    code = "kind_conflict"


class CapExceeded(Refusal):
    """A cap leaves no room for what was asked. Details: `cap`, `used`, `asked`."""

    code = "cap_exceeded"


class PeriodClosed(Refusal):
    """The books are closed for the moment at which the transfer occurred. Details: `occurred_at`, `closed_until`."""

    code = "period_closed"


class PeriodConflict(Refusal):
    """The key already names another reopening of the books. Details: `key`, `fields` (name → (stored, given))."""

    code = "period_conflict"


class ActivityConflict(Refusal):
    """The key already names an activity of other content. Details: `key`, `fields` (name → (stored, given))."""

    code = "activity_conflict"


class UnknownActivity(Refusal):
    """No activity has this key in this ledger. Details: `key`."""

    code = "unknown_activity"


class RuleConflict(Refusal):
    """An earning rule can't be changed in this way, or was changed while it was at work. Details: `rule`, `fields`."""

    code = "rule_conflict"


class UnknownRule(Refusal):
    """No earning rule has this name in this ledger. Details: `rule`."""

    code = "unknown_rule"


class UnknownTransfer(Refusal):
    """No transfer has this key in this ledger. Details: `key`."""

    code = "unknown_transfer"


class AlreadyReversed(Refusal):
    """The transfer has been reversed, wholly or by more than what is left. Details: `key`, `left`."""

    code = "already_reversed"


class UnknownHold(Refusal):
    """No hold has this key in this ledger. Details: `key`."""

    code = "unknown_hold"


class UnknownEvent(Refusal):
    """No event with this id waits in the outbox or was set aside. Details: `event_id`."""

    code = "unknown_event"


class EventConflict(Refusal):
    """An event of other content waits under this id. Details: `event_id`, `fields` (name → (stored, given))."""

    code = "event_conflict"


class UnknownMember(Refusal):
    """No member is called so: it never had any points, or was erased. Details: `member`."""

    code = "unknown_member"


class HoldClosed(Refusal):
    """The hold is at its end. Details: `key`, `state` (captured, released, expired), `ended_at`, `expired_at`, `captured_by`."""

    code = "hold_closed"


class HoldConflict(Refusal):
    """The key already names another hold, or another release. Details: `key`, `fields` (name → (stored, given))."""

    code = "hold_conflict"


class HoldExceeded(Refusal):
    """More was asked of the hold than is left in it, or than may be captured in all. Details: `key`, `needed`, `left`."""

    code = "hold_exceeded"


class HistoryRetired(Refusal):
    """Entries that the answer needs were retired with their partition. Details: `account`, `currency`."""

    code = "history_retired"


class UnknownIncident(Refusal):
    """No incident has this number in this ledger. Details: `incident`."""

    code = "unknown_incident"


class IncidentExplained(Refusal):
    """The incident was explained already, in other words. Details: `incident`, `explanation`, `explained_by`."""

    code = "incident_explained"


class UnknownAdoption(Refusal):
    """No adoption has this name in this ledger. Details: `adoption`."""

    code = "unknown_adoption"


class AdoptionConflict(Refusal):
    """The adoption was begun with another declaration. Details: `adoption`, `fields` (name → (stored, given))."""

    code = "adoption_conflict"


class AdoptionNotReady(Refusal):
    """A step of an adoption comes too early, or something stands in its way. Details: `adoption`, `phase`, `step`."""

    code = "adoption_not_ready"


class ImportRefused(Refusal):
    """A file can't be merged as it is: a key twice, or too many rows lacking. Details: `file`, `sheet`."""

    code = "import_refused"


class UnknownImport(Refusal):
    """No file that was sent to be merged has this number in this ledger. Details: `file_id`."""

    code = "unknown_import"


class AccountBarred(Refusal):
    """An account may not bet. Details: `account`."""

    code = "account_barred"


class BetConflict(Refusal):
    """The submission's key was used for another bet. Details: `key`, `fields` (name → (stored, given))."""

    code = "bet_conflict"


class LiabilityExceeded(Refusal):
    """With this bet the market would owe more than its limit. Details: `market`, `selection`, `limit`, `liability`."""

    code = "liability_exceeded"


class MarketClosed(Refusal):
    """The market takes no bets now, or can't be changed so. Details: `market`, `state`, `closes_at`."""

    code = "market_closed"


class MarketConflict(Refusal):
    """The market is there on other terms. Details: `market`, `fields` (name → (stored, given))."""

    code = "market_conflict"


class OddsChanged(Refusal):
    """The odds on offer are lower than asked, by more than the tolerance. Details: `asked`, `offered`."""

    code = "odds_changed"


class ResultConflict(Refusal):
    """A market's result of this version is there with other content. Details: `market`, `version`, `fields`."""

    code = "result_conflict"


class StakeOutOfRange(Refusal):
    """The stake is outside what the market takes. Details: `market`, `stake_min`, `stake_max`."""

    code = "stake_out_of_range"


class UnknownBet(Refusal):
    """No bet has this key in this ledger. Details: `key`."""

    code = "unknown_bet"


class UnknownMarket(Refusal):
    """No market, or no selection of it, has this name. Details: `market`, `selection`."""

    code = "unknown_market"


class SchemaOutdated(Refusal):
    """The ledger's tables are missing, or of a version this code can't serve. Details: `found`, `expected`."""

    code = "schema_outdated"


class NotInTransaction(Refusal):
    """The connection handed over is not in a transaction that could still be committed."""

    code = "not_in_transaction"


class UnreadableRow(Refusal):
    """A stored row can't be read as what it should be; it is never read as something else. Details: `column`."""

    code = "unreadable_row"


class LockTimeout(Fault):
    """A row lock was not granted within the limit. It says nothing about funds; retry with the same key."""

    code = "lock_timeout"


class SerializationLost(Fault):
    """The transaction met a concurrent one it can't be ordered with (40001, 40P01): retry the whole transaction."""

    code = "serialization_lost"


class KeyRaceLost(Fault):
    """Another transaction wrote the same key at the same moment, on a store whose INSERT can't give way: call again."""

    code = "key_race_lost"


class BetInProgress(Fault):
    """The same submission is being placed at this moment; the same call finds its answer. Details: `key`."""

    code = "bet_in_progress"


class ConnectionLost(Fault):
    """The database could not be reached, or the connection broke before a COMMIT was sent: nothing was stored."""

    code = "connection_lost"


class ServerUnavailable(Fault):
    """The database answers but can't do the work now: shutting down, out of disk, too many connections."""

    code = "server_unavailable"


class OutcomeUnknown(Fault):
    """A COMMIT was sent and no answer came. The same call with the same key tells, and does no harm."""

    code = "outcome_unknown"
    committed = "unknown"
