-- Posting many transfers in one transaction.

-- name: find_keys
-- The transfers that hold some of these keys.
-- locks: none   returns: 1 row for each key that is taken
SELECT
    transfer.key_text AS taken_key,
    transfer.id AS transfer_id,
    transfer.id,
    transfer.key_text AS key_,
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
FROM lastro_transfer transfer
LEFT JOIN lastro_account debit ON transfer.debit_id = debit.id
LEFT JOIN lastro_account credit ON transfer.credit_id = credit.id
WHERE transfer.key_digest IN %(key_digests)s;

-- name: draw_ids
-- The newest id under any of the locks that this batch holds, for the engine to draw ids above it.
-- locks: none   returns: 1 row: the ids, ascending, and the moment they are recorded at
SELECT
    coalesce(max(base.last_id), 0) AS ids,
    CAST(%(now)s AS bigint) AS recorded_at
FROM lastro_base base
WHERE base.account_id IN %(account_ids)s;

-- name: claim_keys
-- Check what the batch believes of the accounts that it doesn't lock. The keys were looked up; a rival that takes one
-- in the meantime is met by the INSERT, whose uniqueness error reaches the caller.
-- locks: none   returns: 1 row: how many keys are free; none where an account isn't as believed
SELECT base.account_id
FROM lastro_base base
WHERE
    base.account_id = %(each_free_ids)s AND base.keeping = %(each_free_keepings)s AND base.state = 'open'
    AND (base.floor IS NULL OR %(each_free_debited)s = 0)
    AND base.amount <= %(unlocked_base_max)s AND 0 - base.amount <= %(unlocked_base_max)s;

SELECT CAST(%(keys_count)s AS bigint) AS claimed
FROM lastro_version lone
WHERE lone.version_number = 1;

-- name: copy_transfers
-- The transfers themselves, one row after the other, by a plain INSERT.
-- locks: the keys   returns: nothing
INSERT INTO lastro_transfer (
    id, debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, key_digest, key_text, kind, cause, reverses, source, actor, metadata
)
VALUES (
    %(id)s, %(debit_id)s, %(credit_id)s, %(amount)s,
    %(debit_before)s, %(debit_after)s, %(credit_before)s, %(credit_after)s,
    %(occurred_at)s, %(recorded_at)s, %(key_digest)s, %(key)s, %(kind)s, %(cause)s, %(reverses)s, %(source)s,
    %(actor)s, %(metadata)s
);

-- name: add_tails
-- One tail row an account.
-- locks: none   returns: nothing
-- refused: an account kept hot needs the tail and the locks of a store of its own; keep it direct or summed here

-- name: change_bases
-- The base rows of the accounts that were judged, one after the other: the sum of the batch's changes, the number of
-- its debits, and how far their ids have come.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_base
SET
    amount = amount + CAST(%(each_amounts)s AS bigint),
    payments = payments + CAST(%(each_payments)s AS bigint),
    last_id = %(newest_id)s,
    changed_at = %(recorded_at)s
WHERE account_id = %(each_account_ids)s;
