-- 0001 core: accounts and their base rows, the history with its keys, the tail, reversals, counters.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on
--
-- Names and keys compare bytewise (COLLATE "C"): a unique index over them must not depend on the operating system's
-- idea of an alphabet, which changes with its upgrades.

CREATE TABLE lastro.account (
    id bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    opened_at timestamptz NOT NULL,
    closed_at timestamptz,
    metadata jsonb,
    CONSTRAINT account_name_and_currency_once UNIQUE (name, currency),
    CONSTRAINT account_name_length CHECK (length(name) BETWEEN 1 AND 340),
    CONSTRAINT account_currency_length CHECK (length(currency) BETWEEN 1 AND 32),
    CONSTRAINT account_closed_after_opened CHECK (closed_at >= opened_at)
);
COMMENT ON TABLE lastro.account IS
'Who holds a balance. Ids are drawn at random: one that a failover lost never comes back as another account.';

-- The one row of an account that postings lock. Terms that may change (keeping, state, floor) live here and not on
-- `account`, because whoever waited for this lock then reads the row's newest version. No secondary index, and room on
-- the page, so that every update is a HOT update.
CREATE TABLE lastro.base (
    account_id bigint PRIMARY KEY,
    keeping text NOT NULL,
    state text NOT NULL DEFAULT 'open',
    floor bigint,
    amount bigint NOT NULL DEFAULT 0,
    held bigint NOT NULL DEFAULT 0,
    payments bigint NOT NULL DEFAULT 0,
    turns bigint NOT NULL DEFAULT 0,
    changed_at timestamptz NOT NULL,
    CONSTRAINT base_keeping_known CHECK (keeping IN ('direct', 'hot', 'summed')),
    CONSTRAINT base_state_known CHECK (state IN ('open', 'turning', 'closed')),
    CONSTRAINT base_held_not_negative CHECK (held >= 0),
    CONSTRAINT base_payments_not_negative CHECK (payments >= 0)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 10000
);
COMMENT ON COLUMN lastro.base.amount IS
'Consolidated minor units. direct: the balance; hot: without the tail; summed: carried over from retired partitions.';

COMMENT ON COLUMN lastro.base.turns IS
'How often the account was turned: whoever waited through one turning must not end another.';

CREATE SEQUENCE lastro.transfer_id AS bigint;

-- History. Partitioned by id range from the first day; no foreign key to anything hot (a check of one would take
-- KEY SHARE on the hot row for every insert). Both sides' balances before and after stand on the row where the side is
-- kept direct. The primary key serves the debit side's history as well; ids come from one sequence, so a second unique
-- index on the id alone would be paid for by every posting and asked by none. Lengths are limited by the columns' types
-- and rules of one subject share a CHECK: the server prepares every CHECK anew for each insert, 4 µs apiece.
CREATE TABLE lastro.transfer (
    id bigint NOT NULL,
    debit_id bigint NOT NULL,
    credit_id bigint NOT NULL,
    amount bigint NOT NULL,
    debit_before bigint,
    debit_after bigint,
    credit_before bigint,
    credit_after bigint,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    key varchar(400) COLLATE "C" NOT NULL,
    kind varchar(16) COLLATE "C" NOT NULL,
    cause varchar(255) COLLATE "C",
    reverses varchar(400) COLLATE "C",
    source varchar(255),
    actor varchar(255),
    metadata jsonb,
    CONSTRAINT transfer_once PRIMARY KEY (debit_id, id),
    CONSTRAINT transfer_amount_positive CHECK (amount > 0),
    CONSTRAINT transfer_between_two_accounts CHECK (debit_id <> credit_id),
    CONSTRAINT transfer_adds_up CHECK (
        coalesce(debit_before - debit_after = amount, debit_before IS NULL AND debit_after IS NULL)
        AND coalesce(credit_after - credit_before = amount, credit_before IS NULL AND credit_after IS NULL)
    )
) PARTITION BY RANGE (id);
CREATE INDEX transfer_credit ON lastro.transfer (credit_id, id);
CREATE INDEX transfer_cause ON lastro.transfer (cause) WHERE cause IS NOT NULL;
-- History arrives in the order of time, so a block-range index answers "this kind, these days" at next to no cost.
CREATE INDEX transfer_kind_and_occurred_at ON lastro.transfer USING brin (kind, occurred_at) WITH (autosummarize = on);

-- A posting must not stop because the partition keeper did not run: what has no partition yet goes here.
CREATE TABLE lastro.transfer_default PARTITION OF lastro.transfer DEFAULT;

-- The referee of once-only. A table of its own, because a unique index of a partitioned table would have to contain the
-- partition column; and so that a key stays known after its partition was retired.
CREATE TABLE lastro.transfer_key (
    key varchar(400) COLLATE "C" NOT NULL,
    transfer_id bigint NOT NULL,
    debit_id bigint NOT NULL,
    CONSTRAINT transfer_key_once PRIMARY KEY (key)
);

-- Entries not yet in the base amount of their account: a live table, drained by the consolidator. Its rows live for
-- seconds, so vacuum goes by volume and not by the share of a table that is nearly empty.
CREATE TABLE lastro.tail (
    account_id bigint NOT NULL,
    transfer_id bigint NOT NULL,
    amount bigint NOT NULL,
    CONSTRAINT tail_once PRIMARY KEY (account_id, transfer_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 5000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 5000
);

-- What was reversed of a transfer, as a chain: each row starts where the one before it ended, so the unique index lets
-- exactly one of two rivals reverse the same part, and the CHECK keeps the sum within the original.
CREATE TABLE lastro.reversal (
    original_id bigint NOT NULL,
    already bigint NOT NULL,
    amount bigint NOT NULL,
    original_amount bigint NOT NULL,
    transfer_id bigint NOT NULL,
    CONSTRAINT reversal_part_once PRIMARY KEY (original_id, already),
    CONSTRAINT reversal_amount_positive CHECK (amount > 0),
    CONSTRAINT reversal_already_not_negative CHECK (already >= 0),
    CONSTRAINT reversal_within_original CHECK (already <= original_amount - amount)
);

-- Counters in slices: writers of different slices never wait for each other.
CREATE TABLE lastro.counter (
    name text COLLATE "C" NOT NULL,
    slice smallint NOT NULL,
    value bigint NOT NULL,
    CONSTRAINT counter_slice_once PRIMARY KEY (name, slice),
    CONSTRAINT counter_name_length CHECK (length(name) BETWEEN 1 AND 255)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000
);

-- The only function of the schema. It holds no logic that a release could outgrow: it says no.
CREATE FUNCTION lastro.refuse_change() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only: % refused', tg_table_schema, tg_table_name, tg_op
        USING ERRCODE = 'restrict_violation',
              HINT = 'Post a new transfer that explains the mistake; retire history by detaching a partition.';
END;
$$;

CREATE TRIGGER transfer_append_only BEFORE UPDATE OR DELETE ON lastro.transfer
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER transfer_not_truncated BEFORE TRUNCATE ON lastro.transfer
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER transfer_default_not_truncated BEFORE TRUNCATE ON lastro.transfer_default
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER transfer_key_append_only BEFORE UPDATE OR DELETE ON lastro.transfer_key
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER transfer_key_not_truncated BEFORE TRUNCATE ON lastro.transfer_key
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER reversal_append_only BEFORE UPDATE OR DELETE ON lastro.reversal
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER reversal_not_truncated BEFORE TRUNCATE ON lastro.reversal
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
-- Accounts are closed, never deleted: an entry whose account is gone would be money nobody holds.
CREATE TRIGGER account_not_deleted BEFORE DELETE ON lastro.account
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER base_not_deleted BEFORE DELETE ON lastro.base
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();

CREATE VIEW lastro.entry AS
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
    side.occurred_at,
    side.recorded_at,
    side.metadata,
    side.account_id
FROM (
    SELECT
        id AS transfer_id, debit_id AS account_id, credit_id AS counter_id, 'debit' AS side, kind, amount,
        debit_before AS balance_before, debit_after AS balance_after, key, cause, reverses, source, actor,
        occurred_at, recorded_at, metadata
    FROM lastro.transfer
    UNION ALL
    SELECT
        id AS transfer_id, credit_id AS account_id, debit_id AS counter_id, 'credit' AS side, kind, amount,
        credit_before AS balance_before, credit_after AS balance_after, key, cause, reverses, source, actor,
        occurred_at, recorded_at, metadata
    FROM lastro.transfer
) AS side
INNER JOIN lastro.account AS account ON side.account_id = account.id
INNER JOIN lastro.account AS counter ON side.counter_id = counter.id;

CREATE VIEW lastro.balance AS
SELECT
    account.name AS account,
    account.currency,
    base.keeping,
    base.state,
    base.floor,
    posted.amount AS posted,
    base.held,
    posted.amount - base.held AS available,
    account.id AS account_id
FROM lastro.account AS account
INNER JOIN lastro.base AS base ON account.id = base.account_id
CROSS JOIN LATERAL (
    SELECT
        base.amount + CASE base.keeping
            WHEN 'direct' THEN 0
            WHEN 'hot' THEN coalesce(
                (SELECT sum(tail.amount) FROM lastro.tail AS tail WHERE tail.account_id = base.account_id), 0
            )
            ELSE
                coalesce(
                    (SELECT sum(credit.amount) FROM lastro.transfer AS credit
                        WHERE credit.credit_id = base.account_id), 0
                )
                - coalesce(
                    (SELECT sum(debit.amount) FROM lastro.transfer AS debit
                        WHERE debit.debit_id = base.account_id), 0
                )
        END AS amount
) AS posted;

-- The columns of a classic points ledger, one row a movement.
CREATE VIEW lastro.movement AS
SELECT
    transfer.id AS position,
    transfer.key AS movement_key,
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
