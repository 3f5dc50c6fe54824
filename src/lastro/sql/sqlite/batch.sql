-- Posting many transfers in one transaction; a statement runs once a batch.

-- name: find_keys
-- The transfers that hold some of these keys.
-- locks: none   returns: 1 row for each key that is taken
SELECT
    transfer.key AS taken_key,
    transfer.id AS transfer_id,
    transfer.id,
    transfer.key,
    transfer.kind,
    debit.name AS debit,
    credit.name AS credit,
    debit.currency,
    transfer.amount,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.cause,
    transfer.reverses,
    transfer.source,
    transfer.actor,
    transfer.metadata,
    transfer.debit_before,
    transfer.debit_after,
    transfer.credit_before,
    transfer.credit_after
FROM json_each(%(keys)s) AS asked
CROSS JOIN lastro_transfer AS transfer
LEFT JOIN lastro_account AS debit ON transfer.debit_id = debit.id
LEFT JOIN lastro_account AS credit ON transfer.credit_id = credit.id
WHERE transfer.key = asked.value;

-- name: draw_ids
-- Ids for the transfers of a batch, in ascending order, and the moment they are recorded at. Nobody else draws any
-- before this transaction ends.
-- locks: none   returns: 1 row
WITH RECURSIVE drawn AS (
    SELECT
        (SELECT coalesce(max(transfer.id), 0) + 1 FROM lastro_transfer AS transfer) AS id,
        1 AS number
    UNION ALL
    SELECT
        drawn.id + 1 AS id,
        drawn.number + 1 AS number
    FROM drawn
    WHERE drawn.number < %(transfers)s
)

SELECT
    json_group_array(drawn.id) AS ids,
    %(now)s AS recorded_at
FROM drawn;

-- name: claim_keys
-- Count the keys of a batch that are free, if the accounts that were not locked are still kept as the batch believes.
-- The keys are taken by the rows of the history themselves, which follow before anybody else may write.
-- locks: none that isn't held already   returns: 1 row: how many keys are free
WITH free_id AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS account_id
    FROM json_each(%(free_ids)s) AS given
),

free_keeping AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS keeping
    FROM json_each(%(free_keepings)s) AS given
),

free_debited AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS debited
    FROM json_each(%(free_debited)s) AS given
),

as_believed AS MATERIALIZED (
    SELECT count(*) = json_array_length(%(free_ids)s) AS holds
    FROM free_id
    INNER JOIN free_keeping ON free_id.place = free_keeping.place
    INNER JOIN free_debited ON free_id.place = free_debited.place
    INNER JOIN lastro_base AS base
        ON
            free_id.account_id = base.account_id AND free_keeping.keeping = base.keeping AND base.state = 'open'
            AND (base.floor IS NULL OR NOT free_debited.debited)
            AND base.amount BETWEEN -%(unlocked_base_max)s AND %(unlocked_base_max)s
)

SELECT count(*) AS claimed
FROM json_each(%(keys)s) AS wanted
CROSS JOIN as_believed
WHERE
    as_believed.holds
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer AS taken WHERE taken.key = wanted.value);

-- name: copy_transfers
-- The transfers themselves, one row after the other.
-- locks: none   returns: nothing
INSERT INTO lastro_transfer (
    id, debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
)
VALUES (
    %(id)s, %(debit_id)s, %(credit_id)s, %(amount)s,
    %(debit_before)s, %(debit_after)s, %(credit_before)s, %(credit_after)s,
    %(occurred_at)s, %(recorded_at)s, %(key)s, %(kind)s, %(cause)s, %(reverses)s, %(source)s, %(actor)s, %(metadata)s
);

-- name: add_tails
-- One tail row an account: the sum of what the batch does to it.
-- locks: none   returns: nothing
WITH tailed_account AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS account_id
    FROM json_each(%(account_ids)s) AS given
),

tailed_transfer AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS transfer_id
    FROM json_each(%(transfer_ids)s) AS given
),

tailed_amount AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS amount
    FROM json_each(%(amounts)s) AS given
)

INSERT INTO lastro_tail (account_id, transfer_id, amount)
SELECT
    tailed_account.account_id,
    tailed_transfer.transfer_id,
    tailed_amount.amount
FROM tailed_account
INNER JOIN tailed_transfer ON tailed_account.place = tailed_transfer.place
INNER JOIN tailed_amount ON tailed_account.place = tailed_amount.place;

-- name: change_bases
-- The base rows of the accounts that were judged: the sum of the batch's changes, and the number of its debits.
-- locks: none that isn't held already   returns: nothing
WITH changed_account AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS account_id
    FROM json_each(%(account_ids)s) AS given
),

changed_amount AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS amount
    FROM json_each(%(amounts)s) AS given
),

changed_payments AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS payments
    FROM json_each(%(payments)s) AS given
),

changed AS MATERIALIZED (
    SELECT
        changed_account.account_id,
        changed_amount.amount,
        changed_payments.payments
    FROM changed_account
    INNER JOIN changed_amount ON changed_account.place = changed_amount.place
    INNER JOIN changed_payments ON changed_account.place = changed_payments.place
)

UPDATE lastro_base
SET
    amount = lastro_base.amount + changed.amount,
    payments = lastro_base.payments + changed.payments,
    changed_at = %(recorded_at)s
FROM changed
WHERE lastro_base.account_id = changed.account_id;
