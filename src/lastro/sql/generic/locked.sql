-- Posting one transfer the locked way: the lock row is updated first, then the key is looked up, then the balance, and
-- the transfer is written only if it is covered. An UPDATE is the one lock that every database knows.

-- name: lock_sides
-- Lock the base rows, in account order, by an UPDATE that changes them: a rival whose snapshot is older meets a changed
-- row and not an old balance. One that can't be updated stops the posting.
-- locks: the base rows, in account order   returns: 1 row an account
UPDATE lastro_base
SET locks_taken = locks_taken + 1
WHERE account_id = %(each_account_ids)s;

SELECT
    base.account_id,
    base.keeping,
    base.state,
    base.floor,
    base.amount,
    base.held,
    CAST(%(now)s AS bigint) AS recorded_at
FROM lastro_base base
WHERE base.account_id IN %(account_ids)s
ORDER BY base.account_id;

-- name: weigh_sides
-- What is posted and held on accounts whose base rows we hold.
-- locks: none   returns: 1 row an account
SELECT
    balance.account_id,
    balance.posted,
    balance.held
FROM lastro_balance balance
WHERE balance.account_id IN %(account_ids)s;

-- name: write
-- Post with the base rows of %(locked_ids)s held by this transaction and weighed; the other sides need no lock and are
-- checked again here. The id is drawn by the engine from the clock, and lies above every id posted under these locks.
-- The INSERT is plain: where a rival writes the same key meanwhile its uniqueness error reaches the caller.
-- locks: none that isn't held already, but for the key   returns: 0 or 1 row: the new transfer
SELECT
    CASE
        WHEN d.last_id >= c.last_id AND d.last_id >= CAST(%(drawn_id)s AS bigint)
            THEN d.last_id + CAST(%(drawn_gap)s AS bigint)
        WHEN c.last_id >= CAST(%(drawn_id)s AS bigint) THEN c.last_id + CAST(%(drawn_gap)s AS bigint)
        ELSE CAST(%(drawn_id)s AS bigint)
    END AS new_id
FROM lastro_base d
CROSS JOIN lastro_base c
WHERE
    d.account_id = %(debit_id)s AND d.keeping = %(debit_keeping)s AND d.state = %(debit_state)s
    AND (
        d.account_id IN %(locked_ids)s
        OR (d.floor IS NULL AND 0 - d.amount <= %(unlocked_base_max)s)
    )
    AND c.account_id = %(credit_id)s AND c.keeping = %(credit_keeping)s AND c.state = %(credit_state)s
    AND (c.account_id IN %(locked_ids)s OR c.amount <= %(unlocked_base_max)s)
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer taken WHERE taken.key_digest = %(key_digest)s);

INSERT INTO lastro_transfer (
    id, debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, key_digest, key_text, kind, cause, reverses, source, actor, metadata
)
VALUES (
    %(new_id)s, %(debit_id)s, %(credit_id)s, %(amount)s,
    %(debit_before)s, %(debit_after)s, %(credit_before)s, %(credit_after)s,
    %(occurred_at)s, %(now)s, %(key_digest)s, %(key)s, %(kind)s, %(cause)s, %(reverses)s, %(source)s,
    %(actor)s, %(metadata)s
);

UPDATE lastro_base
SET
    amount = amount + CASE account_id
        WHEN %(debit_id)s THEN CAST(%(debit_change)s AS bigint) ELSE CAST(%(credit_change)s AS bigint)
    END,
    payments = payments + CASE account_id WHEN %(debit_id)s THEN 1 ELSE 0 END,
    last_id = %(new_id)s,
    changed_at = %(now)s
WHERE account_id = %(each_locked_ids)s;

SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.debit_before,
    transfer.debit_after,
    transfer.credit_before,
    transfer.credit_after
FROM lastro_transfer transfer
WHERE transfer.id = %(new_id)s;
