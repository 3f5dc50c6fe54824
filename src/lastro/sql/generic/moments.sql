-- What an account stood at, at a moment of the past: the sum of its history, for there are no closings here.

-- name: find
-- The account.
-- locks: none   returns: 0 or 1 row
SELECT
    account.id AS account_id,
    account.name AS account,
    account.currency,
    0 AS id_ceiling,
    NULLIF(0, 0) AS base,
    0 AS corrected,
    0 AS counted,
    0 AS entries,
    NULLIF(0, 0) AS first_id,
    NULLIF(0, 0) AS last_id,
    NULLIF(0, 0) AS found,
    NULLIF(0, 0) AS earlier,
    NULLIF(0, 0) AS later
FROM lastro_account account
WHERE account.digest = %(account_digest)s;

-- name: sums
-- What an account's entries in a range of ids sum up to.
-- locks: none   returns: nothing
-- refused: closing days takes knowing which transactions are under way, and standard SQL can't ask

-- name: less_later
-- What was posted on an account by everything up to a moment.
-- locks: none   returns: 0 or 1 row
SELECT
    coalesce((
        SELECT sum(credited.amount) FROM lastro_transfer credited
        WHERE
            credited.credit_id = account.id
            AND CASE WHEN %(by_occurred)s = 1 THEN credited.occurred_at ELSE credited.recorded_at END <= %(at)s
    ), 0)
    - coalesce((
        SELECT sum(debited.amount) FROM lastro_transfer debited
        WHERE
            debited.debit_id = account.id
            AND CASE WHEN %(by_occurred)s = 1 THEN debited.occurred_at ELSE debited.recorded_at END <= %(at)s
    ), 0) AS posted
FROM lastro_account account
WHERE account.id = %(account_id)s;
