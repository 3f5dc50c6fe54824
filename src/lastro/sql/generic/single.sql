-- Posting one transfer between an account kept direct and the world: left to the locked way, as in direct.sql.

-- name: credit
-- Credit an account kept direct out of the world: written here never.
-- locks: none   returns: no row
SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.credit_before,
    transfer.credit_after
FROM lastro_transfer transfer
WHERE 1 = 0;

-- name: debit
-- Debit an account kept direct to the world: written here never.
-- locks: none   returns: no row
SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.debit_before,
    transfer.debit_after
FROM lastro_transfer transfer
WHERE 1 = 0;
