-- Auditing: what must hold of a ledger at rest, each rule a query that returns the rows that break it. Nothing here
-- locks. Numbers come as such, and the engine shows them as text, for databases differ in how they put text together.

-- name: currency_sums
-- Rule: what all accounts of one currency have posted adds up to nothing, for a transfer only moves money.
-- locks: none   returns: 1 row a currency that doesn't add up
SELECT
    balance.currency AS subject,
    0 AS expected,
    sum(balance.posted) AS found
FROM lastro_balance balance
GROUP BY balance.currency
HAVING sum(balance.posted) <> 0
ORDER BY subject
FETCH FIRST %(rows_max)s ROWS ONLY;

-- name: entry_sums
-- Rule: every transfer shows both its entries in one currency.
-- locks: none   returns: 1 row a transfer that doesn't
SELECT
    transfer.key_text AS subject,
    'two entries of one currency' AS expected,
    count(entry.account_id) AS found
FROM lastro_transfer transfer
LEFT JOIN lastro_entry entry ON transfer.id = entry.transfer_id
GROUP BY transfer.id, transfer.key_text
HAVING count(entry.account_id) <> 2 OR min(entry.currency) <> max(entry.currency)
ORDER BY subject
FETCH FIRST %(rows_max)s ROWS ONLY;

-- name: balances
-- Rule: an account's balance is the sum of its whole history, however it is kept.
-- locks: none   returns: 1 row an account that differs
SELECT
    weighed.account AS subject,
    weighed.history AS expected,
    weighed.posted AS found
FROM (
    SELECT
        balance.account,
        balance.posted,
        coalesce((
            SELECT sum(credited.amount) FROM lastro_transfer credited WHERE credited.credit_id = balance.account_id
        ), 0)
        - coalesce((
            SELECT sum(debited.amount) FROM lastro_transfer debited WHERE debited.debit_id = balance.account_id
        ), 0) AS history
    FROM lastro_balance balance
) weighed
WHERE weighed.posted <> weighed.history
ORDER BY subject
FETCH FIRST %(rows_max)s ROWS ONLY;

-- name: account_rows
-- Rule: each account has a base row, each base row an account, and each transfer two accounts.
-- locks: none   returns: 1 row for each one without the other
SELECT
    account.name AS subject,
    'a base row' AS expected,
    'none' AS found
FROM lastro_account account
WHERE NOT EXISTS (SELECT 1 FROM lastro_base base WHERE base.account_id = account.id)
UNION ALL
SELECT
    CAST(base.account_id AS varchar(340)) AS subject,
    'an account' AS expected,
    'none' AS found
FROM lastro_base base
WHERE NOT EXISTS (SELECT 1 FROM lastro_account account WHERE account.id = base.account_id)
UNION ALL
SELECT
    transfer.key_text AS subject,
    'two accounts' AS expected,
    'none' AS found
FROM lastro_transfer transfer
WHERE
    NOT EXISTS (SELECT 1 FROM lastro_account debit WHERE debit.id = transfer.debit_id)
    OR NOT EXISTS (SELECT 1 FROM lastro_account credit WHERE credit.id = transfer.credit_id)
ORDER BY subject
FETCH FIRST %(rows_max)s ROWS ONLY;

-- name: chains
-- Rule: an entry that says the balance before itself says the one after the entry before it that says any.
-- locks: none   returns: 1 row an entry at which a chain breaks
SELECT
    chained.key_text AS subject,
    chained.carried AS expected,
    chained.balance_before AS found
FROM (
    SELECT
        entry.key_text,
        entry.balance_before,
        lag(entry.balance_after) OVER (PARTITION BY entry.account_id ORDER BY entry.transfer_id) AS carried
    FROM lastro_entry entry
    WHERE entry.balance_before IS NOT NULL
) chained
WHERE chained.balance_before <> chained.carried
ORDER BY subject
FETCH FIRST %(rows_max)s ROWS ONLY;

-- name: last_balances
-- Rule: the newest entry of an account kept direct says the balance that the account has.
-- locks: none   returns: 1 row an account that differs
SELECT
    entry.account AS subject,
    entry.balance_after AS expected,
    base.amount AS found
FROM lastro_base base
INNER JOIN lastro_entry entry ON base.account_id = entry.account_id
WHERE
    base.keeping = 'direct' AND entry.balance_after <> base.amount
    AND NOT EXISTS (
        SELECT 1 FROM lastro_entry newer
        WHERE newer.account_id = entry.account_id AND newer.transfer_id > entry.transfer_id
    )
ORDER BY subject
FETCH FIRST %(rows_max)s ROWS ONLY;

-- name: tails
-- Rule: no account is kept hot, so there is no tail to look at.
-- locks: none   returns: no row
SELECT
    lone.version_name AS subject,
    '' AS expected,
    '' AS found
FROM lastro_version lone
WHERE 1 = 0
ORDER BY subject
FETCH FIRST %(rows_max)s ROWS ONLY;

-- name: keys
-- Rule: each transfer is found by its key; an index that has lost a row would let its key post again.
-- locks: none   returns: 1 row a transfer that isn't found
SELECT
    transfer.key_text AS subject,
    transfer.id AS expected,
    'none' AS found
FROM lastro_transfer transfer
WHERE
    transfer.amount <> 0
    AND NOT EXISTS (
        SELECT 1 FROM lastro_transfer named
        WHERE named.key_digest = transfer.key_digest AND named.id = transfer.id
    )
ORDER BY subject
FETCH FIRST %(rows_max)s ROWS ONLY;

-- name: reversals
-- Rule: the reversed parts of a transfer stand end to end, within its amount, each with a transfer that says how much
-- it reverses, the other way round.
-- locks: none   returns: 1 row a part that doesn't
SELECT
    part.transfer_id AS subject,
    part.reversed_before AS expected,
    part.already AS found
FROM (
    SELECT
        reversal.original_id,
        reversal.transfer_id,
        reversal.already,
        reversal.amount,
        reversal.original_amount,
        coalesce((
            SELECT sum(earlier.amount) FROM lastro_reversal earlier
            WHERE earlier.original_id = reversal.original_id AND earlier.already < reversal.already
        ), 0) AS reversed_before
    FROM lastro_reversal reversal
) part
LEFT JOIN lastro_transfer original ON part.original_id = original.id
LEFT JOIN lastro_transfer undoing ON part.transfer_id = undoing.id
WHERE
    part.already <> part.reversed_before
    OR original.id IS NULL OR undoing.id IS NULL
    OR part.original_amount <> original.amount OR part.amount <> undoing.amount
    OR original.credit_id <> undoing.debit_id OR original.debit_id <> undoing.credit_id
    OR undoing.reverses IS NULL OR undoing.reverses <> original.key_text
ORDER BY subject
FETCH FIRST %(rows_max)s ROWS ONLY;

-- name: lot_sums
-- Rule: there are no points in this dialect, and no lots.
-- locks: none   returns: no row
SELECT
    account.name AS subject,
    0 AS expected,
    0 AS found
FROM lastro_account account
WHERE 1 = 0;

-- name: lots
-- Rule: there are no points in this dialect, and no lots.
-- locks: none   returns: no row
SELECT
    account.name AS subject,
    0 AS expected,
    0 AS found
FROM lastro_account account
WHERE 1 = 0;
