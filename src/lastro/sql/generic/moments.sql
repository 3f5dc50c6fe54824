-- What an account stood at, at a moment of the past: the sum of its history, for there are no closings here.

-- name: find
-- The account; all of its entries are to be looked at.
-- locks: none   returns: 0 or 1 row
SELECT
    account.id AS account_id,
    account.name AS account,
    account.currency,
    0 AS id_ceiling,
    0 AS base,
    NULLIF(0, 0) AS retired_at,
    0 AS corrected,
    0 AS counted,
    NULLIF(0, 0) AS entries,
    1 AS first_id,
    9223372036854775807 AS last_id,
    NULLIF(0, 0) AS found,
    NULLIF(0, 0) AS earlier,
    NULLIF(0, 0) AS later
FROM lastro_account account
WHERE account.digest = %(account_digest)s;

-- name: sums
-- What an account's entries in a range of ids sum up to: those up to a moment, and those after it.
-- locks: none   returns: 1 row; with the number of entries
SELECT
    count(*) AS found,
    coalesce(sum(CASE WHEN side.moment_at <= %(at)s THEN side.amount ELSE 0 END), 0) AS earlier,
    coalesce(sum(CASE WHEN side.moment_at > %(at)s THEN side.amount ELSE 0 END), 0) AS later
FROM (
    SELECT
        credited.amount,
        CASE WHEN %(by_occurred)s = 1 THEN credited.occurred_at ELSE credited.recorded_at END AS moment_at
    FROM lastro_transfer credited
    WHERE
        credited.credit_id = %(account_id)s
        AND credited.id >= %(first_id)s AND credited.id <= %(last_id)s
    UNION ALL
    SELECT
        -debited.amount AS amount,
        CASE WHEN %(by_occurred)s = 1 THEN debited.occurred_at ELSE debited.recorded_at END AS moment_at
    FROM lastro_transfer debited
    WHERE
        debited.debit_id = %(account_id)s
        AND debited.id >= %(first_id)s AND debited.id <= %(last_id)s
) side;
