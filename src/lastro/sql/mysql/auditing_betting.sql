-- Auditing bets: rules as in auditing.sql.

-- name: bet_entries
-- Rule: there are no bets in this dialect.
-- locks: none   returns: no row
SELECT
    account.name AS subject,
    0 AS expected,
    0 AS found
FROM lastro.account AS account
WHERE 1 = 0;

-- name: bet_versions
-- Rule: there are no bets in this dialect.
-- locks: none   returns: no row
SELECT
    account.name AS subject,
    0 AS expected,
    0 AS found
FROM lastro.account AS account
WHERE 1 = 0;

-- name: open_bets
-- Rule: there are no bets in this dialect.
-- locks: none   returns: no row
SELECT
    account.name AS subject,
    0 AS expected,
    0 AS found
FROM lastro.account AS account
WHERE 1 = 0;

-- name: exposures
-- Rule: there are no bets in this dialect.
-- locks: none   returns: no row
SELECT
    account.name AS subject,
    0 AS expected,
    0 AS found
FROM lastro.account AS account
WHERE 1 = 0;
