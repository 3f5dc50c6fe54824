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
WHERE balance.account = %(name)s::text AND balance.currency = %(currency)s::text;

-- name: entries
-- A page of one account's entries in the order of their transfers' ids, by the two history indexes. The account is
-- found by its name here and now: an id that a process remembers may be one that was rolled back.
-- locks: none   returns: 0 … rows_max rows
WITH holder AS MATERIALIZED (
    SELECT
        account.id,
        account.name,
        account.currency
    FROM lastro.account AS account
    WHERE account.name = %(name)s::text AND account.currency = %(currency)s::text
),

page AS (
    (
        SELECT
            transfer.id,
            transfer.debit_id,
            transfer.credit_id,
            transfer.kind,
            transfer.amount,
            transfer.debit_before,
            transfer.debit_after,
            transfer.credit_before,
            transfer.credit_after,
            transfer.key,
            transfer.cause,
            transfer.reverses,
            transfer.source,
            transfer.actor,
            transfer.occurred_at,
            transfer.recorded_at
        FROM lastro.transfer AS transfer
        WHERE transfer.debit_id = (SELECT holder.id FROM holder) AND transfer.id > %(after)s::bigint
        ORDER BY transfer.id
        LIMIT %(rows_max)s
    )
    UNION ALL
    (
        SELECT
            transfer.id,
            transfer.debit_id,
            transfer.credit_id,
            transfer.kind,
            transfer.amount,
            transfer.debit_before,
            transfer.debit_after,
            transfer.credit_before,
            transfer.credit_after,
            transfer.key,
            transfer.cause,
            transfer.reverses,
            transfer.source,
            transfer.actor,
            transfer.occurred_at,
            transfer.recorded_at
        FROM lastro.transfer AS transfer
        WHERE transfer.credit_id = (SELECT holder.id FROM holder) AND transfer.id > %(after)s::bigint
        ORDER BY transfer.id
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
    page.kind,
    page.amount,
    CASE WHEN page.debit_id = holder.id THEN page.debit_before ELSE page.credit_before END AS balance_before,
    CASE WHEN page.debit_id = holder.id THEN page.debit_after ELSE page.credit_after END AS balance_after,
    other.name AS counter_account,
    page.key,
    page.cause,
    page.reverses,
    page.source,
    page.actor,
    page.occurred_at,
    page.recorded_at
FROM page
CROSS JOIN holder
INNER JOIN lastro.account AS other
    ON other.id = CASE WHEN page.debit_id = holder.id THEN page.credit_id ELSE page.debit_id END
ORDER BY page.id;
