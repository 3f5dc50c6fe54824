-- Folding the tail into the base amounts.

-- name: accounts_with_tail
-- Accounts that have something to fold in, by hopping over the tail's index from one account to the next. A round pages
-- through all of them: starting over at the lowest account would starve those above a thousand busy ones.
-- locks: none   returns: 0 … accounts_max rows
WITH RECURSIVE hop AS (
    (
        SELECT tail.account_id, 1 AS hops
        FROM lastro.tail AS tail
        WHERE tail.account_id > %(after_id)s::bigint
        ORDER BY tail.account_id
        LIMIT 1
    )
    UNION ALL
    SELECT
        (
            SELECT tail.account_id
            FROM lastro.tail AS tail
            WHERE tail.account_id > hop.account_id
            ORDER BY tail.account_id
            LIMIT 1
        ) AS account_id,
        hop.hops + 1 AS hops
    FROM hop
    WHERE hop.account_id IS NOT NULL AND hop.hops <= %(accounts_max)s::integer
)

SELECT hop.account_id
FROM hop
WHERE hop.account_id IS NOT NULL AND hop.hops <= %(accounts_max)s::integer;

-- name: fold
-- Take a bounded batch out of one account's tail and add its sum to the base amount. The rows are chosen by an ARRAY
-- sub-select, which runs once and obeys its limit whatever the statistics say; another consolidator's rows are skipped.
-- Nothing is taken from an account that has no base row. The base row comes last: whoever debits waits for one update,
-- not for the batch.
-- locks: the batch's tail rows, then the base row   returns: 0 or 1 row
WITH taken AS (
    DELETE FROM lastro.tail
    WHERE
        tail.account_id = %(account_id)s::bigint
        AND tail.transfer_id = ANY(ARRAY(
            SELECT candidate.transfer_id
            FROM lastro.tail AS candidate
            WHERE
                candidate.account_id = %(account_id)s::bigint
                AND EXISTS (SELECT FROM lastro.base AS known WHERE known.account_id = %(account_id)s::bigint)
            ORDER BY candidate.transfer_id
            LIMIT %(rows_max)s
            FOR UPDATE OF candidate SKIP LOCKED
        ))
    RETURNING tail.amount
),

batch AS MATERIALIZED (
    SELECT
        count(*) AS rows_taken,
        coalesce(sum(taken.amount), 0) AS amount
    FROM taken
)

UPDATE lastro.base
SET amount = (base.amount + batch.amount)::bigint, changed_at = coalesce(%(now)s::timestamptz, now())
FROM batch
WHERE base.account_id = %(account_id)s::bigint AND batch.rows_taken > 0
RETURNING batch.rows_taken;
