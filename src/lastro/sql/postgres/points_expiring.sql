-- Expiring lots: found without a lock, then locked and read again.

-- name: due
-- Lots past their expiry in the order in which they fell due, those after one of them.
-- locks: none   returns: 0 … lots_max rows
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.expires_at,
    account.currency
FROM lastro.open_lot AS open_lot
INNER JOIN lastro.account AS account ON open_lot.account_id = account.id
WHERE
    open_lot.expires_at <= coalesce(%(now)s::timestamptz, now())
    AND (open_lot.expires_at, open_lot.account_id, open_lot.transfer_id, open_lot.part) > (
        coalesce(%(after_expires_at)s::timestamptz, '-infinity'), %(after_account_id)s::bigint,
        %(after_transfer_id)s::bigint, %(after_part)s::integer
    )
ORDER BY open_lot.expires_at, open_lot.account_id, open_lot.transfer_id, open_lot.part
LIMIT %(lots_max)s;

-- name: lock
-- Those of the accounts that are open and that nobody else holds: who spends isn't waited for, with others held up
-- meanwhile. The balance is read by a following statement.
-- locks: the base rows that are free, in account order   returns: 1 row an account that was locked
SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor,
    base.payments
FROM lastro.base AS base
INNER JOIN lastro.account AS account ON base.account_id = account.id
WHERE base.account_id = ANY(%(account_ids)s::bigint[]) AND base.state <> 'closed'
ORDER BY base.account_id
FOR NO KEY UPDATE OF base SKIP LOCKED;

-- name: still_due
-- What is left of these lots, whose accounts this transaction holds.
-- locks: none   returns: 1 row a lot that still holds points
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM unnest(
    %(account_ids)s::bigint[], %(transfer_ids)s::bigint[], %(parts)s::integer[]
) AS given (account_id, transfer_id, part)
INNER JOIN lastro.open_lot AS open_lot
    ON
        given.account_id = open_lot.account_id AND given.transfer_id = open_lot.transfer_id
        AND given.part = open_lot.part;
