-- Adjusting: the entry that lets an account's history say what is stored of it.

-- name: lock
-- An account by its id; the account outside the books of its currency comes with it.
-- locks: none that isn't held already   returns: 0 or 1 row
SELECT
    base.account_id,
    world.id AS world_id
FROM lastro_base AS base
INNER JOIN lastro_account AS account ON base.account_id = account.id
INNER JOIN lastro_account AS world ON account.currency = world.currency AND world.name = %(world)s
WHERE base.account_id = %(account_id)s;

-- name: write
-- Write the entry that lets an account's history say what is stored of it, and nothing else: no base row, no tail.
-- locks: none that isn't held already   returns: 0 or 1 row: the transfer, unless its key is there
INSERT INTO lastro_transfer (
    debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, key, kind, cause, source, actor, metadata
)
SELECT
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    %(debit_before)s,
    %(debit_after)s,
    %(credit_before)s,
    %(credit_after)s,
    %(now)s,
    %(now)s,
    %(key)s,
    %(kind)s,
    %(cause)s,
    %(source)s,
    %(actor)s,
    %(metadata)s
WHERE NOT EXISTS (SELECT 1 FROM lastro_transfer AS taken WHERE taken.key = %(key)s)
RETURNING id;
