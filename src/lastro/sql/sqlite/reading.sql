-- Reading balances, entries and transfers. Nothing here locks.

-- name: balance
-- What is posted and held on one account, in one snapshot: never an entry twice, never one missing.
-- locks: none   returns: 0 or 1 row
SELECT
    balance.account,
    balance.currency,
    balance.posted,
    balance.held
FROM lastro_balance AS balance
WHERE balance.account = %(name)s AND balance.currency = %(currency)s;

-- name: entries
-- A page of one account's entries in the order of their transfers' ids, by the two history indexes.
-- locks: none   returns: 0 … rows_max rows
WITH holder AS MATERIALIZED (
    SELECT
        account.id,
        account.name,
        account.currency
    FROM lastro_account AS account
    WHERE account.name = %(name)s AND account.currency = %(currency)s
),

debit_page AS MATERIALIZED (
    SELECT transfer.id
    FROM holder
    CROSS JOIN lastro_transfer AS transfer
    WHERE transfer.debit_id = holder.id AND transfer.id > %(after)s
    ORDER BY transfer.id
    LIMIT %(rows_max)s
),

credit_page AS MATERIALIZED (
    SELECT transfer.id
    FROM holder
    CROSS JOIN lastro_transfer AS transfer
    WHERE transfer.credit_id = holder.id AND transfer.id > %(after)s
    ORDER BY transfer.id
    LIMIT %(rows_max)s
),

page AS MATERIALIZED (
    SELECT debit_page.id FROM debit_page
    UNION ALL
    SELECT credit_page.id FROM credit_page
    ORDER BY 1
    LIMIT %(rows_max)s
)

SELECT
    transfer.id AS transfer_id,
    holder.name AS account,
    holder.currency,
    CASE WHEN transfer.debit_id = holder.id THEN 'debit' ELSE 'credit' END AS side,
    transfer.kind,
    transfer.amount,
    CASE WHEN transfer.debit_id = holder.id THEN transfer.debit_before ELSE transfer.credit_before END
        AS balance_before,
    CASE WHEN transfer.debit_id = holder.id THEN transfer.debit_after ELSE transfer.credit_after END AS balance_after,
    other.name AS counter_account,
    transfer.key,
    transfer.cause,
    transfer.reverses,
    transfer.source,
    transfer.actor,
    transfer.occurred_at,
    transfer.recorded_at
FROM page
CROSS JOIN holder
INNER JOIN lastro_transfer AS transfer ON page.id = transfer.id
INNER JOIN lastro_account AS other
    ON other.id = CASE WHEN transfer.debit_id = holder.id THEN transfer.credit_id ELSE transfer.debit_id END
ORDER BY page.id;
