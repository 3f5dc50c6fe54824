-- Adjusting: the entry that lets an account's history say what is stored of it.

-- name: lock
-- Queue behind whoever writes an account, by its id; the account outside the books of its currency comes with it.
-- locks: the account's base row   returns: 0 or 1 row
SELECT base.account_id
FROM lastro.base AS base FORCE INDEX (primary)
WHERE base.account_id = %(account_id)s
FOR UPDATE;
SELECT
    account.id AS account_id,
    world.id AS world_id
FROM lastro.account AS account
INNER JOIN lastro.account AS world ON account.currency = world.currency AND world.name = %(world)s
WHERE account.id = %(account_id)s;

-- name: write
-- Write the entry that lets an account's history say what is stored of it, and nothing else: no base row, no tail. The
-- base row is held by this transaction.
-- locks: none that isn't held already   returns: 0 or 1 row: the transfer, unless its key is there
INSERT INTO lastro.transfer_key (`key`, debit_id)
VALUES (%(key)s, %(debit_id)s)
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id + 0 * last_insert_id(0);
INSERT INTO lastro.transfer (
    id, debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, `key`, kind, cause, source, actor, metadata
)
SELECT
    last_insert_id(),
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    %(debit_before)s,
    %(debit_after)s,
    %(credit_before)s,
    %(credit_after)s,
    coalesce(%(now)s, utc_timestamp(6)),
    coalesce(%(now)s, utc_timestamp(6)),
    %(key)s,
    %(kind)s,
    %(cause)s,
    %(source)s,
    %(actor)s,
    %(metadata)s
FROM dual
WHERE last_insert_id() > 0;
SELECT transfer.id
FROM lastro.transfer AS transfer
WHERE transfer.debit_id = %(debit_id)s AND transfer.id = last_insert_id() AND last_insert_id() > 0;
