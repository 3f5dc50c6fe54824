-- Posting one transfer between an account kept direct and the world, whose terms never change and whose row nobody
-- needs to look at. The rest is as in direct.sql.

-- name: credit
-- Credit an account kept direct out of the world.
-- locks: none that isn't held already   returns: 0 or 1 row: the new transfer
INSERT INTO lastro_transfer (
    debit_id, credit_id, amount, credit_before, credit_after,
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
WHERE
    c.account_id = %(credit_id)s AND c.keeping = 'direct' AND c.state = 'open'
    AND c.amount <= %(balance_max)s - %(amount)s
    AND EXISTS (SELECT 1 FROM lastro_base AS world WHERE world.account_id = %(debit_id)s)
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer AS taken WHERE taken.key = %(key)s)
ON CONFLICT (key) DO NOTHING
RETURNING id, occurred_at, recorded_at, credit_before, credit_after;

UPDATE lastro_base
SET
    amount = amount + %(amount)s,
    changed_at = %(now)s
WHERE account_id = %(credit_id)s;

-- name: debit
-- Debit an account kept direct, down to its floor, to the world.
-- locks: none that isn't held already   returns: 0 or 1 row: the new transfer
INSERT INTO lastro_transfer (
    debit_id, credit_id, amount, debit_before, debit_after,
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
WHERE
    d.account_id = %(debit_id)s AND d.keeping = 'direct' AND d.state = 'open'
    AND d.amount >= %(balance_min)s + %(amount)s
    AND (d.floor IS NULL OR d.amount - %(amount)s >= d.floor + d.held)
    AND EXISTS (SELECT 1 FROM lastro_base AS world WHERE world.account_id = %(credit_id)s)
    AND NOT EXISTS (SELECT 1 FROM lastro_transfer AS taken WHERE taken.key = %(key)s)
ON CONFLICT (key) DO NOTHING
RETURNING id, occurred_at, recorded_at, debit_before, debit_after;

UPDATE lastro_base
SET
    amount = amount - %(amount)s,
    payments = payments + 1,
    changed_at = %(now)s
WHERE account_id = %(debit_id)s;
