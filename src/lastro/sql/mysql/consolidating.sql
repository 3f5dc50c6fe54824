-- Folding the tail into the base amounts.

-- name: accounts_with_tail
-- Accounts that have something to fold in, by hopping over the tail's index from one account to the next. A round pages
-- through all of them: starting over at the lowest account would starve those above a thousand busy ones.
-- locks: none   returns: 0 … accounts_max rows
SELECT DISTINCT tail.account_id
FROM lastro.tail AS tail
WHERE tail.account_id > %(after_id)s
ORDER BY tail.account_id
LIMIT %(accounts_max)s;

-- name: fold
-- Take a bounded batch out of one account's tail and add its sum to the base amount. Nothing is taken from an account
-- that has no base row; rows that their own transaction still holds are skipped. The base row comes first: a debit
-- inside a caller's transaction locks it and then reads the tail with locks, so that the other order would deadlock
-- with every one of them. (A DELETE through an alias wants a default database, which a caller may not have.)
-- locks: the base row, then the batch's tail rows   returns: 0 or 1 row
SELECT count(*) INTO @lastro_held
FROM lastro.base AS base
WHERE base.account_id = %(account_id)s
FOR UPDATE;
SELECT
    count(*),
    coalesce(sum(picked.amount), 0),
    coalesce(JSON_ARRAYAGG(picked.transfer_id), '[]')
INTO @lastro_rows, @lastro_sum, @lastro_picked
FROM (
    SELECT
        tail.transfer_id,
        tail.amount
    FROM lastro.tail AS tail FORCE INDEX (primary)
    WHERE tail.account_id = %(account_id)s AND @lastro_held = 1
    ORDER BY tail.transfer_id
    LIMIT %(rows_max)s
    FOR UPDATE SKIP LOCKED
) AS picked;
DELETE lastro.tail
FROM json_table(@lastro_picked, '$[*]' COLUMNS (transfer_id bigint PATH '$')) AS picked
STRAIGHT_JOIN lastro.tail FORCE INDEX (primary)
    ON lastro.tail.account_id = %(account_id)s AND lastro.tail.transfer_id = picked.transfer_id;
UPDATE lastro.base
SET amount = amount + @lastro_sum, changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE account_id = %(account_id)s AND @lastro_rows > 0;
SELECT @lastro_rows AS rows_taken;
