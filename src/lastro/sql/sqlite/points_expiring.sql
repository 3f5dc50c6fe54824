-- Expiring lots. The transaction holds the write lock of the whole database: what it reads stays.

-- name: due
-- Lots past their expiry in the order in which they fell due, those after one of them.
-- locks: none   returns: 0 … lots_max rows
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.expires_at,
    account.currency
FROM lastro_open_lot AS open_lot
INNER JOIN lastro_account AS account ON open_lot.account_id = account.id
WHERE
    open_lot.expires_at <= %(now)s
    AND open_lot.expires_at >= coalesce(%(after_expires_at)s, -9223372036854775808)
    AND (open_lot.expires_at, open_lot.account_id, open_lot.transfer_id, open_lot.part) > (
        coalesce(%(after_expires_at)s, -9223372036854775808), %(after_account_id)s, %(after_transfer_id)s,
        %(after_part)s
    )
ORDER BY open_lot.expires_at, open_lot.account_id, open_lot.transfer_id, open_lot.part
LIMIT %(lots_max)s;

-- name: lock
-- Those of the accounts that are open.
-- locks: none that isn't held already   returns: 1 row an account
SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor,
    base.payments
FROM json_each(%(account_ids)s) AS given
CROSS JOIN lastro_base AS base
CROSS JOIN lastro_account AS account
WHERE base.account_id = given.value AND account.id = given.value AND base.state <> 'closed'
ORDER BY base.account_id;

-- name: still_due
-- What is left of these lots.
-- locks: none   returns: 1 row a lot that still holds points
WITH given_account AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS account_id
    FROM json_each(%(account_ids)s) AS given
),

given_transfer AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS transfer_id
    FROM json_each(%(transfer_ids)s) AS given
),

given_part AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS part
    FROM json_each(%(parts)s) AS given
)

SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM given_account
INNER JOIN given_transfer ON given_account.place = given_transfer.place
INNER JOIN given_part ON given_account.place = given_part.place
INNER JOIN lastro_open_lot AS open_lot
    ON
        given_account.account_id = open_lot.account_id AND given_transfer.transfer_id = open_lot.transfer_id
        AND given_part.part = open_lot.part;
