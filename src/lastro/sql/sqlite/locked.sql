-- Posting one transfer the locked way. The transaction holds the write lock of the whole database: what it reads stays.

-- name: lock_sides
-- The terms of these accounts.
-- locks: none that isn't held already   returns: 1 row an account
SELECT
    base.account_id,
    base.keeping,
    base.state,
    base.floor,
    base.amount,
    base.held,
    %(now)s AS recorded_at
FROM lastro_base AS base
WHERE base.account_id IN (SELECT given.value FROM json_each(%(account_ids)s) AS given)
ORDER BY base.account_id;

-- name: weigh_sides
-- What is posted and held on these accounts.
-- locks: none   returns: 1 row an account
SELECT
    balance.account_id,
    balance.posted,
    balance.held
FROM json_each(%(account_ids)s) AS given
INNER JOIN lastro_balance AS balance ON given.value = balance.account_id;

-- name: write
-- Post with the accounts of %(locked_ids)s weighed; the other sides need no weighing and are checked again here. A
-- debit counts itself on its base row even where no amount changes there.
-- locks: none that isn't held already   returns: 0 or 1 row: the new transfer
INSERT INTO lastro_transfer (
    debit_id, credit_id, amount,
    debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
)
SELECT
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    %(debit_before)s,
    %(debit_after)s,
    %(credit_before)s,
    %(credit_after)s,
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
    d.account_id = %(debit_id)s AND d.keeping = %(debit_keeping)s AND d.state = %(debit_state)s
    AND (
        d.account_id IN (SELECT given.value FROM json_each(%(locked_ids)s) AS given)
        OR (d.floor IS NULL AND d.amount >= -%(unlocked_base_max)s)
    )
    AND c.account_id = %(credit_id)s AND c.keeping = %(credit_keeping)s AND c.state = %(credit_state)s
    AND (
        c.account_id IN (SELECT given.value FROM json_each(%(locked_ids)s) AS given)
        OR c.amount <= %(unlocked_base_max)s
    )
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer AS taken WHERE taken.key = %(key)s)
ON CONFLICT (key) DO NOTHING
RETURNING id, occurred_at, recorded_at, debit_before, debit_after, credit_before, credit_after;

INSERT INTO lastro_tail (account_id, transfer_id, amount)
SELECT
    side.account_id,
    transfer.id,
    side.amount
FROM lastro_transfer AS transfer
CROSS JOIN (
    SELECT
        %(debit_id)s AS account_id,
        -%(amount)s AS amount,
        %(debit_tailed)s AS tailed
    UNION ALL
    SELECT
        %(credit_id)s AS account_id,
        %(amount)s AS amount,
        %(credit_tailed)s AS tailed
) AS side
WHERE transfer.key = %(key)s AND side.tailed;

UPDATE lastro_base
SET
    amount = amount + CASE account_id WHEN %(debit_id)s THEN %(debit_change)s ELSE %(credit_change)s END,
    payments = payments + CASE account_id WHEN %(debit_id)s THEN 1 ELSE 0 END,
    changed_at = %(now)s
WHERE account_id IN (SELECT given.value FROM json_each(%(locked_ids)s) AS given);
