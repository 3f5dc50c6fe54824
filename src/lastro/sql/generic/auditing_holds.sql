-- Auditing holds: rules as in auditing.sql.

-- name: held
-- Rule: there are no holds in this dialect.
-- locks: none   returns: no row
SELECT
    account.name AS subject,
    0 AS expected,
    0 AS found
FROM lastro_account account
WHERE 1 = 0;

-- name: holds
-- Rule: there are no holds in this dialect.
-- locks: none   returns: no row
SELECT
    account.name AS subject,
    0 AS expected,
    0 AS found
FROM lastro_account account
WHERE 1 = 0;

-- name: hold_events
-- Rule: there are no holds in this dialect.
-- locks: none   returns: no row
SELECT
    account.name AS subject,
    0 AS expected,
    0 AS found
FROM lastro_account account
WHERE 1 = 0;
