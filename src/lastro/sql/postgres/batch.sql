-- Posting many transfers in one transaction. Keys and accounts are locked in one order; a statement runs once a batch.

-- name: find_keys
-- The transfers that hold some of these keys, in a snapshot taken after the accounts were locked. One probe a key:
-- the LIMITs keep the planner from reading all of the history for a large batch, as `= ANY` over 10,000 keys does.
-- locks: none   returns: 1 row for each key that is taken
SELECT
    named.key AS taken_key,
    named.transfer_id,
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
    transfer.metadata::text AS metadata,
    transfer.debit_before,
    transfer.debit_after,
    transfer.credit_before,
    transfer.credit_after
FROM unnest(%(keys)s::text[]) AS asked (key)
CROSS JOIN LATERAL (
    SELECT
        taken.key,
        taken.transfer_id,
        taken.debit_id
    FROM lastro.transfer_key AS taken
    WHERE taken.key = asked.key
    LIMIT 1
) AS named
LEFT JOIN LATERAL (
    SELECT
        kept.id,
        kept.debit_id,
        kept.credit_id,
        kept.amount,
        kept.debit_before,
        kept.debit_after,
        kept.credit_before,
        kept.credit_after,
        kept.occurred_at,
        kept.recorded_at,
        kept.key,
        kept.kind,
        kept.cause,
        kept.reverses,
        kept.source,
        kept.actor,
        kept.metadata
    FROM lastro.transfer AS kept
    WHERE kept.debit_id = named.debit_id AND kept.id = named.transfer_id
    LIMIT 1
) AS transfer ON true
LEFT JOIN lastro.account AS debit ON transfer.debit_id = debit.id
LEFT JOIN lastro.account AS credit ON transfer.credit_id = credit.id;

-- name: draw_ids
-- Ids for the transfers of a batch, in ascending order, and the moment they are recorded at. The transaction gets its
-- own id with them: by that whoever closes days sees, also before the next statement, that something may come.
-- locks: none   returns: 1 row
SELECT
    array_agg(drawn.id) AS ids,
    coalesce(%(now)s::timestamptz, now()) AS recorded_at
FROM (
    SELECT nextval('lastro.transfer_id') AS id
    FROM generate_series(1, %(transfers)s::integer)
    WHERE pg_current_xact_id() IS NOT NULL
) AS drawn;

-- name: claim_keys
-- Take the keys of a batch, in the order given (sorted, so that two batches never wait for each other in a circle), if
-- the accounts that were not locked are still kept as the batch believes.
-- locks: none that isn't held already   returns: 1 row: how many keys were free
WITH as_believed AS (
    SELECT count(*) AS accounts
    FROM unnest(
        %(free_ids)s::bigint[], %(free_keepings)s::text[], %(free_debited)s::boolean[]
    ) AS believed (account_id, keeping, debited)
    INNER JOIN lastro.base AS base
        ON
            believed.account_id = base.account_id AND believed.keeping = base.keeping AND base.state = 'open'
            AND (base.floor IS NULL OR NOT believed.debited)
            AND base.amount BETWEEN -%(unlocked_base_max)s::bigint AND %(unlocked_base_max)s::bigint
),

claimed AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        wanted.key,
        wanted.transfer_id,
        wanted.debit_id
    FROM as_believed
    CROSS JOIN unnest(
        %(keys)s::text[], %(transfer_ids)s::bigint[], %(debit_ids)s::bigint[]
    ) AS wanted (key, transfer_id, debit_id)
    WHERE as_believed.accounts = cardinality(%(free_ids)s::bigint[])
    ON CONFLICT (key) DO NOTHING
    RETURNING 1 AS one
)

SELECT count(*) AS claimed FROM claimed;

-- name: copy_transfers
-- The transfers themselves.
-- locks: none   returns: nothing
COPY lastro.transfer (
    id, debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
) FROM STDIN;

-- name: add_tails
-- One tail row an account: the sum of what the batch does to it.
-- locks: none that another posting waits for   returns: nothing
INSERT INTO lastro.tail (account_id, transfer_id, amount)
SELECT
    added.account_id,
    added.transfer_id,
    added.amount
FROM unnest(
    %(account_ids)s::bigint[], %(transfer_ids)s::bigint[], %(amounts)s::bigint[]
) AS added (account_id, transfer_id, amount);

-- name: change_bases
-- The base rows that this transaction holds: the sum of the batch's changes, and the number of its debits.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.base
SET
    amount = (base.amount + changed.amount)::bigint,
    payments = base.payments + changed.payments,
    changed_at = %(recorded_at)s::timestamptz
FROM unnest(
    %(account_ids)s::bigint[], %(amounts)s::numeric[], %(payments)s::bigint[]
) AS changed (account_id, amount, payments)
WHERE base.account_id = changed.account_id;
