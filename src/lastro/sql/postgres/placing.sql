-- Placing holds.

-- name: place_direct
-- Set money aside on an account kept direct, in one statement: lock, judge and write. No row means that the key is
-- taken, that the funds don't cover it, that the deadline has passed or that the account isn't as believed; nothing was
-- written then. The wait is bounded and the caller's setting given back as in posting.sql.
-- locks: the account's base row   returns: 0 or 1 row: the new hold
WITH locked AS MATERIALIZED (
    SELECT base.held
    FROM lastro.base AS base
    WHERE
        base.account_id = %(account_id)s::bigint AND base.keeping = 'direct' AND base.state = 'open'
        AND (base.floor IS NULL OR base.amount::numeric - base.held - %(amount)s::bigint >= base.floor)
        AND base.held <= %(balance_max)s::bigint - %(amount)s::bigint
        AND %(expires_at)s::timestamptz > coalesce(%(now)s::timestamptz, now())
        AND CASE
            WHEN coalesce(current_setting('lastro_posting.callers_lock_timeout', true), '') <> '' THEN 'bounded already'
            WHEN set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true) = '0'
                THEN set_config('lock_timeout', %(lock_timeout)s::text, true)
            ELSE 'kept'
        END IS NOT NULL
    FOR NO KEY UPDATE
),

new AS (
    INSERT INTO lastro.hold (
        id, account_id, amount, capture_max, placed_at, expires_at, listed,
        key, owner, group_name, cause, source, actor, metadata
    )
    SELECT
        nextval('lastro.hold_id'),
        %(account_id)s::bigint,
        %(amount)s::bigint,
        %(capture_max)s::bigint,
        coalesce(%(now)s::timestamptz, now()),
        %(expires_at)s::timestamptz,
        %(listed)s::boolean,
        %(key)s::text,
        %(owner)s::text,
        %(group_name)s::text,
        %(cause)s::text,
        %(source)s::text,
        %(actor)s::text,
        %(metadata)s::jsonb
    FROM locked
    ON CONFLICT (key) DO NOTHING
    RETURNING id, placed_at
),

opened AS (
    INSERT INTO lastro.open_hold (hold_id, account_id, left_over, listed, due_at)
    SELECT
        new.id,
        %(account_id)s::bigint,
        %(amount)s::bigint,
        %(listed)s::boolean,
        %(expires_at)s::timestamptz
    FROM new
),

updated AS (
    UPDATE lastro.base
    SET
        held = base.held + %(amount)s::bigint,
        changed_at = new.placed_at
    FROM new
    WHERE base.account_id = %(account_id)s::bigint
)

SELECT
    new.id AS hold_id,
    new.placed_at,
    set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true) AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore
FROM new;

-- name: place
-- Set money aside on an account whose base row this transaction holds, and which was judged.
-- locks: none that isn't held already   returns: 0 or 1 row: the new hold, or none where its key is taken
WITH new AS (
    INSERT INTO lastro.hold (
        id, account_id, amount, capture_max, placed_at, expires_at, listed,
        key, owner, group_name, cause, source, actor, metadata
    )
    SELECT
        nextval('lastro.hold_id'),
        base.account_id,
        %(amount)s::bigint,
        %(capture_max)s::bigint,
        coalesce(%(now)s::timestamptz, now()),
        %(expires_at)s::timestamptz,
        %(listed)s::boolean,
        %(key)s::text,
        %(owner)s::text,
        %(group_name)s::text,
        %(cause)s::text,
        %(source)s::text,
        %(actor)s::text,
        %(metadata)s::jsonb
    FROM lastro.base AS base
    WHERE base.account_id = %(account_id)s::bigint
    ON CONFLICT (key) DO NOTHING
    RETURNING id, placed_at
),

opened AS (
    INSERT INTO lastro.open_hold (hold_id, account_id, left_over, listed, due_at)
    SELECT
        new.id,
        %(account_id)s::bigint,
        %(amount)s::bigint,
        %(listed)s::boolean,
        %(expires_at)s::timestamptz
    FROM new
),

updated AS (
    UPDATE lastro.base
    SET
        held = base.held + %(amount)s::bigint,
        changed_at = new.placed_at
    FROM new
    WHERE base.account_id = %(account_id)s::bigint
)

SELECT
    new.id AS hold_id,
    new.placed_at
FROM new;
