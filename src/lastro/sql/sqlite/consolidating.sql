-- Folding the tail into the base amounts.

-- name: accounts_with_tail
-- Accounts that have something to fold in, by hopping over the tail's index from one account to the next.
-- locks: none   returns: 0 … accounts_max rows
WITH RECURSIVE hop AS (
    SELECT
        (SELECT min(tail.account_id) FROM lastro_tail AS tail WHERE tail.account_id > %(after_id)s) AS account_id,
        1 AS hops
    UNION ALL
    SELECT
        (SELECT min(tail.account_id) FROM lastro_tail AS tail WHERE tail.account_id > hop.account_id) AS account_id,
        hop.hops + 1 AS hops
    FROM hop
    WHERE hop.account_id IS NOT NULL AND hop.hops <= %(accounts_max)s
)

SELECT hop.account_id
FROM hop
WHERE hop.account_id IS NOT NULL AND hop.hops <= %(accounts_max)s;

-- name: fold
-- Add the sum of a bounded batch of one account's tail to the base amount, then take the batch out of the tail: nobody
-- else writes in between. Nothing is taken from an account that has no base row. The sum goes in two halves, and what
-- leaves 64 bits fails on the column's type.
-- locks: none that isn't held already   returns: 0 or 1 row
WITH batch AS MATERIALIZED (
    SELECT
        count(*) AS rows_taken,
        sum(taken.amount >> 32) AS high,
        sum(taken.amount & 4294967295) AS low
    FROM (
        SELECT tail.amount
        FROM lastro_tail AS tail
        WHERE tail.account_id = %(account_id)s
        ORDER BY tail.transfer_id
        LIMIT %(rows_max)s
    ) AS taken
)

UPDATE lastro_base
SET
    amount = lastro_base.amount
    + ((batch.high + (batch.low >> 32)) * 4294967296 + (batch.low & 4294967295)),
    changed_at = %(now)s
FROM batch
WHERE lastro_base.account_id = %(account_id)s AND batch.rows_taken > 0
RETURNING
    (
        SELECT count(*)
        FROM (
            SELECT 1 AS one FROM lastro_tail AS tail
            WHERE tail.account_id = %(account_id)s
            LIMIT %(rows_max)s
        ) AS taken
    ) AS rows_taken;

DELETE FROM lastro_tail
WHERE
    account_id = %(account_id)s
    AND transfer_id <= (
        SELECT max(taken.transfer_id)
        FROM (
            SELECT tail.transfer_id
            FROM lastro_tail AS tail
            WHERE tail.account_id = %(account_id)s
            ORDER BY tail.transfer_id
            LIMIT %(rows_max)s
        ) AS taken
    );
