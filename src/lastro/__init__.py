"""
Lastro: a money ledger for hot accounts that lives in the database you already run.
"""

from lastro.batching import AsyncBatcher, Batcher
from lastro.connecting import connect, connect_async
from lastro.embedded import EmbeddedServerError
from lastro.errors import (
    AccountClosed,
    AccountConflict,
    AccountNotEmpty,
    AlreadyReversed,
    AmountOutOfRange,
    CapExceeded,
    ConnectionLost,
    CurrencyMismatch,
    Fault,
    HoldClosed,
    InsufficientFunds,
    InvalidInput,
    KindConflict,
    KindNotAllowed,
    LastroError,
    LockTimeout,
    NotInTransaction,
    OutcomeUnknown,
    PeriodClosed,
    PeriodConflict,
    Refusal,
    SchemaOutdated,
    SerializationLost,
    ServerUnavailable,
    TransferConflict,
    UnknownAccount,
    UnknownHold,
    UnknownTransfer,
    UnreadableRow,
)
from lastro.ledger import AsyncHeldLedger, AsyncLedger, HeldLedger, Ledger
from lastro.model.account import Account, Balance, Keeping
from lastro.model.allocation import allocate, proportion
from lastro.model.closing import PeriodClosing
from lastro.model.kind import PREPAID, Kind
from lastro.model.money import Money
from lastro.model.transfer import Entry, Posted, Transfer

__all__ = [
    "Account",
    "AccountClosed",
    "AccountConflict",
    "AccountNotEmpty",
    "AlreadyReversed",
    "AmountOutOfRange",
    "AsyncBatcher",
    "AsyncHeldLedger",
    "AsyncLedger",
    "Balance",
    "Batcher",
    "CapExceeded",
    "ConnectionLost",
    "CurrencyMismatch",
    "EmbeddedServerError",
    "Entry",
    "Fault",
    "HeldLedger",
    "HoldClosed",
    "InsufficientFunds",
    "InvalidInput",
    "Keeping",
    "Kind",
    "KindConflict",
    "KindNotAllowed",
    "LastroError",
    "Ledger",
    "LockTimeout",
    "Money",
    "NotInTransaction",
    "OutcomeUnknown",
    "PREPAID",
    "PeriodClosed",
    "PeriodClosing",
    "PeriodConflict",
    "Posted",
    "Refusal",
    "SchemaOutdated",
    "SerializationLost",
    "ServerUnavailable",
    "Transfer",
    "TransferConflict",
    "UnknownAccount",
    "UnknownHold",
    "UnknownTransfer",
    "UnreadableRow",
    "allocate",
    "connect",
    "connect_async",
    "proportion",
]
