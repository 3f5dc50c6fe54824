-- Posting one transfer where a side is kept direct: left to the locked way, which locks by an UPDATE, looks up the key,
-- weighs, and writes only what is covered. One statement can't do all that in standard SQL.

-- name: post_both
-- Post between two accounts kept direct: written here never.
-- locks: none   returns: no row
SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.debit_before,
    transfer.debit_after,
    transfer.credit_before,
    transfer.credit_after
FROM lastro_transfer transfer
WHERE 1 = 0;

-- name: post_debit
-- Debit an account kept direct: written here never.
-- locks: none   returns: no row
SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.debit_before,
    transfer.debit_after
FROM lastro_transfer transfer
WHERE 1 = 0;

-- name: post_credit
-- Credit an account kept direct: written here never.
-- locks: none   returns: no row
SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.credit_before,
    transfer.credit_after
FROM lastro_transfer transfer
WHERE 1 = 0;
