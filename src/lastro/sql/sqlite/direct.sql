-- Posting one transfer where a side is kept direct: judge, write and update the base rows.
--
-- The bounds are compared so that nothing overflows on the way to the answer: `floor + held` may become a REAL, which
-- is beyond every balance then, and the rest subtracts from the bound and not from the balance.

-- name: post_both
-- Post between two accounts kept direct: check the floor, write, update both.
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
    d.amount,
    d.amount - %(amount)s,
    c.amount,
    c.amount + %(amount)s,
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
    d.account_id = %(debit_id)s AND d.keeping = 'direct' AND d.state = 'open'
    AND c.account_id = %(credit_id)s AND c.keeping = 'direct' AND c.state = 'open'
    AND d.amount >= %(balance_min)s + %(amount)s AND c.amount <= %(balance_max)s - %(amount)s
    AND (d.floor IS NULL OR d.amount - %(amount)s >= d.floor + d.held)
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer AS taken WHERE taken.key = %(key)s)
ON CONFLICT (key) DO NOTHING
RETURNING id, occurred_at, recorded_at, debit_before, debit_after, credit_before, credit_after;

UPDATE lastro_base
SET
    amount = amount + CASE account_id WHEN %(debit_id)s THEN -%(amount)s ELSE %(amount)s END,
    payments = payments + CASE account_id WHEN %(debit_id)s THEN 1 ELSE 0 END,
    changed_at = %(now)s
WHERE account_id IN (%(debit_id)s, %(credit_id)s);

-- name: post_debit
-- Debit an account kept direct, credit one that needs no weighing (kept hot or summed).
-- locks: none that isn't held already   returns: 0 or 1 row: the new transfer
INSERT INTO lastro_transfer (
    debit_id, credit_id, amount,
    debit_before, debit_after,
    occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
)
SELECT
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    d.amount,
    d.amount - %(amount)s,
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
    d.account_id = %(debit_id)s AND d.keeping = 'direct' AND d.state = 'open'
    AND c.account_id = %(credit_id)s AND c.keeping = %(credit_keeping)s AND c.state = 'open'
    AND d.amount >= %(balance_min)s + %(amount)s AND c.amount <= %(unlocked_base_max)s
    AND (d.floor IS NULL OR d.amount - %(amount)s >= d.floor + d.held)
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer AS taken WHERE taken.key = %(key)s)
ON CONFLICT (key) DO NOTHING
RETURNING id, occurred_at, recorded_at, debit_before, debit_after;

INSERT INTO lastro_tail (account_id, transfer_id, amount)
SELECT
    %(credit_id)s,
    last_insert_rowid(),
    %(amount)s
WHERE %(credit_keeping)s = 'hot';

UPDATE lastro_base
SET
    amount = amount - %(amount)s,
    payments = payments + 1,
    changed_at = %(now)s
WHERE account_id = %(debit_id)s;

-- name: post_credit
-- Debit an account that needs no weighing (kept hot or summed, no floor), credit one kept direct.
-- locks: none that isn't held already   returns: 0 or 1 row: the new transfer
INSERT INTO lastro_transfer (
    debit_id, credit_id, amount,
    credit_before, credit_after,
    occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
)
SELECT
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    c.amount,
    c.amount + %(amount)s,
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
CROSS JOIN lastro_base AS d
WHERE
    c.account_id = %(credit_id)s AND c.keeping = 'direct' AND c.state = 'open'
    AND d.account_id = %(debit_id)s AND d.keeping = %(debit_keeping)s
    AND d.state = 'open' AND d.floor IS NULL
    AND c.amount <= %(balance_max)s - %(amount)s AND d.amount >= -%(unlocked_base_max)s
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer AS taken WHERE taken.key = %(key)s)
ON CONFLICT (key) DO NOTHING
RETURNING id, occurred_at, recorded_at, credit_before, credit_after;

INSERT INTO lastro_tail (account_id, transfer_id, amount)
SELECT
    %(debit_id)s,
    last_insert_rowid(),
    -%(amount)s
WHERE %(debit_keeping)s = 'hot';

UPDATE lastro_base
SET
    amount = amount + %(amount)s,
    changed_at = %(now)s
WHERE account_id = %(credit_id)s;
