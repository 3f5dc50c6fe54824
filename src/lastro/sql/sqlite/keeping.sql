-- Changing how an account is kept while others post to it.

-- name: under_way
-- Transactions that may still post by what they knew before: none. Whoever posts holds the one write lock, and the
-- account was turned under it.
-- locks: none   returns: no row
SELECT
    0 AS "transaction",
    0 AS pid,
    '' AS application,
    0 AS age_s
WHERE 1 = 0;

-- name: turn
-- From now on whoever posts to this account weighs it first.
-- locks: none that isn't held already   returns: 1 row: which turning this is
UPDATE lastro_base
SET state = 'turning', turns = turns + 1, changed_at = %(now)s
WHERE account_id = %(account_id)s
RETURNING turns;

-- name: turn_back
-- Post to this account as before.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_base
SET state = 'open', changed_at = %(now)s
WHERE account_id = %(account_id)s;

-- name: set_terms
-- The new terms of an account, with the base amount that leaves its balance as it is.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_base
SET
    keeping = %(keeping)s,
    state = 'open',
    amount = %(amount)s,
    payments = payments + 1,
    changed_at = %(now)s
WHERE account_id = %(account_id)s;

-- name: has_tail
-- Whether anything of an account is still to be folded in.
-- locks: none   returns: 1 row
SELECT count(*) > 0 AS found
FROM (SELECT 1 AS one FROM lastro_tail AS tail WHERE tail.account_id = %(account_id)s LIMIT 1) AS first_row;

-- name: summed_history
-- What the history sums to for an account, in two halves put together.
-- locks: none   returns: 1 row
SELECT
    coalesce(
        (sum(side.amount >> 32) + (sum(side.amount & 4294967295) >> 32)) * 4294967296
        + (sum(side.amount & 4294967295) & 4294967295), 0
    ) AS amount
FROM (
    SELECT credit.amount FROM lastro_transfer AS credit WHERE credit.credit_id = %(account_id)s
    UNION ALL
    SELECT -debit.amount AS amount FROM lastro_transfer AS debit WHERE debit.debit_id = %(account_id)s
) AS side;
