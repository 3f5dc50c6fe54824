-- 0001 core: accounts and their base rows, the history with its keys, reversals, counters.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on
--
-- Standard SQL and three types: bigint, varchar(n), clob. The engine has SQLAlchemy name them as the database does, and
-- runs each statement by itself, leaving out what is there already: not every database takes a CREATE TABLE back, or
-- shows the table to the transaction that makes it. There is no IF NOT EXISTS, no DEFAULT, no trigger. Names are short,
-- for some databases take 31 characters; no column is called by a word that some database keeps for itself.
--
-- Databases differ in how they compare text (upper and lower case, blanks at the end) and in how long an entry of an
-- index may be. So what must be unique is unique by its digest: SHA-256 of the UTF-8 bytes, in lower-case hex, worked
-- out by the engine. Moments are whole microseconds since 1970 in UTC.

CREATE TABLE lastro_account (
    id bigint NOT NULL PRIMARY KEY,
    digest varchar(64) NOT NULL,
    name_digest varchar(64) NOT NULL,
    name varchar(340) NOT NULL,
    currency varchar(32) NOT NULL,
    opened_at bigint NOT NULL,
    closed_at bigint,
    metadata clob,
    CONSTRAINT lastro_named UNIQUE (digest)
);
CREATE INDEX lastro_by_name ON lastro_account (name_digest);

-- The one row of an account that changes: its terms (keeping, state, floor) and its amount. Who must weigh the account
-- locks it by an UPDATE that counts in locks_taken. last_id is the newest transfer that was posted under that lock.
CREATE TABLE lastro_base (
    account_id bigint NOT NULL PRIMARY KEY,
    keeping varchar(16) NOT NULL,
    state varchar(16) NOT NULL,
    floor bigint,
    amount bigint NOT NULL,
    held bigint NOT NULL,
    payments bigint NOT NULL,
    turns bigint NOT NULL,
    locks_taken bigint NOT NULL,
    last_id bigint NOT NULL,
    changed_at bigint NOT NULL,
    CONSTRAINT lastro_keeping CHECK (keeping IN ('direct', 'summed')),
    CONSTRAINT lastro_state CHECK (state IN ('open', 'closed')),
    CONSTRAINT lastro_held CHECK (held >= 0),
    CONSTRAINT lastro_payed CHECK (payments >= 0)
);

-- History. The key is unique right here.
CREATE TABLE lastro_transfer (
    id bigint NOT NULL PRIMARY KEY,
    debit_id bigint NOT NULL,
    credit_id bigint NOT NULL,
    amount bigint NOT NULL,
    debit_before bigint,
    debit_after bigint,
    credit_before bigint,
    credit_after bigint,
    occurred_at bigint NOT NULL,
    recorded_at bigint NOT NULL,
    key_digest varchar(64) NOT NULL,
    key_text varchar(400) NOT NULL,
    kind varchar(16) NOT NULL,
    cause varchar(255),
    reverses varchar(400),
    source varchar(255),
    actor varchar(255),
    metadata clob,
    CONSTRAINT lastro_key UNIQUE (key_digest),
    CONSTRAINT lastro_amount CHECK (amount > 0),
    CONSTRAINT lastro_two CHECK (debit_id <> credit_id),
    CONSTRAINT lastro_down CHECK (debit_before - debit_after = amount),
    CONSTRAINT lastro_up CHECK (credit_after - credit_before = amount)
);
CREATE INDEX lastro_debit ON lastro_transfer (debit_id, id);
CREATE INDEX lastro_credit ON lastro_transfer (credit_id, id);
CREATE INDEX lastro_cause ON lastro_transfer (cause);
CREATE INDEX lastro_kind ON lastro_transfer (kind, occurred_at);

-- What was reversed of a transfer, as a chain: each row starts where the one before it ended.
CREATE TABLE lastro_reversal (
    original_id bigint NOT NULL,
    already bigint NOT NULL,
    amount bigint NOT NULL,
    original_amount bigint NOT NULL,
    transfer_id bigint NOT NULL,
    CONSTRAINT lastro_part PRIMARY KEY (original_id, already),
    CONSTRAINT lastro_part_up CHECK (amount > 0),
    CONSTRAINT lastro_begun CHECK (already >= 0),
    CONSTRAINT lastro_within CHECK (already <= original_amount - amount)
);

CREATE TABLE lastro_counter (
    digest varchar(64) NOT NULL PRIMARY KEY,
    name varchar(255) NOT NULL,
    total bigint NOT NULL
);

CREATE VIEW lastro_entry AS
SELECT
    transfer.id AS transfer_id,
    debit.name AS account,
    debit.currency,
    CAST('debit' AS varchar(16)) AS side,
    transfer.kind,
    transfer.amount,
    transfer.debit_before AS balance_before,
    transfer.debit_after AS balance_after,
    credit.name AS counter_account,
    transfer.key_text,
    transfer.cause,
    transfer.reverses,
    transfer.source,
    transfer.actor,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.debit_id AS account_id
FROM lastro_transfer transfer
INNER JOIN lastro_account debit ON transfer.debit_id = debit.id
INNER JOIN lastro_account credit ON transfer.credit_id = credit.id
UNION ALL
SELECT
    transfer.id AS transfer_id,
    credit.name AS account,
    credit.currency,
    CAST('credit' AS varchar(16)) AS side,
    transfer.kind,
    transfer.amount,
    transfer.credit_before AS balance_before,
    transfer.credit_after AS balance_after,
    debit.name AS counter_account,
    transfer.key_text,
    transfer.cause,
    transfer.reverses,
    transfer.source,
    transfer.actor,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.credit_id AS account_id
FROM lastro_transfer transfer
INNER JOIN lastro_account debit ON transfer.debit_id = debit.id
INNER JOIN lastro_account credit ON transfer.credit_id = credit.id;

-- An account kept summed has no balance of its own: it is what was credited less what was debited.
CREATE VIEW lastro_balance AS
SELECT
    account.name AS account,
    account.currency,
    base.keeping,
    base.state,
    base.floor,
    base.amount + CASE base.keeping
        WHEN 'summed' THEN
            coalesce((
                SELECT sum(credited.amount) FROM lastro_transfer credited WHERE credited.credit_id = base.account_id
            ), 0)
            - coalesce((
                SELECT sum(debited.amount) FROM lastro_transfer debited WHERE debited.debit_id = base.account_id
            ), 0)
        ELSE 0
    END AS posted,
    base.held,
    account.id AS account_id,
    account.digest
FROM lastro_account account
INNER JOIN lastro_base base ON account.id = base.account_id;

-- The columns of a classic points ledger, one row a movement; position is called transfer_id.
CREATE VIEW lastro_movement AS
SELECT
    transfer.id AS transfer_id,
    transfer.key_text AS movement_key,
    transfer.kind,
    debit.currency,
    debit.name AS debit,
    credit.name AS credit,
    transfer.amount,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.cause,
    transfer.reverses
FROM lastro_transfer transfer
INNER JOIN lastro_account debit ON transfer.debit_id = debit.id
INNER JOIN lastro_account credit ON transfer.credit_id = credit.id;
