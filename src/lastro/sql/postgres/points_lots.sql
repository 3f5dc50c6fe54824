-- Lots of points: opened, taken from, put back. The transaction holds the base row of every account concerned, and that
-- lock guards the account's lots; each statement reads them in a snapshot of its own, taken after the lock was granted.
--
-- An account's open lots are found by their primary key and sorted: a debit costs as many rows as the account has lots
-- open. An index for each order would be paid for by every earning.

-- name: open
-- Open the lots that one transfer brought to an account.
-- locks: none   returns: nothing
WITH brought AS MATERIALIZED (
    SELECT
        given.part,
        given.amount,
        given.earned_at,
        given.expires_at
    FROM unnest(
        %(parts)s::integer[], %(amounts)s::bigint[], %(earned_ats)s::timestamptz[], %(expires_ats)s::timestamptz[]
    ) AS given (part, amount, earned_at, expires_at)
),

recorded AS (
    INSERT INTO lastro.lot (transfer_id, part, account_id, amount, earned_at, expires_at)
    SELECT
        %(transfer_id)s::bigint,
        brought.part,
        %(account_id)s::bigint,
        brought.amount,
        brought.earned_at,
        brought.expires_at
    FROM brought
)

INSERT INTO lastro.open_lot (account_id, transfer_id, part, left_over, earned_at, expires_at)
SELECT
    %(account_id)s::bigint,
    %(transfer_id)s::bigint,
    brought.part,
    brought.amount,
    brought.earned_at,
    brought.expires_at
FROM brought;

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
FROM lastro.open_lot AS open_lot
WHERE
    open_lot.account_id = %(account_id)s::bigint
    AND (
        NOT %(unexpired_only)s::boolean OR open_lot.expires_at IS NULL
        OR open_lot.expires_at > coalesce(%(now)s::timestamptz, now())
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
FROM lastro.open_lot AS open_lot
WHERE
    open_lot.account_id = %(account_id)s::bigint
    AND (
        NOT %(unexpired_only)s::boolean OR open_lot.expires_at IS NULL
        OR open_lot.expires_at > coalesce(%(now)s::timestamptz, now())
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
FROM lastro.open_lot AS open_lot
WHERE
    open_lot.account_id = %(account_id)s::bigint
    AND (
        NOT %(unexpired_only)s::boolean OR open_lot.expires_at IS NULL
        OR open_lot.expires_at > coalesce(%(now)s::timestamptz, now())
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
FROM lastro.open_lot AS open_lot
WHERE open_lot.account_id = %(account_id)s::bigint AND open_lot.transfer_id = %(transfer_id)s::bigint;

-- name: standing
-- What the open lots of an account add up to, how much of it is past its expiry and waits for the expirer, and whether
-- another account is a member's.
-- locks: none   returns: 1 row
SELECT
    coalesce(sum(open_lot.left_over), 0) AS in_lots,
    coalesce(
        sum(open_lot.left_over) FILTER (WHERE open_lot.expires_at <= coalesce(%(now)s::timestamptz, now())), 0
    ) AS due,
    EXISTS(
        SELECT FROM lastro.account AS other
        INNER JOIN lastro.points_member AS member ON other.name = member.name
        WHERE other.id = %(other_id)s::bigint
    ) AS other_is_members
FROM lastro.open_lot AS open_lot
WHERE open_lot.account_id = %(account_id)s::bigint;

-- name: use
-- Note what transfers took from lots (each use: transfer, number, account, the lot's transfer and part, amount), and
-- take it from what is left of them. No lot stands here twice.
-- locks: none that isn't held already   returns: 1 row: how many of the lots held as much
WITH taken AS MATERIALIZED (
    SELECT
        (given.use ->> 0)::bigint AS transfer_id,
        (given.use ->> 1)::integer AS number,
        (given.use ->> 2)::bigint AS account_id,
        (given.use ->> 3)::bigint AS lot_transfer_id,
        (given.use ->> 4)::integer AS lot_part,
        (given.use ->> 5)::bigint AS amount
    FROM jsonb_array_elements(%(uses)s::jsonb) AS given (use)
),

noted AS (
    INSERT INTO lastro.lot_use (transfer_id, number, lot_transfer_id, lot_part, amount)
    SELECT
        taken.transfer_id,
        taken.number,
        taken.lot_transfer_id,
        taken.lot_part,
        taken.amount
    FROM taken
),

emptied AS (
    DELETE FROM lastro.open_lot
    USING taken
    WHERE
        open_lot.account_id = taken.account_id AND open_lot.transfer_id = taken.lot_transfer_id
        AND open_lot.part = taken.lot_part AND open_lot.left_over = taken.amount
    RETURNING open_lot.part
),

lessened AS (
    UPDATE lastro.open_lot
    SET left_over = open_lot.left_over - taken.amount
    FROM taken
    WHERE
        open_lot.account_id = taken.account_id AND open_lot.transfer_id = taken.lot_transfer_id
        AND open_lot.part = taken.lot_part AND open_lot.left_over > taken.amount
    RETURNING open_lot.part
)

SELECT (SELECT count(*) FROM emptied) + (SELECT count(*) FROM lessened) AS met;

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
FROM lastro.lot_use AS lot_use
INNER JOIN lastro.lot AS lot ON lot_use.lot_transfer_id = lot.transfer_id AND lot_use.lot_part = lot.part
WHERE lot_use.transfer_id = %(transfer_id)s::bigint AND lot_use.number < %(before_number)s::integer
ORDER BY lot_use.number DESC
LIMIT %(lots_max)s;

-- name: put_back
-- Put points back into the lots they came from; a lot that was empty is open again, with the expiry it always had. No
-- lot stands here twice.
-- locks: none that isn't held already   returns: nothing
WITH given_back AS MATERIALIZED (
    SELECT
        (given.use ->> 0)::bigint AS transfer_id,
        (given.use ->> 1)::integer AS number,
        (given.use ->> 3)::bigint AS lot_transfer_id,
        (given.use ->> 4)::integer AS lot_part,
        (given.use ->> 5)::bigint AS amount
    FROM jsonb_array_elements(%(uses)s::jsonb) AS given (use)
),

noted AS (
    INSERT INTO lastro.lot_use (transfer_id, number, lot_transfer_id, lot_part, amount)
    SELECT
        given_back.transfer_id,
        given_back.number,
        given_back.lot_transfer_id,
        given_back.lot_part,
        -given_back.amount
    FROM given_back
)

INSERT INTO lastro.open_lot (account_id, transfer_id, part, left_over, earned_at, expires_at)
SELECT
    lot.account_id,
    lot.transfer_id,
    lot.part,
    given_back.amount,
    lot.earned_at,
    lot.expires_at
FROM given_back
INNER JOIN lastro.lot AS lot ON given_back.lot_transfer_id = lot.transfer_id AND given_back.lot_part = lot.part
ON CONFLICT (account_id, transfer_id, part) DO UPDATE SET left_over = open_lot.left_over + excluded.left_over;

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
    account.name = %(name)s::text AND account.currency = %(currency)s::text
    AND (
        coalesce(open_lot.expires_at, %(never)s::timestamptz), open_lot.earned_at, open_lot.transfer_id, open_lot.part
    ) > (
        %(after_expires_at)s::timestamptz, %(after_earned_at)s::timestamptz, %(after_transfer_id)s::bigint,
        %(after_part)s::integer
    )
ORDER BY
    coalesce(open_lot.expires_at, %(never)s::timestamptz), open_lot.earned_at, open_lot.transfer_id, open_lot.part
LIMIT %(lots_max)s;
