-- Placing holds. The id comes with the key, as that of a transfer does in posting.sql: a row is always inserted, and
-- the nameless placeholder of a hold that isn't fit is taken back at once.

-- name: place_direct
-- Set money aside on an account kept direct: lock, judge and write. No row means that the key is taken, that the funds
-- don't cover it, that the deadline has passed or that the account isn't as believed; nothing was written then.
-- locks: the account's base row   returns: 0 or 1 row: the new hold
SET
    @lastro_now = coalesce(%(now)s, utc_timestamp(6)),
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT
    coalesce(min(
        base.keeping = 'direct' AND base.state = 'open' AND %(expires_at)s > @lastro_now
        AND (base.floor IS NULL OR CAST(base.amount AS decimal(30, 0)) - base.held - %(amount)s >= base.floor)
        AND CAST(base.held AS decimal(30, 0)) + %(amount)s <= %(balance_max)s
    ), 0)
INTO @lastro_fit
FROM lastro.base AS base
WHERE base.account_id = %(account_id)s
FOR UPDATE;
INSERT INTO lastro.hold (
    account_id, amount, capture_max, placed_at, expires_at, listed,
    `key`, owner, group_name, cause, source, actor, metadata
)
VALUES (
    if(@lastro_fit = 1, %(account_id)s, -1), %(amount)s, %(capture_max)s, @lastro_now, %(expires_at)s, %(listed)s,
    if(@lastro_fit = 1, %(key)s, NULL), %(owner)s, %(group_name)s, %(cause)s, %(source)s, %(actor)s, %(metadata)s
)
ON DUPLICATE KEY UPDATE account_id = hold.account_id + 0 * last_insert_id(0);
INSERT INTO lastro.open_hold (hold_id, account_id, left_over, listed, due_at)
SELECT
    last_insert_id(),
    %(account_id)s,
    %(amount)s,
    %(listed)s,
    %(expires_at)s
FROM dual
WHERE @lastro_fit = 1 AND last_insert_id() > 0;
UPDATE lastro.base
SET
    held = held + %(amount)s,
    changed_at = @lastro_now
WHERE @lastro_fit = 1 AND last_insert_id() > 0 AND account_id = %(account_id)s;
DELETE FROM lastro.hold
WHERE id = if(@lastro_fit = 1, NULL, last_insert_id());
SET SESSION innodb_lock_wait_timeout = @lastro_patience, @lastro_patience = NULL;
SELECT
    hold.id AS hold_id,
    hold.placed_at
FROM lastro.hold AS hold
WHERE @lastro_fit = 1 AND hold.id = last_insert_id();

-- name: place
-- Set money aside on an account whose base row this transaction holds, and which was judged.
-- locks: none that isn't held already   returns: 0 or 1 row: the new hold, or none where its key is taken
SET @lastro_now = coalesce(%(now)s, utc_timestamp(6));
INSERT INTO lastro.hold (
    account_id, amount, capture_max, placed_at, expires_at, listed,
    `key`, owner, group_name, cause, source, actor, metadata
)
VALUES (
    %(account_id)s, %(amount)s, %(capture_max)s, @lastro_now, %(expires_at)s, %(listed)s,
    %(key)s, %(owner)s, %(group_name)s, %(cause)s, %(source)s, %(actor)s, %(metadata)s
)
ON DUPLICATE KEY UPDATE account_id = hold.account_id + 0 * last_insert_id(0);
INSERT INTO lastro.open_hold (hold_id, account_id, left_over, listed, due_at)
SELECT
    last_insert_id(),
    %(account_id)s,
    %(amount)s,
    %(listed)s,
    %(expires_at)s
FROM dual
WHERE last_insert_id() > 0;
UPDATE lastro.base
SET
    held = held + %(amount)s,
    changed_at = @lastro_now
WHERE last_insert_id() > 0 AND account_id = %(account_id)s;
SELECT
    hold.id AS hold_id,
    hold.placed_at
FROM lastro.hold AS hold
WHERE hold.id = last_insert_id();
