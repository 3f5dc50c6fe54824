-- Adjusting: the entry that lets an account's history say what is stored of it.

-- name: lock
-- Queue behind whoever writes an account, by its id; the account outside the books of its currency comes with it.
-- locks: the account's base row   returns: 0 or 1 row
SELECT
    base.account_id,
    world.id AS world_id
FROM lastro.base AS base
INNER JOIN lastro.account AS account ON base.account_id = account.id
INNER JOIN lastro.account AS world ON account.currency = world.currency AND world.name = %(world)s::text
WHERE base.account_id = %(account_id)s::bigint
FOR NO KEY UPDATE OF base;

-- name: write
-- Write the entry that lets an account's history say what is stored of it, and nothing else: no base row, no tail. The
-- base row is held by this transaction.
-- locks: none that isn't held already   returns: 0 or 1 row: the transfer, unless its key is there
WITH named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    VALUES (%(key)s::text, nextval('lastro.transfer_id'), %(debit_id)s::bigint)
    ON CONFLICT (key) DO NOTHING
    RETURNING transfer_id
)

INSERT INTO lastro.transfer (
    id, debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, key, kind, cause, source, actor, metadata
)
SELECT
    named.transfer_id,
    %(debit_id)s::bigint,
    %(credit_id)s::bigint,
    %(amount)s::bigint,
    %(debit_before)s::bigint,
    %(debit_after)s::bigint,
    %(credit_before)s::bigint,
    %(credit_after)s::bigint,
    coalesce(%(now)s::timestamptz, now()),
    coalesce(%(now)s::timestamptz, now()),
    %(key)s::text,
    %(kind)s::text,
    %(cause)s::text,
    %(source)s::text,
    %(actor)s::text,
    %(metadata)s::jsonb
FROM named
RETURNING id;
