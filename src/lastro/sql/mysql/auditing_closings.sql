-- Auditing closings: a rule as in auditing.sql.

-- name: closings
-- Rule: each closing of an account opens with what its last one closed with; and where the history is whole, the one
-- before the newest mark says the sum of all entries up to that mark. A mark that is being made isn't looked at.
-- locks: none   returns: 1 row a closing that differs
WITH newest AS (
    SELECT
        mark.id,
        mark.id_ceiling
    FROM lastro.mark AS mark
    ORDER BY mark.id DESC
    LIMIT 1
),

chained AS (
    SELECT
        closing.account_id,
        closing.mark_id,
        closing.opening,
        closing.amount,
        lag(closing.amount) OVER (PARTITION BY closing.account_id ORDER BY closing.mark_id) AS closed_before,
        lead(closing.mark_id) OVER (PARTITION BY closing.account_id ORDER BY closing.mark_id) AS next_mark_id
    FROM lastro.closing AS closing
    INNER JOIN newest ON closing.mark_id <= newest.id
),

summed AS (
    SELECT
        side.account_id,
        sum(side.amount) AS amount
    FROM (
        SELECT
            credit.credit_id AS account_id, credit.amount
        FROM lastro.transfer AS credit
        INNER JOIN newest ON credit.id <= newest.id_ceiling
        UNION ALL
        SELECT
            debit.debit_id AS account_id, -debit.amount AS amount
        FROM lastro.transfer AS debit
        INNER JOIN newest ON debit.id <= newest.id_ceiling
    ) AS side
    WHERE %(whole_history)s
    GROUP BY side.account_id
)

SELECT
    concat_ws(' ', 'opening of', account.name, account.currency, 'at mark', chained.mark_id) AS subject,
    CAST(chained.closed_before AS char) AS expected,
    CAST(chained.opening AS char) AS found
FROM chained
INNER JOIN lastro.account AS account ON chained.account_id = account.id
WHERE chained.opening <> chained.closed_before
UNION ALL
SELECT
    concat_ws(' ', 'closing of', account.name, account.currency) AS subject,
    CAST(summed.amount AS char) AS expected,
    coalesce(CAST(chained.amount AS char), 'none') AS found
FROM summed
INNER JOIN lastro.account AS account ON summed.account_id = account.id
LEFT JOIN chained ON summed.account_id = chained.account_id AND chained.next_mark_id IS NULL
WHERE summed.amount <> coalesce(chained.amount, 0) OR chained.amount IS NULL
LIMIT %(rows_max)s;
