-- Posting a few transfers: left to batch.sql, which posts any number. Here they are never "plain".

-- name: lock
-- The terms and amounts of the accounts kept direct: none is plain.
-- locks: none   returns: no row
SELECT
    base.account_id,
    base.keeping,
    base.state,
    base.floor,
    base.amount,
    base.held
FROM lastro_base base
WHERE 1 = 0;

-- name: write
-- Write history and base rows: written here never.
-- locks: none   returns: no row
SELECT
    transfer.id AS ids,
    transfer.recorded_at
FROM lastro_transfer transfer
WHERE 1 = 0;
