-- Lots of points: opened, taken from, put back. The transaction holds the base row of every account concerned, and that
-- lock guards the account's lots; in a caller's transaction, whose snapshot may be older than the lock, they are read
-- with locks.
--
-- An account's open lots are found by their primary key and sorted: a debit costs as many rows as the account has lots
-- open. An index for each order would be paid for by every earning.

-- name: open
-- Open the lots that one transfer brought to an account.
-- locks: none   returns: nothing
SET @lastro_transfer = %(transfer_id)s, @lastro_account = %(account_id)s;
/* each */ INSERT INTO lastro.lot (transfer_id, part, account_id, amount, earned_at, expires_at)
VALUES (@lastro_transfer, %(parts)s, @lastro_account, %(amounts)s, %(earned_ats)s, %(expires_ats)s);
/* each */ INSERT INTO lastro.open_lot (account_id, transfer_id, part, left_over, earned_at, expires_at)
VALUES (@lastro_account, @lastro_transfer, %(parts)s, %(amounts)s, %(earned_ats)s, %(expires_ats)s);

-- name: soonest
-- The first lots of an account, those that expire soonest first; what never expires last, and of equals the oldest.
-- locks: none, or in a caller's transaction the account's lots   returns: 0 … lots_max rows
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM lastro.open_lot AS open_lot FORCE INDEX (primary)
WHERE
    open_lot.account_id = %(account_id)s
    AND (
        NOT %(unexpired_only)s OR open_lot.expires_at IS NULL
        OR open_lot.expires_at > coalesce(%(now)s, utc_timestamp(6))
    )
ORDER BY
    open_lot.expires_at IS NULL, open_lot.expires_at, open_lot.earned_at, open_lot.transfer_id, open_lot.part
LIMIT %(lots_max)s /* current */;

-- name: oldest
-- The first lots of an account, those earned first before the others.
-- locks: none, or in a caller's transaction the account's lots   returns: 0 … lots_max rows
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM lastro.open_lot AS open_lot FORCE INDEX (primary)
WHERE
    open_lot.account_id = %(account_id)s
    AND (
        NOT %(unexpired_only)s OR open_lot.expires_at IS NULL
        OR open_lot.expires_at > coalesce(%(now)s, utc_timestamp(6))
    )
ORDER BY open_lot.earned_at, open_lot.transfer_id, open_lot.part
LIMIT %(lots_max)s /* current */;

-- name: newest
-- The first lots of an account, those earned last before the others.
-- locks: none, or in a caller's transaction the account's lots   returns: 0 … lots_max rows
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM lastro.open_lot AS open_lot FORCE INDEX (primary)
WHERE
    open_lot.account_id = %(account_id)s
    AND (
        NOT %(unexpired_only)s OR open_lot.expires_at IS NULL
        OR open_lot.expires_at > coalesce(%(now)s, utc_timestamp(6))
    )
ORDER BY open_lot.earned_at DESC, open_lot.transfer_id DESC, open_lot.part DESC
LIMIT %(lots_max)s /* current */;

-- name: of_transfer
-- What is left of the lots that one transfer brought to an account.
-- locks: none, or in a caller's transaction these lots   returns: 1 row a lot that still holds points
SELECT
    open_lot.account_id,
    open_lot.transfer_id,
    open_lot.part,
    open_lot.left_over,
    open_lot.earned_at,
    open_lot.expires_at
FROM lastro.open_lot AS open_lot FORCE INDEX (primary)
WHERE open_lot.account_id = %(account_id)s AND open_lot.transfer_id = %(transfer_id)s /* current */;

-- name: standing
-- What the open lots of an account add up to, how much of it is past its expiry and waits for the expirer, and whether
-- another account is a member's.
-- locks: none, or in a caller's transaction the account's lots   returns: 1 row
SELECT
    coalesce(sum(open_lot.left_over), 0) AS in_lots,
    coalesce(
        sum(
            CASE
                WHEN open_lot.expires_at <= coalesce(%(now)s, utc_timestamp(6)) THEN open_lot.left_over ELSE 0
            END
        ), 0
    ) AS due,
    EXISTS(
        SELECT 1 FROM lastro.account AS other
        INNER JOIN lastro.points_member AS member ON other.name = member.name
        WHERE other.id = %(other_id)s
    ) AS other_is_members
FROM lastro.open_lot AS open_lot FORCE INDEX (primary)
WHERE open_lot.account_id = %(account_id)s /* current */;

-- name: use
-- Note what transfers took from lots (each use: transfer, number, account, the lot's transfer and part, amount), and
-- take it from what is left of them. No lot stands here twice.
-- locks: these lots, whose accounts are held already   returns: 1 row: how many of the lots held as much
SET @lastro_uses = CONVERT(%(uses)s USING utf8mb4);
SELECT count(*) INTO @lastro_met
FROM json_table(@lastro_uses, '$[*]' COLUMNS (
    account_id bigint PATH '$[2]', lot_transfer_id bigint PATH '$[3]', lot_part integer PATH '$[4]',
    amount bigint PATH '$[5]'
)) AS given
STRAIGHT_JOIN lastro.open_lot AS open_lot FORCE INDEX (primary)
    ON
        given.account_id = open_lot.account_id AND given.lot_transfer_id = open_lot.transfer_id
        AND given.lot_part = open_lot.part
WHERE open_lot.left_over >= given.amount
FOR UPDATE;
DELETE lastro.open_lot
FROM json_table(@lastro_uses, '$[*]' COLUMNS (
    account_id bigint PATH '$[2]', lot_transfer_id bigint PATH '$[3]', lot_part integer PATH '$[4]',
    amount bigint PATH '$[5]'
)) AS given
STRAIGHT_JOIN lastro.open_lot FORCE INDEX (primary)
    ON
        lastro.open_lot.account_id = given.account_id AND lastro.open_lot.transfer_id = given.lot_transfer_id
        AND lastro.open_lot.part = given.lot_part AND lastro.open_lot.left_over = given.amount;
UPDATE json_table(@lastro_uses, '$[*]' COLUMNS (
    account_id bigint PATH '$[2]', lot_transfer_id bigint PATH '$[3]', lot_part integer PATH '$[4]',
    amount bigint PATH '$[5]'
)) AS given
STRAIGHT_JOIN lastro.open_lot AS open_lot FORCE INDEX (primary)
    ON
        given.account_id = open_lot.account_id AND given.lot_transfer_id = open_lot.transfer_id
        AND given.lot_part = open_lot.part
SET open_lot.left_over = open_lot.left_over - given.amount
WHERE open_lot.left_over > given.amount;
INSERT INTO lastro.lot_use (transfer_id, number, lot_transfer_id, lot_part, amount)
SELECT
    given.transfer_id,
    given.number,
    given.lot_transfer_id,
    given.lot_part,
    given.amount
FROM json_table(@lastro_uses, '$[*]' COLUMNS (
    transfer_id bigint PATH '$[0]', number integer PATH '$[1]', lot_transfer_id bigint PATH '$[3]',
    lot_part integer PATH '$[4]', amount bigint PATH '$[5]'
)) AS given;
SELECT @lastro_met AS met;

-- name: uses_before
-- What a transfer took from lots of an account, last taken first, from before a number on.
-- locks: none, or in a caller's transaction these uses   returns: 0 … lots_max rows
SELECT
    lot_use.number,
    lot_use.amount,
    lot.account_id,
    lot.transfer_id,
    lot.part,
    lot.earned_at,
    lot.expires_at
FROM lastro.lot_use AS lot_use FORCE INDEX (primary)
STRAIGHT_JOIN lastro.lot AS lot FORCE INDEX (primary)
    ON lot_use.lot_transfer_id = lot.transfer_id AND lot_use.lot_part = lot.part
WHERE lot_use.transfer_id = %(transfer_id)s AND lot_use.number < %(before_number)s
ORDER BY lot_use.number DESC
LIMIT %(lots_max)s /* current */;

-- name: put_back
-- Put points back into the lots they came from; a lot that was empty is open again, with the expiry it always had. No
-- lot stands here twice.
-- locks: these lots, whose accounts are held already   returns: nothing
SET @lastro_uses = CONVERT(%(uses)s USING utf8mb4);
INSERT INTO lastro.lot_use (transfer_id, number, lot_transfer_id, lot_part, amount)
SELECT
    given.transfer_id,
    given.number,
    given.lot_transfer_id,
    given.lot_part,
    -given.amount
FROM json_table(@lastro_uses, '$[*]' COLUMNS (
    transfer_id bigint PATH '$[0]', number integer PATH '$[1]', lot_transfer_id bigint PATH '$[3]',
    lot_part integer PATH '$[4]', amount bigint PATH '$[5]'
)) AS given;
INSERT INTO lastro.open_lot (account_id, transfer_id, part, left_over, earned_at, expires_at)
SELECT
    lot.account_id,
    lot.transfer_id,
    lot.part,
    given.amount,
    lot.earned_at,
    lot.expires_at
FROM json_table(@lastro_uses, '$[*]' COLUMNS (
    lot_transfer_id bigint PATH '$[3]', lot_part integer PATH '$[4]', amount bigint PATH '$[5]'
)) AS given
STRAIGHT_JOIN lastro.lot AS lot FORCE INDEX (primary)
    ON given.lot_transfer_id = lot.transfer_id AND given.lot_part = lot.part
ON DUPLICATE KEY UPDATE left_over = open_lot.left_over + given.amount;

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
FROM lastro.account AS account
INNER JOIN lastro.open_lot AS open_lot ON account.id = open_lot.account_id
WHERE
    account.name = %(name)s AND account.currency = %(currency)s
    AND (
        coalesce(open_lot.expires_at, CAST(%(never)s AS datetime(6))), open_lot.earned_at, open_lot.transfer_id,
        open_lot.part
    ) > (
        CAST(%(after_expires_at)s AS datetime(6)), CAST(%(after_earned_at)s AS datetime(6)), %(after_transfer_id)s,
        %(after_part)s
    )
ORDER BY
    coalesce(open_lot.expires_at, CAST(%(never)s AS datetime(6))), open_lot.earned_at, open_lot.transfer_id,
    open_lot.part
LIMIT %(lots_max)s;
