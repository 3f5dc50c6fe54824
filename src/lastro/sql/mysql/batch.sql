-- Posting many transfers in one transaction. Keys and accounts are locked in one order; a statement runs once a batch.

-- name: find_keys
-- The transfers that hold some of these keys. In a caller's transaction they are asked for by inserting them, as
-- posting.find_transfer does it, in the order given.
-- locks: none, or in a caller's transaction the keys' rows   returns: 1 row for each key that is taken
/* held */ SAVEPOINT lastro_probe;
/* held each */ INSERT INTO lastro.transfer_key (`key`, debit_id)
VALUES (%(keys)s, -1)
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id;
SELECT
    named.`key` AS taken_key,
    named.transfer_id,
    transfer.id,
    transfer.`key`,
    transfer.kind,
    debit.name AS debit,
    credit.name AS credit,
    debit.currency,
    transfer.amount,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.cause,
    transfer.reverses,
    CAST(transfer.source AS binary) AS source,
    CAST(transfer.actor AS binary) AS actor,
    CAST(transfer.metadata AS binary) AS metadata,
    transfer.debit_before,
    transfer.debit_after,
    transfer.credit_before,
    transfer.credit_after
FROM (
    SELECT DISTINCT CAST(asked.name AS binary) AS `key`
    FROM json_table(%(keys)s, '$[*]' COLUMNS (name varchar(400) CHARACTER SET utf8mb4 PATH '$')) AS asked
    LEFT JOIN lastro.transfer_key AS mine FORCE INDEX (transfer_key_once)
        ON mine.`key` = CAST(asked.name AS binary) AND mine.debit_id = -1
    WHERE mine.debit_id IS NULL
) AS taken
STRAIGHT_JOIN lastro.transfer_key AS named FORCE INDEX (transfer_key_once) ON taken.`key` = named.`key`
LEFT JOIN lastro.transfer AS transfer FORCE INDEX (primary)
    ON named.debit_id = transfer.debit_id AND named.transfer_id = transfer.id
LEFT JOIN lastro.account AS debit FORCE INDEX (primary) ON transfer.debit_id = debit.id
LEFT JOIN lastro.account AS credit FORCE INDEX (primary) ON transfer.credit_id = credit.id
/* current */;
/* held */ ROLLBACK TO SAVEPOINT lastro_probe;
/* held */ RELEASE SAVEPOINT lastro_probe;

-- name: draw_ids
-- Ids for the transfers of a batch, and the moment they are recorded at. They are drawn by placeholders, which are taken
-- back at once: what a counter has given out it never gives again.
-- locks: none   returns: 1 row
SAVEPOINT lastro_draw;
INSERT INTO lastro.transfer_key (debit_id)
SELECT -connection_id()
FROM json_table(concat('[', repeat('0,', %(transfers)s - 1), '0]'), '$[*]' COLUMNS (n FOR ORDINALITY)) AS wanted;
SELECT
    json_arrayagg(drawn.transfer_id) AS ids,
    CAST(coalesce(%(now)s, utc_timestamp(6)) AS datetime(6)) AS recorded_at
FROM lastro.transfer_key AS drawn
WHERE drawn.transfer_id >= last_insert_id() AND drawn.debit_id = -connection_id();
ROLLBACK TO SAVEPOINT lastro_draw;
RELEASE SAVEPOINT lastro_draw;

-- name: claim_keys
-- Take the keys of a batch, in the order given (sorted, so that two batches never wait for each other in a circle), if
-- the accounts that were not locked are still kept as the batch believes.
-- locks: none that isn't held already   returns: 1 row: how many keys were free
SELECT count(*) = json_length(%(free_ids)s) INTO @lastro_fit
FROM json_table(%(free_ids__free_keepings__free_debited)s, '$[*]' COLUMNS (
    account_id bigint PATH '$[0]',
    keeping varchar(8) CHARACTER SET ascii PATH '$[1]',
    debited integer PATH '$[2]'
)) AS believed
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary)
    ON
        believed.account_id = base.account_id AND believed.keeping = CAST(base.keeping AS binary)
        AND base.state = 'open'
        AND (base.floor IS NULL OR believed.debited = 0)
        AND base.amount BETWEEN -%(unlocked_base_max)s AND %(unlocked_base_max)s;
/* each */ INSERT INTO lastro.transfer_key (`key`, transfer_id, debit_id)
VALUES (
    if(@lastro_fit = 1, %(keys)s, NULL), %(transfer_ids)s, if(@lastro_fit = 1, %(debit_ids)s, -1)
)
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id;
SELECT count(*) AS claimed
FROM json_table(%(keys__transfer_ids)s, '$[*]' COLUMNS (
    name varchar(400) CHARACTER SET utf8mb4 PATH '$[0]',
    transfer_id bigint PATH '$[1]'
)) AS wanted
STRAIGHT_JOIN lastro.transfer_key AS named FORCE INDEX (primary)
    ON wanted.transfer_id = named.transfer_id AND named.`key` = CAST(wanted.name AS binary);

-- name: copy_transfers
-- The transfers themselves.
-- locks: none   returns: nothing
INSERT INTO lastro.transfer (
    id, debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, `key`, kind, cause, reverses, source, actor, metadata
)
VALUES (
    %(id)s, %(debit_id)s, %(credit_id)s, %(amount)s, %(debit_before)s, %(debit_after)s, %(credit_before)s,
    %(credit_after)s, %(occurred_at)s, %(recorded_at)s, %(key)s, %(kind)s, %(cause)s, %(reverses)s, %(source)s,
    %(actor)s, %(metadata)s
);

-- name: add_tails
-- One tail row an account: the sum of what the batch does to it.
-- locks: none that another posting waits for   returns: nothing
/* each */ INSERT INTO lastro.tail (account_id, transfer_id, amount)
VALUES (%(account_ids)s, %(transfer_ids)s, %(amounts)s);

-- name: change_bases
-- The base rows that this transaction holds: the sum of the batch's changes, and the number of its debits.
-- locks: none that isn't held already   returns: nothing
UPDATE json_table(%(account_ids__amounts__payments)s, '$[*]' COLUMNS (
    account_id bigint PATH '$[0]', amount decimal(30, 0) PATH '$[1]', payments bigint PATH '$[2]'
)) AS changed
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON changed.account_id = base.account_id
SET
    base.amount = base.amount + changed.amount,
    base.payments = base.payments + changed.payments,
    base.changed_at = %(recorded_at)s;
