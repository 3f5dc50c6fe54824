-- Lots of points: opened, taken from, put back. The transaction holds the write lock of the whole database: what it
-- reads stays.
--
-- An account's open lots are found by their primary key and sorted: a debit costs as many rows as the account has lots
-- open. An index for each order would be paid for by every earning.

-- name: open
-- Open the lots that one transfer brought to an account.
-- locks: none   returns: nothing
WITH brought_part AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS part
    FROM json_each(%(parts)s) AS given
),

brought_amount AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS amount
    FROM json_each(%(amounts)s) AS given
),

brought_earned AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS earned_at
    FROM json_each(%(earned_ats)s) AS given
),

brought_expires AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS expires_at
    FROM json_each(%(expires_ats)s) AS given
)

INSERT INTO lastro_lot (transfer_id, part, account_id, amount, earned_at, expires_at)
SELECT
    %(transfer_id)s,
    brought_part.part,
    %(account_id)s,
    brought_amount.amount,
    brought_earned.earned_at,
    brought_expires.expires_at
FROM brought_part
INNER JOIN brought_amount ON brought_part.place = brought_amount.place
INNER JOIN brought_earned ON brought_part.place = brought_earned.place
INNER JOIN brought_expires ON brought_part.place = brought_expires.place;

INSERT INTO lastro_open_lot (account_id, transfer_id, part, left_over, earned_at, expires_at)
SELECT
    lot.account_id,
    lot.transfer_id,
    lot.part,
    lot.amount,
    lot.earned_at,
    lot.expires_at
FROM lastro_lot AS lot
INNER JOIN json_each(%(parts)s) AS given ON lot.part = given.value
WHERE lot.transfer_id = %(transfer_id)s;

-- name: soonest
-- The first lots of an account, those that expire soonest first; what never expires last, and of equals the oldest.
-- locks: none   returns: 0 … lots_max rows
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM lastro_open_lot AS open_lot
WHERE
    open_lot.account_id = %(account_id)s
    AND (
        NOT %(unexpired_only)s OR open_lot.expires_at IS NULL
        OR open_lot.expires_at > %(now)s
    )
ORDER BY
    open_lot.expires_at IS NULL, open_lot.expires_at, open_lot.earned_at, open_lot.transfer_id, open_lot.part
LIMIT %(lots_max)s;

-- name: oldest
-- The first lots of an account, those earned first before the others.
-- locks: none   returns: 0 … lots_max rows
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM lastro_open_lot AS open_lot
WHERE
    open_lot.account_id = %(account_id)s
    AND (
        NOT %(unexpired_only)s OR open_lot.expires_at IS NULL
        OR open_lot.expires_at > %(now)s
    )
ORDER BY open_lot.earned_at, open_lot.transfer_id, open_lot.part
LIMIT %(lots_max)s;

-- name: newest
-- The first lots of an account, those earned last before the others.
-- locks: none   returns: 0 … lots_max rows
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM lastro_open_lot AS open_lot
WHERE
    open_lot.account_id = %(account_id)s
    AND (
        NOT %(unexpired_only)s OR open_lot.expires_at IS NULL
        OR open_lot.expires_at > %(now)s
    )
ORDER BY open_lot.earned_at DESC, open_lot.transfer_id DESC, open_lot.part DESC
LIMIT %(lots_max)s;

-- name: of_transfer
-- What is left of the lots that one transfer brought to an account.
-- locks: none   returns: 1 row a lot that still holds points
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM lastro_open_lot AS open_lot
WHERE open_lot.account_id = %(account_id)s AND open_lot.transfer_id = %(transfer_id)s;

-- name: standing
-- What the open lots of an account add up to, how much of it is past its expiry and waits for the expirer, and whether
-- another account is a member's.
-- locks: none   returns: 1 row
SELECT
    coalesce(sum(open_lot.left_over), 0) AS in_lots,
    coalesce(sum(open_lot.left_over) FILTER (WHERE open_lot.expires_at <= %(now)s), 0) AS due,
    EXISTS(
        SELECT 1 FROM lastro_account AS other
        INNER JOIN lastro_points_member AS member ON other.name = member.name
        WHERE other.id = %(other_id)s
    ) AS other_is_members
FROM lastro_open_lot AS open_lot
WHERE open_lot.account_id = %(account_id)s;

-- name: use
-- Note what transfers took from lots (each use: transfer, number, account, the lot's transfer and part, amount), and
-- take it from what is left of them. No lot stands here twice.
-- locks: none that isn't held already   returns: 1 row: how many of the lots held as much
SELECT count(*) AS met
FROM json_each(%(uses)s) AS given
CROSS JOIN lastro_open_lot AS open_lot
WHERE
    open_lot.account_id = given.value ->> 2 AND open_lot.transfer_id = given.value ->> 3
    AND open_lot.part = given.value ->> 4 AND open_lot.left_over >= given.value ->> 5;

DELETE FROM lastro_open_lot
WHERE (account_id, transfer_id, part) IN (
    SELECT
        emptied.account_id,
        emptied.transfer_id,
        emptied.part
    FROM json_each(%(uses)s) AS given
    CROSS JOIN lastro_open_lot AS emptied
    WHERE
        emptied.account_id = given.value ->> 2 AND emptied.transfer_id = given.value ->> 3
        AND emptied.part = given.value ->> 4 AND emptied.left_over = given.value ->> 5
);

UPDATE lastro_open_lot
SET left_over = lastro_open_lot.left_over - (given.value ->> 5)
FROM json_each(%(uses)s) AS given
WHERE
    lastro_open_lot.account_id = given.value ->> 2 AND lastro_open_lot.transfer_id = given.value ->> 3
    AND lastro_open_lot.part = given.value ->> 4 AND lastro_open_lot.left_over > given.value ->> 5;

INSERT INTO lastro_lot_use (transfer_id, number, lot_transfer_id, lot_part, amount)
SELECT
    given.value ->> 0,
    given.value ->> 1,
    given.value ->> 3,
    given.value ->> 4,
    given.value ->> 5
FROM json_each(%(uses)s) AS given;

-- name: uses_before
-- What a transfer took from lots of an account, last taken first, from before a number on.
-- locks: none   returns: 0 … lots_max rows
SELECT
    lot_use.number,
    lot_use.amount,
    lot.account_id,
    lot.transfer_id,
    lot.part,
    lot.earned_at,
    lot.expires_at
FROM lastro_lot_use AS lot_use
INNER JOIN lastro_lot AS lot ON lot_use.lot_transfer_id = lot.transfer_id AND lot_use.lot_part = lot.part
WHERE lot_use.transfer_id = %(transfer_id)s AND lot_use.number < %(before_number)s
ORDER BY lot_use.number DESC
LIMIT %(lots_max)s;

-- name: put_back
-- Put points back into the lots they came from; a lot that was empty is open again, with the expiry it always had. No
-- lot stands here twice.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro_lot_use (transfer_id, number, lot_transfer_id, lot_part, amount)
SELECT
    given.value ->> 0,
    given.value ->> 1,
    given.value ->> 3,
    given.value ->> 4,
    -(given.value ->> 5)
FROM json_each(%(uses)s) AS given;

INSERT INTO lastro_open_lot (account_id, transfer_id, part, left_over, earned_at, expires_at)
SELECT
    lot.account_id,
    lot.transfer_id,
    lot.part,
    given.value ->> 5,
    lot.earned_at,
    lot.expires_at
FROM json_each(%(uses)s) AS given
CROSS JOIN lastro_lot AS lot
WHERE lot.transfer_id = given.value ->> 3 AND lot.part = given.value ->> 4
ON CONFLICT (account_id, transfer_id, part) DO UPDATE SET left_over = lastro_open_lot.left_over + excluded.left_over;

-- name: list
-- A page of an account's open lots in the order in which they expire, those after one of them. What never expires
-- stands at %(never)s, beyond every moment a lot can have.
-- locks: none   returns: 0 … lots_max rows
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM lastro_account AS account
INNER JOIN lastro_open_lot AS open_lot ON account.id = open_lot.account_id
WHERE
    account.name = %(name)s AND account.currency = %(currency)s
    AND (
        coalesce(open_lot.expires_at, %(never)s), open_lot.earned_at, open_lot.transfer_id, open_lot.part
    ) > (
        %(after_expires_at)s, %(after_earned_at)s, %(after_transfer_id)s,
        %(after_part)s
    )
ORDER BY
    coalesce(open_lot.expires_at, %(never)s), open_lot.earned_at, open_lot.transfer_id, open_lot.part
LIMIT %(lots_max)s;
