-- Expiring lots: found without a lock, then locked and read again. Only on the ledger's own connections, whose
-- statements see what is committed.

-- name: due
-- Lots past their expiry in the order in which they fell due, those after one of them.
-- locks: none   returns: 0 … lots_max rows
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.expires_at,
    account.currency
FROM lastro.open_lot AS open_lot FORCE INDEX (open_lot_due)
STRAIGHT_JOIN lastro.account AS account FORCE INDEX (primary) ON open_lot.account_id = account.id
WHERE
    open_lot.expires_at <= coalesce(%(now)s, utc_timestamp(6))
    AND (
        %(after_expires_at)s IS NULL
        OR open_lot.expires_at > %(after_expires_at)s
        OR (
            open_lot.expires_at = %(after_expires_at)s
            AND (open_lot.account_id, open_lot.transfer_id, open_lot.part)
            > (%(after_account_id)s, %(after_transfer_id)s, %(after_part)s)
        )
    )
ORDER BY open_lot.expires_at, open_lot.account_id, open_lot.transfer_id, open_lot.part
LIMIT %(lots_max)s;

-- name: lock
-- Those of the accounts that are open and that nobody else holds: who spends isn't waited for, with others held up
-- meanwhile. The balance is read by a following statement.
-- locks: the base rows that are free, in account order   returns: 1 row an account that was locked
SELECT coalesce(JSON_ARRAYAGG(locked.account_id), '[]') INTO @lastro_locked
FROM (
    SELECT base.account_id
    FROM json_table(%(account_ids)s, '$[*]' COLUMNS (account_id bigint PATH '$')) AS asked
    STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON asked.account_id = base.account_id
    WHERE base.state <> 'closed'
    ORDER BY asked.account_id
    FOR UPDATE SKIP LOCKED
) AS locked;
SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor,
    base.payments
FROM json_table(@lastro_locked, '$[*]' COLUMNS (account_id bigint PATH '$')) AS locked
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON locked.account_id = base.account_id
STRAIGHT_JOIN lastro.account AS account FORCE INDEX (primary) ON base.account_id = account.id
ORDER BY locked.account_id;

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
FROM json_table(%(account_ids__transfer_ids__parts)s, '$[*]' COLUMNS (
    account_id bigint PATH '$[0]', transfer_id bigint PATH '$[1]', part integer PATH '$[2]'
)) AS given
STRAIGHT_JOIN lastro.open_lot AS open_lot FORCE INDEX (primary)
    ON
        given.account_id = open_lot.account_id AND given.transfer_id = open_lot.transfer_id
        AND given.part = open_lot.part;
