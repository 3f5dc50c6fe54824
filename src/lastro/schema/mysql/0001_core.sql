-- 0001 core: accounts and their base rows, the history with its keys, the tail, reversals, counters.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on
--
-- Names and keys are VARBINARY, holding UTF-8: they compare byte by byte on every server and in every connection. The
-- text collations fold case and accents, and even their binary ones take 'abc' and 'abc ' for one key. Moments are
-- DATETIME(6) in UTC, which no session's time zone touches. DDL commits by itself here, so that a migration that broke
-- off is run again: each statement does no harm the second time.

CREATE TABLE IF NOT EXISTS lastro.account (
    id bigint NOT NULL,
    name varbinary(1360) NOT NULL,
    currency varbinary(128) NOT NULL,
    opened_at DATETIME(6) NOT NULL,
    closed_at DATETIME(6),
    metadata text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    PRIMARY KEY (id),
    UNIQUE KEY account_name_and_currency_once (name, currency),
    CONSTRAINT account_name_length CHECK (char_length(CONVERT(name USING utf8mb4)) BETWEEN 1 AND 340),
    CONSTRAINT account_currency_length CHECK (char_length(CONVERT(currency USING utf8mb4)) BETWEEN 1 AND 32),
    CONSTRAINT account_closed_after_opened CHECK (closed_at >= opened_at),
    CONSTRAINT account_metadata_is_json CHECK (json_valid(metadata))
) ENGINE = InnoDB COMMENT
'Who holds a balance. Ids are drawn at random: one that a failover lost never comes back as another account.';

-- The one row of an account that postings lock. Terms that may change (keeping, state, floor) live here and not on
-- `account`, because whoever waited for this lock then reads the row's newest version. No secondary index.
CREATE TABLE IF NOT EXISTS lastro.base (
    account_id bigint NOT NULL,
    keeping varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'open',
    floor bigint,
    amount bigint NOT NULL DEFAULT 0 COMMENT
    'Consolidated minor units. direct: the balance; hot: without the tail; summed: carried over.',
    held bigint NOT NULL DEFAULT 0,
    payments bigint NOT NULL DEFAULT 0,
    turns bigint NOT NULL DEFAULT 0 COMMENT
    'How often the account was turned: whoever waited through one turning must not end another.',
    changed_at DATETIME(6) NOT NULL,
    PRIMARY KEY (account_id),
    CONSTRAINT base_keeping_known CHECK (keeping IN ('direct', 'hot', 'summed')),
    CONSTRAINT base_state_known CHECK (state IN ('open', 'turning', 'closed')),
    CONSTRAINT base_held_not_negative CHECK (held >= 0),
    CONSTRAINT base_payments_not_negative CHECK (payments >= 0)
) ENGINE = InnoDB;

-- History: one table, clustered by the debit side, whose history it serves; the credit side's index carries the amount,
-- so that a sum reads the index alone. No foreign key to anything hot (a check of one would share-lock the hot row for
-- every insert).
CREATE TABLE IF NOT EXISTS lastro.transfer (
    id bigint NOT NULL,
    debit_id bigint NOT NULL,
    credit_id bigint NOT NULL,
    amount bigint NOT NULL,
    debit_before bigint,
    debit_after bigint,
    credit_before bigint,
    credit_after bigint,
    occurred_at DATETIME(6) NOT NULL,
    recorded_at DATETIME(6) NOT NULL,
    `key` varbinary(1600) NOT NULL,
    kind varbinary(64) NOT NULL,
    cause varbinary(1020),
    reverses varbinary(1600),
    source varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    actor varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    metadata text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    PRIMARY KEY (debit_id, id),
    KEY transfer_credit (credit_id, id, amount),
    KEY transfer_cause (cause),
    KEY transfer_kind_and_occurred_at (kind, occurred_at),
    CONSTRAINT transfer_amount_positive CHECK (amount > 0),
    CONSTRAINT transfer_between_two_accounts CHECK (debit_id <> credit_id),
    CONSTRAINT transfer_adds_up CHECK (
        coalesce(debit_before - debit_after = amount, debit_before IS NULL AND debit_after IS NULL)
        AND coalesce(credit_after - credit_before = amount, credit_before IS NULL AND credit_after IS NULL)
    ),
    CONSTRAINT transfer_metadata_is_json CHECK (json_valid(metadata))
) ENGINE = InnoDB;

-- The referee of once-only, and where the ids of transfers come from. A row without an account (debit_id < 0) is a
-- placeholder that the transaction which wrote it takes back before it ends: it draws ids, or asks for a key.
CREATE TABLE IF NOT EXISTS lastro.transfer_key (
    transfer_id bigint NOT NULL AUTO_INCREMENT,
    `key` varbinary(1600),
    debit_id bigint NOT NULL,
    PRIMARY KEY (transfer_id),
    UNIQUE KEY transfer_key_once (`key`),
    CONSTRAINT transfer_key_named CHECK (`key` IS NOT NULL OR debit_id < 0),
    CONSTRAINT transfer_key_length CHECK (char_length(CONVERT(`key` USING utf8mb4)) BETWEEN 1 AND 400)
) ENGINE = InnoDB;

-- Entries not yet in the base amount of their account: a live table, drained by the consolidator.
CREATE TABLE IF NOT EXISTS lastro.tail (
    account_id bigint NOT NULL,
    transfer_id bigint NOT NULL,
    amount bigint NOT NULL,
    PRIMARY KEY (account_id, transfer_id)
) ENGINE = InnoDB;

-- What was reversed of a transfer, as a chain: each row starts where the one before it ended, so the unique index lets
-- exactly one of two rivals reverse the same part, and the CHECK keeps the sum within the original.
CREATE TABLE IF NOT EXISTS lastro.reversal (
    original_id bigint NOT NULL,
    already bigint NOT NULL,
    amount bigint NOT NULL,
    original_amount bigint NOT NULL,
    transfer_id bigint NOT NULL,
    PRIMARY KEY (original_id, already),
    CONSTRAINT reversal_amount_positive CHECK (amount > 0),
    CONSTRAINT reversal_already_not_negative CHECK (already >= 0),
    CONSTRAINT reversal_within_original CHECK (already <= original_amount - amount)
) ENGINE = InnoDB;

-- Counters in slices: writers of different slices never wait for each other.
CREATE TABLE IF NOT EXISTS lastro.counter (
    name varbinary(1020) NOT NULL,
    slice smallint NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (name, slice),
    CONSTRAINT counter_name_length CHECK (char_length(CONVERT(name USING utf8mb4)) BETWEEN 1 AND 255)
) ENGINE = InnoDB;

-- The triggers hold no logic that a release could outgrow: they say no. TRUNCATE passes triggers by here; it needs the
-- right to DROP, which the application's role shouldn't have.
DROP TRIGGER IF EXISTS lastro.transfer_not_updated;
CREATE TRIGGER lastro.transfer_not_updated BEFORE UPDATE ON lastro.transfer FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'transfer is append-only: UPDATE refused; post a new transfer that explains';
DROP TRIGGER IF EXISTS lastro.transfer_not_deleted;
CREATE TRIGGER lastro.transfer_not_deleted BEFORE DELETE ON lastro.transfer FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'transfer is append-only: DELETE refused; post a new transfer that explains';
-- ON DUPLICATE KEY UPDATE fires this one although it changes nothing: that is how a taken key is met without an error.
DROP TRIGGER IF EXISTS lastro.transfer_key_not_updated;
CREATE TRIGGER lastro.transfer_key_not_updated BEFORE UPDATE ON lastro.transfer_key FOR EACH ROW
IF NOT (new.transfer_id <=> old.transfer_id AND new.`key` <=> old.`key` AND new.debit_id <=> old.debit_id) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'transfer_key is append-only: UPDATE refused';
END IF;
DROP TRIGGER IF EXISTS lastro.transfer_key_not_deleted;
CREATE TRIGGER lastro.transfer_key_not_deleted BEFORE DELETE ON lastro.transfer_key FOR EACH ROW
IF old.debit_id >= 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'transfer_key is append-only: DELETE refused';
END IF;
DROP TRIGGER IF EXISTS lastro.reversal_not_updated;
CREATE TRIGGER lastro.reversal_not_updated BEFORE UPDATE ON lastro.reversal FOR EACH ROW
IF NOT (
    new.original_id <=> old.original_id AND new.already <=> old.already AND new.amount <=> old.amount
    AND new.original_amount <=> old.original_amount AND new.transfer_id <=> old.transfer_id
) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'reversal is append-only: UPDATE refused';
END IF;
DROP TRIGGER IF EXISTS lastro.reversal_not_deleted;
CREATE TRIGGER lastro.reversal_not_deleted BEFORE DELETE ON lastro.reversal FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'reversal is append-only: DELETE refused';
-- Accounts are closed, never deleted: an entry whose account is gone would be money nobody holds.
DROP TRIGGER IF EXISTS lastro.account_not_deleted;
CREATE TRIGGER lastro.account_not_deleted BEFORE DELETE ON lastro.account FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'an account is closed, never deleted: DELETE refused';
DROP TRIGGER IF EXISTS lastro.base_not_deleted;
CREATE TRIGGER lastro.base_not_deleted BEFORE DELETE ON lastro.base FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'an account is closed, never deleted: DELETE refused';

CREATE OR REPLACE SQL SECURITY INVOKER VIEW lastro.entry AS
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
    side.`key`,
    side.cause,
    side.reverses,
    side.source,
    side.actor,
    side.occurred_at,
    side.recorded_at,
    side.metadata,
    side.account_id
FROM (
    SELECT
        id AS transfer_id, debit_id AS account_id, credit_id AS counter_id, 'debit' AS side, kind, amount,
        debit_before AS balance_before, debit_after AS balance_after, `key`, cause, reverses, source, actor,
        occurred_at, recorded_at, metadata
    FROM lastro.transfer
    UNION ALL
    SELECT
        id AS transfer_id, credit_id AS account_id, debit_id AS counter_id, 'credit' AS side, kind, amount,
        credit_before AS balance_before, credit_after AS balance_after, `key`, cause, reverses, source, actor,
        occurred_at, recorded_at, metadata
    FROM lastro.transfer
) AS side
INNER JOIN lastro.account AS account ON side.account_id = account.id
INNER JOIN lastro.account AS counter ON side.counter_id = counter.id;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW lastro.balance AS
SELECT
    account.name AS account,
    account.currency,
    base.keeping,
    base.state,
    base.floor,
    CAST(base.amount AS decimal(30, 0)) + CASE base.keeping
        WHEN 'direct' THEN 0
        WHEN 'hot' THEN
            coalesce((SELECT sum(tail.amount) FROM lastro.tail AS tail WHERE tail.account_id = base.account_id), 0)
        ELSE
            coalesce((SELECT sum(credit.amount) FROM lastro.transfer AS credit
                WHERE credit.credit_id = base.account_id), 0)
            - coalesce((SELECT sum(debit.amount) FROM lastro.transfer AS debit
                WHERE debit.debit_id = base.account_id), 0)
    END AS posted,
    base.held,
    CAST(base.amount AS decimal(30, 0)) - base.held + CASE base.keeping
        WHEN 'direct' THEN 0
        WHEN 'hot' THEN
            coalesce((SELECT sum(tail.amount) FROM lastro.tail AS tail WHERE tail.account_id = base.account_id), 0)
        ELSE
            coalesce((SELECT sum(credit.amount) FROM lastro.transfer AS credit
                WHERE credit.credit_id = base.account_id), 0)
            - coalesce((SELECT sum(debit.amount) FROM lastro.transfer AS debit
                WHERE debit.debit_id = base.account_id), 0)
    END AS available,
    account.id AS account_id
FROM lastro.account AS account
INNER JOIN lastro.base AS base ON account.id = base.account_id;

-- The columns of a classic points ledger, one row a movement.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW lastro.movement AS
SELECT
    transfer.id AS position,
    transfer.`key` AS movement_key,
    transfer.kind,
    debit.currency,
    debit.name AS debit,
    credit.name AS credit,
    transfer.amount,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.cause,
    transfer.reverses
FROM lastro.transfer AS transfer
INNER JOIN lastro.account AS debit ON transfer.debit_id = debit.id
INNER JOIN lastro.account AS credit ON transfer.credit_id = credit.id;
