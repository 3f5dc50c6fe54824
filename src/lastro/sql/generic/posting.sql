-- Posting one transfer where no side needs to be weighed, and finding one by its key.

-- name: post_to_hot
-- The checkout: credit an account kept hot.
-- locks: none   returns: nothing
-- refused: an account kept hot needs the tail and the locks of a store of its own; keep it direct or summed here

-- name: post_unlocked
-- Post between two accounts that are kept summed, with no floor to guard on the debit side. The first statement checks
-- again what the process believes of them, and that the key is free; the INSERT is plain: where a rival writes the same
-- key meanwhile its uniqueness error reaches the caller.
-- locks: none that another posting waits for, but for the key   returns: 0 or 1 row: the new transfer
SELECT d.account_id
FROM lastro_base d
CROSS JOIN lastro_base c
WHERE
    d.account_id = %(debit_id)s AND d.keeping = %(debit_keeping)s AND d.state = 'open' AND d.floor IS NULL
    AND c.account_id = %(credit_id)s AND c.keeping = %(credit_keeping)s AND c.state = 'open'
    AND 0 - d.amount <= %(unlocked_base_max)s AND c.amount <= %(unlocked_base_max)s
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer taken WHERE taken.key_digest = %(key_digest)s);

INSERT INTO lastro_transfer (
    id, debit_id, credit_id, amount,
    occurred_at, recorded_at, key_digest, key_text, kind, cause, reverses, source, actor, metadata
)
VALUES (
    %(drawn_id)s, %(debit_id)s, %(credit_id)s, %(amount)s,
    %(occurred_at)s, %(now)s, %(key_digest)s, %(key)s, %(kind)s, %(cause)s, %(reverses)s, %(source)s,
    %(actor)s, %(metadata)s
);

SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at
FROM lastro_transfer transfer
WHERE transfer.id = %(drawn_id)s;

-- name: find_transfer
-- The transfer that holds this key.
-- locks: none   returns: 0 or 1 row
SELECT
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
WHERE transfer.key_digest = %(key_digest)s;
