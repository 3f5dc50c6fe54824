"""
Every limit of the ledger by name; what leaves one is refused before any SQL runs.
"""

from __future__ import annotations

KEY_CHARACTERS_MAX = 400
ACCOUNT_CHARACTERS_MAX = 340
KIND_CHARACTERS_MAX = 16
# Each is named in the trigger's condition, which a posting is compared with.
KINDS_MAX = 100
CURRENCY_CHARACTERS_MAX = 32
CAUSE_CHARACTERS_MAX = 255
SOURCE_CHARACTERS_MAX = 255
ACTOR_CHARACTERS_MAX = 255
COUNTER_CHARACTERS_MAX = 255
OWNER_CHARACTERS_MAX = 255
GROUP_CHARACTERS_MAX = 400
METADATA_BYTES_MAX = 16_384

AMOUNT_MAX = 2**63 - 1
BALANCE_MAX = 2**63 - 1
BALANCE_MIN = -(2**63)

# A posting that takes no lock can't add up its account first. Amounts up to this one may go that way: on a hot account
# the statement also wants the consolidated base within ± UNLOCKED_BASE_MAX, so that more than four million unfolded
# tail rows of the largest size would be needed to leave the 64-bit range. Larger amounts take the locked way, which
# checks exactly.
UNLOCKED_AMOUNT_MAX = 2**40
UNLOCKED_BASE_MAX = 2**62

BATCH_TRANSFERS_MAX = 10_000
# Up to so many transfers are written by one statement; more of them are copied into the history.
FEW_TRANSFERS_MAX = 50
# Callers of one batcher that wait to be posted; the next ones wait for room.
BATCHER_WAITING_MAX = 10_000
BATCHER_WAIT_MS_MAX = 1_000
CONSOLIDATION_ROWS_MAX = 5_000
CONSOLIDATION_ACCOUNTS_MAX = 1_000
CONSOLIDATION_ACCOUNT_BATCHES_MAX = 20
CONSOLIDATION_LOCK_TIMEOUT_MS = 1_000
ENTRIES_MAX = 1_000
ACCOUNTS_LISTED_MAX = 1_000
ACCOUNTS_CACHED_MAX = 100_000
HOLDS_LISTED_MAX = 1_000
# Holds of one group that are captured or released as one, in one transaction.
GROUP_HOLDS_MAX = 100
HOLDS_EXPIRED_MAX = 500
# The expirer never waits for an account's row; this bounds what else it may meet.
EXPIRY_LOCK_TIMEOUT_MS = 1_000
COUNTER_SLICES = 16
# One transaction of a closer takes so many accounts; the entries of one account are summed up in blocks of so many.
CLOSING_ACCOUNTS_MAX = 1_000
CLOSING_BLOCK_ENTRIES = 250
# Another closer that is at work is waited for so long; transactions from before a mark in one round so long.
CLOSING_LOCK_TIMEOUT_MS = 1_000
CLOSING_WAIT_MS = 2_000
# A statement waits so long for transactions that may still add to it.
STATEMENT_WAIT_MS = 1_000

# How often a posting looks again when the account changed under it (its keeping, or its funds) before it gives up.
LOOKS_MAX = 8

# A period is closed so long after its end at the earliest: what occurred less than that before it was recorded is
# written without a look at what is closed.
PERIOD_CLOSES_AFTER_MS = 60_000
PERIOD_CLOSINGS_MAX = 1_000
REASON_CHARACTERS_MAX = 255

# A page of accounts that reconciliation looks for movement in, and of those, the ones that one statement compares.
# Some milliseconds' work each: whoever waits for a processor meanwhile waits no longer than for a few postings.
RECONCILIATION_SCANNED_MAX = 5_000
RECONCILIATION_ACCOUNTS_MAX = 200
# How often a round looks whether the transactions have ended that its bound waits for; then it goes by the old bound.
RECONCILIATION_LOOKS_MAX = 20
# After a page and after a batch a round rests so many times as long as those took, where its caller says nothing else,
# so that it never takes more than a share of the server; how often at most it may be told to, and for how long at a time.
RECONCILIATION_REST_TIMES = 2
RECONCILIATION_REST_TIMES_MAX = 100
RECONCILIATION_REST_MS_MAX = 2_000
ADJUSTMENT_LOCK_TIMEOUT_MS = 1_000
INCIDENTS_LISTED_MAX = 1_000
EXPLANATION_CHARACTERS_MAX = 1_000
TOPIC_CHARACTERS_MAX = 255
ORDERING_KEY_CHARACTERS_MAX = 400
EVENT_ID_CHARACTERS_MAX = 500
EVENT_BYTES_MAX = 65_536
EVENTS_EMITTED_MAX = 10_000
EVENTS_LISTED_MAX = 1_000
OUTBOX_REASON_CHARACTERS_MAX = 500
# A queue is counted up to here; what tells how it does is its age.
OUTBOX_COUNTED_MAX = 100_000
# Events of one lane that a relay takes at a time, and keys that waited and are due.
RELAY_EVENTS_MAX = 200
RELAY_KEYS_MAX = 50
# A relay that died holds its lane for so long; what it publishes takes less, or it stops.
RELAY_LEASE_MS = 30_000
RELAY_PUBLISH_TIMEOUT_MS = 10_000
# An event that isn't taken is tried so often, after pauses that double, before it may be set aside.
RELAY_ATTEMPTS_MAX = 8
RELAY_PAUSE_MS = 1_000
RELAY_PAUSE_MAX_MS = 300_000
# A target that doesn't answer is left alone for so long at most.
RELAY_TARGET_PAUSE_MAX_MS = 30_000

LOCK_TIMEOUT_MS = 3_000
KEEPING_WAIT_MS = 30_000

PARTITION_TRANSFERS = 10_000_000
PARTITIONS_AHEAD = 2

ADOPTION_CHARACTERS_MAX = 32
COLUMN_CHARACTERS_MAX = 64
# The key of a row of an old table, its ids as text.
ROW_KEY_CHARACTERS_MAX = 240
# Rows of an old table that are imported, or written back, in one transaction; and that are compared in one look.
ADOPTION_IMPORT_ROWS_MAX = 1_000
ADOPTION_MIRROR_ROWS_MAX = 500
ADOPTION_COMPARE_ROWS_MAX = 2_000
# How often an import passes over a table in which some rows are being written each time.
ADOPTION_PASSES_MAX = 20
ADOPTION_DIFFERENCES_MAX = 1_000
ADOPTIONS_LISTED_MAX = 100
ADOPTION_EVENTS_MAX = 1_000
# A difference is looked at again after so long, and counts if nothing has moved by then.
DIFFERENCE_SETTLES_MS = 200
# A cut-over and a roll-back keep writers waiting for no longer than this before they give way, and come again.
ADOPTION_LOCK_TIMEOUT_MS = 2_000
# A cut-over whose comparison of all rows took longer just before, with nobody waiting, isn't begun.
ADOPTION_BLOCK_MS_MAX = 5_000
# A cut-over wants both sides to have been compared from end to end within this time.
ADOPTION_COMPARED_WITHIN_S = 900
MARKET_CHARACTERS_MAX = 200
SELECTION_CHARACTERS_MAX = 100
SELECTIONS_MAX = 1_000
# Odds count in thousandths: this is 10,000.000.
ODDS_THOUSANDTHS_MAX = 10_000_000
LEGS_MAX = 20
# Minor units. The return of a bet is cut to this, and no stake is larger, so that a void bet always gives all of it
# back; both lie below UNLOCKED_AMOUNT_MAX.
BET_STAKE_MAX = 1_000_000_000_000
BET_RETURN_MAX = 1_000_000_000_000
# The hold of a bet has the submission's key behind a prefix.
SUBMISSION_CHARACTERS_MAX = KEY_CHARACTERS_MAX - len("bet:")
DEAD_HEAT_MAX = 1_000
RESULT_VERSION_MAX = 2**31 - 1
EXPOSURE_SLICES = 16
PLACEMENT_TRIES_MAX = 3
PLACEMENT_PAUSE_MS = 50
BETS_SETTLED_MAX = 500
BETS_LISTED_MAX = 1_000
MARKETS_LISTED_MAX = 1_000
# Markets of one look at what is to be settled; a round takes as many looks as it needs.
MARKETS_DUE_MAX = 100
# Batches of one market in one round, so that a large one doesn't starve the others.
SETTLEMENT_MARKET_BATCHES_MAX = 20
# A bet is overdue so long after the last of its markets closes, where nothing else was said; one whose markets never
# close by themselves, so long after its placing.
SETTLEMENT_DUE_MS = 24 * 3_600_000
SETTLEMENT_DUE_OPEN_END_MS = 30 * 24 * 3_600_000
RESULT_MESSAGE_BYTES_MAX = 1_048_576
