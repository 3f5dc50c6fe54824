-- Reading balances, entries and transfers. Nothing here locks.

-- name: balance
-- What is posted and held on one account.
-- locks: none   returns: 0 or 1 row
SELECT
    balance.account,
    balance.currency,
    balance.posted,
    balance.held
FROM lastro_balance balance
WHERE balance.digest = %(account_digest)s;

-- name: entries
-- A page of one account's entries in the order of their transfers' ids, by the two history indexes.
-- locks: none   returns: 0 … rows_max rows
SELECT
    transfer.id AS transfer_id,
    holder.name AS account,
    holder.currency AS currency,
    CAST('debit' AS varchar(16)) AS side,
    transfer.kind AS kind,
    transfer.amount AS amount,
    transfer.debit_before AS balance_before,
    transfer.debit_after AS balance_after,
    other.name AS counter_account,
    transfer.key_text AS key_,
    transfer.cause AS cause,
    transfer.reverses AS reverses,
    transfer.source AS source,
    transfer.actor AS actor,
    transfer.occurred_at AS occurred_at,
    transfer.recorded_at AS recorded_at
FROM lastro_account holder
INNER JOIN lastro_transfer transfer ON holder.id = transfer.debit_id
INNER JOIN lastro_account other ON transfer.credit_id = other.id
WHERE holder.digest = %(account_digest)s AND transfer.id > %(after)s
UNION ALL
SELECT
    transfer.id AS transfer_id,
    holder.name AS account,
    holder.currency AS currency,
    CAST('credit' AS varchar(16)) AS side,
    transfer.kind AS kind,
    transfer.amount AS amount,
    transfer.credit_before AS balance_before,
    transfer.credit_after AS balance_after,
    other.name AS counter_account,
    transfer.key_text AS key_,
    transfer.cause AS cause,
    transfer.reverses AS reverses,
    transfer.source AS source,
    transfer.actor AS actor,
    transfer.occurred_at AS occurred_at,
    transfer.recorded_at AS recorded_at
FROM lastro_account holder
INNER JOIN lastro_transfer transfer ON holder.id = transfer.credit_id
INNER JOIN lastro_account other ON transfer.debit_id = other.id
WHERE holder.digest = %(account_digest)s AND transfer.id > %(after)s
ORDER BY transfer_id
FETCH FIRST %(rows_max)s ROWS ONLY;
