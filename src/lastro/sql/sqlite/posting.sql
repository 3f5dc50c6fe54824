-- Posting one transfer where no side needs to be weighed, and finding one by its key.
--
-- Every statement checks again what the process believes of the two accounts (how they are kept, that they are open,
-- that no floor came), and that the key is free: its index decides, and the look-up beside it keeps the trigger that
-- guards the history against REPLACE out of the way. Where the first statement writes no row the step ends there, so
-- in the others last_insert_rowid() is the transfer's id.

-- name: post_to_hot
-- The checkout: debit the world, whose terms never change, and credit an account kept hot. Only inserts.
-- locks: none that isn't held already   returns: 0 or 1 row: the new transfer
INSERT INTO lastro_transfer (
    debit_id, credit_id, amount,
    occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
)
SELECT
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    coalesce(%(occurred_at)s, %(now)s),
    %(now)s,
    %(key)s,
    %(kind)s,
    %(cause)s,
    %(reverses)s,
    %(source)s,
    %(actor)s,
    %(metadata)s
FROM lastro_base AS c
WHERE
    c.account_id = %(credit_id)s AND c.keeping = 'hot' AND c.state = 'open'
    AND c.amount <= %(unlocked_base_max)s
    AND EXISTS (SELECT 1 FROM lastro_base AS world WHERE world.account_id = %(debit_id)s)
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer AS taken WHERE taken.key = %(key)s)
ON CONFLICT (key) DO NOTHING
RETURNING id, occurred_at, recorded_at;

INSERT INTO lastro_tail (account_id, transfer_id, amount)
SELECT
    %(credit_id)s,
    transfer.id,
    %(amount)s
FROM lastro_transfer AS transfer
WHERE transfer.id = last_insert_rowid() AND transfer.key = %(key)s;

-- name: post_unlocked
-- Post between two accounts that are kept hot or summed, with no floor to guard on the debit side. Only inserts.
-- locks: none that isn't held already   returns: 0 or 1 row: the new transfer
INSERT INTO lastro_transfer (
    debit_id, credit_id, amount,
    occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
)
SELECT
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    coalesce(%(occurred_at)s, %(now)s),
    %(now)s,
    %(key)s,
    %(kind)s,
    %(cause)s,
    %(reverses)s,
    %(source)s,
    %(actor)s,
    %(metadata)s
FROM lastro_base AS d
CROSS JOIN lastro_base AS c
WHERE
    d.account_id = %(debit_id)s AND d.keeping = %(debit_keeping)s
    AND d.state = 'open' AND d.floor IS NULL
    AND c.account_id = %(credit_id)s AND c.keeping = %(credit_keeping)s AND c.state = 'open'
    AND d.amount >= -%(unlocked_base_max)s AND c.amount <= %(unlocked_base_max)s
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer AS taken WHERE taken.key = %(key)s)
ON CONFLICT (key) DO NOTHING
RETURNING id, occurred_at, recorded_at;

INSERT INTO lastro_tail (account_id, transfer_id, amount)
SELECT
    side.account_id,
    last_insert_rowid(),
    side.amount
FROM (
    SELECT
        %(debit_id)s AS account_id,
        -%(amount)s AS amount,
        %(debit_keeping)s AS keeping
    UNION ALL
    SELECT
        %(credit_id)s AS account_id,
        %(amount)s AS amount,
        %(credit_keeping)s AS keeping
) AS side
WHERE side.keeping = 'hot';

-- name: find_transfer
-- The transfer that holds this key.
-- locks: none   returns: 0 or 1 row
SELECT
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
FROM lastro_transfer AS transfer
LEFT JOIN lastro_account AS debit ON transfer.debit_id = debit.id
LEFT JOIN lastro_account AS credit ON transfer.credit_id = credit.id
WHERE transfer.key = %(key)s;
