-- Auditing closings: a rule as in auditing.sql.

-- name: closings
-- Rule: there are no closings in this dialect.
-- locks: none   returns: no row
SELECT
    account.name AS subject,
    0 AS expected,
    0 AS found
FROM lastro_account account
WHERE 1 = 0;
