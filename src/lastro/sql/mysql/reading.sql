-- Reading balances, entries and transfers. Nothing here locks.

-- name: balance
-- What is posted and held on one account, in one snapshot: never an entry twice, never one missing.
-- locks: none   returns: 0 or 1 row
SELECT
    balance.account,
    balance.currency,
    balance.posted,
    balance.held
FROM lastro.balance AS balance
WHERE balance.account = %(name)s AND balance.currency = %(currency)s;

-- name: entries
-- A page of one account's entries in the order of their transfers' ids, by the two history indexes. The account is
-- found by its name here and now: an id that a process remembers may be one that was rolled back.
-- locks: none   returns: 0 … rows_max rows
WITH holder AS (
    SELECT
        account.id,
        account.name,
        account.currency
    FROM lastro.account AS account
    WHERE account.name = %(name)s AND account.currency = %(currency)s
),

page AS (
    (
        SELECT
            debited.id,
            debited.debit_id,
            debited.credit_id
        FROM lastro.transfer AS debited
        WHERE debited.debit_id = (SELECT holder.id FROM holder) AND debited.id > %(after)s
        ORDER BY debited.id
        LIMIT %(rows_max)s
    )
    UNION ALL
    (
        SELECT
            credited.id,
            credited.debit_id,
            credited.credit_id
        FROM lastro.transfer AS credited
        WHERE credited.credit_id = (SELECT holder.id FROM holder) AND credited.id > %(after)s
        ORDER BY credited.id
        LIMIT %(rows_max)s
    )
    ORDER BY id
    LIMIT %(rows_max)s
)

SELECT
    page.id AS transfer_id,
    holder.name AS account,
    holder.currency,
    CASE WHEN page.debit_id = holder.id THEN 'debit' ELSE 'credit' END AS side,
    transfer.kind,
    transfer.amount,
    CASE WHEN page.debit_id = holder.id THEN transfer.debit_before ELSE transfer.credit_before END AS balance_before,
    CASE WHEN page.debit_id = holder.id THEN transfer.debit_after ELSE transfer.credit_after END AS balance_after,
    other.name AS counter_account,
    transfer.`key`,
    transfer.cause,
    transfer.reverses,
    CAST(transfer.source AS binary) AS source,
    CAST(transfer.actor AS binary) AS actor,
    transfer.occurred_at,
    transfer.recorded_at
FROM page
CROSS JOIN holder
INNER JOIN lastro.transfer AS transfer ON page.debit_id = transfer.debit_id AND page.id = transfer.id
INNER JOIN lastro.account AS other
    ON other.id = CASE WHEN page.debit_id = holder.id THEN page.credit_id ELSE page.debit_id END
ORDER BY page.id;
