-- Placing holds.

-- name: place_direct
-- Set money aside on an account kept direct: judge and write. No row means that the key is taken, that the funds don't
-- cover it, that the deadline has passed or that the account isn't as believed; nothing was written then.
-- locks: none that isn't held already   returns: 0 or 1 row: the new hold
INSERT INTO lastro_hold (
    account_id, amount, capture_max, placed_at, expires_at, listed,
    key, owner, group_name, cause, source, actor, metadata
)
SELECT
    %(account_id)s,
    %(amount)s,
    %(capture_max)s,
    %(now)s,
    %(expires_at)s,
    %(listed)s,
    %(key)s,
    %(owner)s,
    %(group_name)s,
    %(cause)s,
    %(source)s,
    %(actor)s,
    %(metadata)s
FROM lastro_base AS base
WHERE
    base.account_id = %(account_id)s AND base.keeping = 'direct' AND base.state = 'open'
    AND base.held <= %(balance_max)s - %(amount)s
    AND (base.floor IS NULL OR base.amount - base.held - %(amount)s >= base.floor)
    AND %(expires_at)s > %(now)s
    AND NOT EXISTS (SELECT 1 FROM lastro_hold AS taken WHERE taken.key = %(key)s)
ON CONFLICT (key) DO NOTHING
RETURNING id AS hold_id, placed_at;

INSERT INTO lastro_open_hold (hold_id, account_id, left_over, listed, due_at)
SELECT
    hold.id,
    hold.account_id,
    hold.amount,
    hold.listed,
    hold.expires_at
FROM lastro_hold AS hold
WHERE hold.key = %(key)s;

UPDATE lastro_base
SET
    held = held + %(amount)s,
    changed_at = %(now)s
WHERE account_id = %(account_id)s;

-- name: place
-- Set money aside on an account that was judged.
-- locks: none that isn't held already   returns: 0 or 1 row: the new hold, or none where its key is taken
INSERT INTO lastro_hold (
    account_id, amount, capture_max, placed_at, expires_at, listed,
    key, owner, group_name, cause, source, actor, metadata
)
SELECT
    base.account_id,
    %(amount)s,
    %(capture_max)s,
    %(now)s,
    %(expires_at)s,
    %(listed)s,
    %(key)s,
    %(owner)s,
    %(group_name)s,
    %(cause)s,
    %(source)s,
    %(actor)s,
    %(metadata)s
FROM lastro_base AS base
WHERE
    base.account_id = %(account_id)s
    AND NOT EXISTS (SELECT 1 FROM lastro_hold AS taken WHERE taken.key = %(key)s)
ON CONFLICT (key) DO NOTHING
RETURNING id AS hold_id, placed_at;

INSERT INTO lastro_open_hold (hold_id, account_id, left_over, listed, due_at)
SELECT
    hold.id,
    hold.account_id,
    hold.amount,
    hold.listed,
    hold.expires_at
FROM lastro_hold AS hold
WHERE hold.key = %(key)s;

UPDATE lastro_base
SET
    held = held + %(amount)s,
    changed_at = %(now)s
WHERE account_id = %(account_id)s;
