-- 0001 core: accounts and their base rows, the history with its keys, the tail, reversals, counters.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on
--
-- Tables are STRICT: a column holds what its type says or the statement fails, where SQLite would otherwise keep
-- whatever it is given. What overflows 64 bits becomes a REAL in SQLite, and a REAL doesn't go into an INTEGER column.
-- Text compares bytewise (BINARY, the default). Moments are whole microseconds since 1970 in UTC; the views show text.

CREATE TABLE lastro_account (
    id integer PRIMARY KEY,
    name text NOT NULL,
    currency text NOT NULL,
    opened_at integer NOT NULL,
    closed_at integer,
    metadata text,
    CONSTRAINT account_name_and_currency_once UNIQUE (name, currency),
    CONSTRAINT account_name_length CHECK (length(name) BETWEEN 1 AND 340),
    CONSTRAINT account_currency_length CHECK (length(currency) BETWEEN 1 AND 32),
    CONSTRAINT account_closed_after_opened CHECK (closed_at >= opened_at),
    CONSTRAINT account_metadata_is_json CHECK (metadata IS NULL OR json_valid(metadata))
) STRICT;

-- The one row of an account that changes: its terms (keeping, state, floor) and its consolidated amount.
CREATE TABLE lastro_base (
    account_id integer PRIMARY KEY,
    keeping text NOT NULL,
    state text NOT NULL DEFAULT 'open',
    floor integer,
    amount integer NOT NULL DEFAULT 0,
    held integer NOT NULL DEFAULT 0,
    payments integer NOT NULL DEFAULT 0,
    turns integer NOT NULL DEFAULT 0,
    changed_at integer NOT NULL,
    CONSTRAINT base_keeping_known CHECK (keeping IN ('direct', 'hot', 'summed')),
    CONSTRAINT base_state_known CHECK (state IN ('open', 'turning', 'closed')),
    CONSTRAINT base_held_not_negative CHECK (held >= 0),
    CONSTRAINT base_payments_not_negative CHECK (payments >= 0)
) STRICT;

-- History. One table, for SQLite has no partitions, and so its key can be unique right here, where PostgreSQL needs a
-- table of keys. Ids are given out in the order of the commits, since one transaction writes at a time.
CREATE TABLE lastro_transfer (
    id integer PRIMARY KEY,
    debit_id integer NOT NULL,
    credit_id integer NOT NULL,
    amount integer NOT NULL,
    debit_before integer,
    debit_after integer,
    credit_before integer,
    credit_after integer,
    occurred_at integer NOT NULL,
    recorded_at integer NOT NULL,
    key text NOT NULL,
    kind text NOT NULL,
    cause text,
    reverses text,
    source text,
    actor text,
    metadata text,
    CONSTRAINT transfer_key_once UNIQUE (key),
    CONSTRAINT transfer_amount_positive CHECK (amount > 0),
    CONSTRAINT transfer_between_two_accounts CHECK (debit_id <> credit_id),
    CONSTRAINT transfer_adds_up CHECK (
        coalesce(debit_before - debit_after = amount, debit_before IS NULL AND debit_after IS NULL)
        AND coalesce(credit_after - credit_before = amount, credit_before IS NULL AND credit_after IS NULL)
    ),
    CONSTRAINT transfer_key_length CHECK (length(key) BETWEEN 1 AND 400),
    CONSTRAINT transfer_kind_length CHECK (length(kind) BETWEEN 1 AND 16),
    CONSTRAINT transfer_texts_length CHECK (
        coalesce(length(cause), 1) <= 255 AND coalesce(length(reverses), 1) <= 400
        AND coalesce(length(source), 1) <= 255 AND coalesce(length(actor), 1) <= 255
    ),
    CONSTRAINT transfer_metadata_is_json CHECK (metadata IS NULL OR json_valid(metadata))
) STRICT;
CREATE INDEX lastro_transfer_debit ON lastro_transfer (debit_id);
CREATE INDEX lastro_transfer_credit ON lastro_transfer (credit_id);
CREATE INDEX lastro_transfer_cause ON lastro_transfer (cause) WHERE cause IS NOT NULL;

-- Entries not yet in the base amount of their account, drained by the consolidator.
CREATE TABLE lastro_tail (
    account_id integer NOT NULL,
    transfer_id integer NOT NULL,
    amount integer NOT NULL,
    CONSTRAINT tail_once PRIMARY KEY (account_id, transfer_id)
) STRICT, WITHOUT ROWID;

-- What was reversed of a transfer, as a chain: each row starts where the one before it ended, so the key lets exactly
-- one of two rivals reverse the same part, and the CHECK keeps the sum within the original.
CREATE TABLE lastro_reversal (
    original_id integer NOT NULL,
    already integer NOT NULL,
    amount integer NOT NULL,
    original_amount integer NOT NULL,
    transfer_id integer NOT NULL,
    CONSTRAINT reversal_part_once PRIMARY KEY (original_id, already),
    CONSTRAINT reversal_amount_positive CHECK (amount > 0),
    CONSTRAINT reversal_already_not_negative CHECK (already >= 0),
    CONSTRAINT reversal_within_original CHECK (already <= original_amount - amount)
) STRICT, WITHOUT ROWID;

CREATE TABLE lastro_counter (
    name text NOT NULL,
    slice integer NOT NULL,
    value integer NOT NULL,
    CONSTRAINT counter_slice_once PRIMARY KEY (name, slice),
    CONSTRAINT counter_name_length CHECK (length(name) BETWEEN 1 AND 255)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER lastro_transfer_not_updated BEFORE UPDATE ON lastro_transfer
BEGIN
    SELECT raise(ABORT, 'transfer is append-only: UPDATE refused; post a new transfer that explains the mistake');
END;
CREATE TRIGGER lastro_transfer_not_deleted BEFORE DELETE ON lastro_transfer
BEGIN
    SELECT raise(ABORT, 'transfer is append-only: DELETE refused; post a new transfer that explains the mistake');
END;
-- REPLACE deletes without asking the trigger above. Whoever inserts what is there already, by id or by key, and hasn't
-- asked for ON CONFLICT DO NOTHING, meets this one; the ledger itself looks for the key in the same statement.
CREATE TRIGGER lastro_transfer_not_replaced BEFORE INSERT ON lastro_transfer
WHEN EXISTS (SELECT 1 FROM lastro_transfer AS kept WHERE kept.id = new.id OR kept.key = new.key)
BEGIN
    SELECT raise(ABORT, 'transfer is append-only: REPLACE refused; its id or its key is there already');
END;
CREATE TRIGGER lastro_reversal_not_updated BEFORE UPDATE ON lastro_reversal
BEGIN
    SELECT raise(ABORT, 'reversal is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_reversal_not_deleted BEFORE DELETE ON lastro_reversal
BEGIN
    SELECT raise(ABORT, 'reversal is append-only: DELETE refused');
END;
-- Accounts are closed, never deleted: an entry whose account is gone would be money nobody holds.
CREATE TRIGGER lastro_account_not_deleted BEFORE DELETE ON lastro_account
BEGIN
    SELECT raise(ABORT, 'account is append-only: DELETE refused; close the account');
END;
CREATE TRIGGER lastro_base_not_deleted BEFORE DELETE ON lastro_base
BEGIN
    SELECT raise(ABORT, 'base is append-only: DELETE refused; close the account');
END;

-- A key and its transfer, under the name that they have in the other stores.
CREATE VIEW lastro_transfer_key AS
SELECT
    transfer.key,
    transfer.id AS transfer_id,
    transfer.debit_id
FROM lastro_transfer AS transfer;

CREATE VIEW lastro_entry AS
SELECT
    side.transfer_id,
    account.name AS account,
    account.currency,
    side.side,
    side.kind,
    side.amount,
    side.balance_before,
    side.balance_after,
    counter.name AS counter_account,
    side.key,
    side.cause,
    side.reverses,
    side.source,
    side.actor,
    strftime('%Y-%m-%dT%H:%M:%S', side.occurred_at / 1000000 - (side.occurred_at % 1000000 < 0), 'unixepoch')
    || printf('.%06dZ', (side.occurred_at % 1000000 + 1000000) % 1000000) AS occurred_at,
    strftime('%Y-%m-%dT%H:%M:%S', side.recorded_at / 1000000 - (side.recorded_at % 1000000 < 0), 'unixepoch')
    || printf('.%06dZ', (side.recorded_at % 1000000 + 1000000) % 1000000) AS recorded_at,
    side.metadata,
    side.account_id
FROM (
    SELECT
        id AS transfer_id, debit_id AS account_id, credit_id AS counter_id, 'debit' AS side, kind, amount,
        debit_before AS balance_before, debit_after AS balance_after, key, cause, reverses, source, actor,
        occurred_at, recorded_at, metadata
    FROM lastro_transfer
    UNION ALL
    SELECT
        id AS transfer_id, credit_id AS account_id, debit_id AS counter_id, 'credit' AS side, kind, amount,
        credit_before AS balance_before, credit_after AS balance_after, key, cause, reverses, source, actor,
        occurred_at, recorded_at, metadata
    FROM lastro_transfer
) AS side
INNER JOIN lastro_account AS account ON side.account_id = account.id
INNER JOIN lastro_account AS counter ON side.counter_id = counter.id;

-- Sums go in two halves of 32 bits, put together at the end: sum() fails where a partial sum leaves 64 bits, however
-- small the whole is, and + turns into a REAL.
CREATE VIEW lastro_balance AS
SELECT
    weighed.account,
    weighed.currency,
    weighed.keeping,
    weighed.state,
    weighed.floor,
    weighed.posted,
    weighed.held,
    weighed.posted - weighed.held AS available,
    weighed.account_id
FROM (
    SELECT
        account.name AS account,
        account.currency,
        base.keeping,
        base.state,
        base.floor,
        base.amount + CASE base.keeping
            WHEN 'direct' THEN 0
            WHEN 'hot' THEN coalesce((
                SELECT
                    (sum(tail.amount >> 32) + (sum(tail.amount & 4294967295) >> 32)) * 4294967296
                    + (sum(tail.amount & 4294967295) & 4294967295)
                FROM lastro_tail AS tail
                WHERE tail.account_id = base.account_id
            ), 0)
            ELSE coalesce((
                SELECT
                    (sum(side.amount >> 32) + (sum(side.amount & 4294967295) >> 32)) * 4294967296
                    + (sum(side.amount & 4294967295) & 4294967295)
                FROM (
                    SELECT credit.amount FROM lastro_transfer AS credit WHERE credit.credit_id = base.account_id
                    UNION ALL
                    SELECT -debit.amount FROM lastro_transfer AS debit WHERE debit.debit_id = base.account_id
                ) AS side
            ), 0)
        END AS posted,
        base.held,
        account.id AS account_id
    FROM lastro_account AS account
    INNER JOIN lastro_base AS base ON account.id = base.account_id
) AS weighed;

-- The columns of a classic points ledger, one row a movement.
CREATE VIEW lastro_movement AS
SELECT
    transfer.id AS position,
    transfer.key AS movement_key,
    transfer.kind,
    debit.currency,
    debit.name AS debit,
    credit.name AS credit,
    transfer.amount,
    strftime('%Y-%m-%dT%H:%M:%S', transfer.occurred_at / 1000000 - (transfer.occurred_at % 1000000 < 0), 'unixepoch')
    || printf('.%06dZ', (transfer.occurred_at % 1000000 + 1000000) % 1000000) AS occurred_at,
    strftime('%Y-%m-%dT%H:%M:%S', transfer.recorded_at / 1000000 - (transfer.recorded_at % 1000000 < 0), 'unixepoch')
    || printf('.%06dZ', (transfer.recorded_at % 1000000 + 1000000) % 1000000) AS recorded_at,
    transfer.cause,
    transfer.reverses
FROM lastro_transfer AS transfer
INNER JOIN lastro_account AS debit ON transfer.debit_id = debit.id
INNER JOIN lastro_account AS credit ON transfer.credit_id = credit.id;
