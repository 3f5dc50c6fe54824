-- Posting one transfer between an account kept direct and the world, whose terms never change and whose row nobody
-- needs to look at: the most frequent postings of a single-entry ledger. The rest is as in direct.sql.

-- name: credit
-- Credit an account kept direct out of the world.
-- locks: the credit account's base row   returns: 0 or 1 row: the new transfer
WITH locked AS MATERIALIZED (
    SELECT base.amount
    FROM lastro.base AS base
    WHERE
        base.account_id = %(credit_id)s::bigint AND base.keeping = 'direct' AND base.state = 'open'
        AND base.amount <= %(balance_max)s::bigint - %(amount)s::bigint
        AND EXISTS (SELECT FROM lastro.base AS world WHERE world.account_id = %(debit_id)s::bigint)
        AND CASE
            WHEN coalesce(current_setting('lastro_posting.callers_lock_timeout', true), '') <> '' THEN 'bounded already'
            WHEN set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true) = '0'
                THEN set_config('lock_timeout', %(lock_timeout)s::text, true)
            ELSE 'kept'
        END IS NOT NULL
    FOR NO KEY UPDATE
),

named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        %(key)s::text,
        nextval('lastro.transfer_id'),
        %(debit_id)s::bigint
    FROM locked
    ON CONFLICT (key) DO NOTHING
    RETURNING transfer_id
),

new AS (
    INSERT INTO lastro.transfer (
        id, debit_id, credit_id, amount, credit_before, credit_after,
        occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
    )
    SELECT
        named.transfer_id,
        %(debit_id)s::bigint,
        %(credit_id)s::bigint,
        %(amount)s::bigint,
        locked.amount,
        locked.amount + %(amount)s::bigint,
        coalesce(%(occurred_at)s::timestamptz, %(now)s::timestamptz, now()),
        coalesce(%(now)s::timestamptz, now()),
        %(key)s::text,
        %(kind)s::text,
        %(cause)s::text,
        %(reverses)s::text,
        %(source)s::text,
        %(actor)s::text,
        %(metadata)s::jsonb
    FROM named
    CROSS JOIN locked
    RETURNING id, occurred_at, recorded_at, credit_before, credit_after
),

updated AS (
    UPDATE lastro.base
    SET
        amount = new.credit_after,
        changed_at = new.recorded_at
    FROM new
    WHERE base.account_id = %(credit_id)s::bigint
)

SELECT
    new.id,
    new.occurred_at,
    new.recorded_at,
    new.credit_before,
    new.credit_after,
    set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true) AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore
FROM new;

-- name: debit
-- Debit an account kept direct, down to its floor, to the world.
-- locks: the debit account's base row   returns: 0 or 1 row: the new transfer
WITH locked AS MATERIALIZED (
    SELECT base.amount
    FROM lastro.base AS base
    WHERE
        base.account_id = %(debit_id)s::bigint AND base.keeping = 'direct' AND base.state = 'open'
        AND base.amount >= %(balance_min)s::bigint + %(amount)s::bigint
        AND (base.floor IS NULL OR base.amount::numeric - base.held - %(amount)s::bigint >= base.floor)
        AND EXISTS (SELECT FROM lastro.base AS world WHERE world.account_id = %(credit_id)s::bigint)
        AND CASE
            WHEN coalesce(current_setting('lastro_posting.callers_lock_timeout', true), '') <> '' THEN 'bounded already'
            WHEN set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true) = '0'
                THEN set_config('lock_timeout', %(lock_timeout)s::text, true)
            ELSE 'kept'
        END IS NOT NULL
    FOR NO KEY UPDATE
),

named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        %(key)s::text,
        nextval('lastro.transfer_id'),
        %(debit_id)s::bigint
    FROM locked
    ON CONFLICT (key) DO NOTHING
    RETURNING transfer_id
),

new AS (
    INSERT INTO lastro.transfer (
        id, debit_id, credit_id, amount, debit_before, debit_after,
        occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
    )
    SELECT
        named.transfer_id,
        %(debit_id)s::bigint,
        %(credit_id)s::bigint,
        %(amount)s::bigint,
        locked.amount,
        locked.amount - %(amount)s::bigint,
        coalesce(%(occurred_at)s::timestamptz, %(now)s::timestamptz, now()),
        coalesce(%(now)s::timestamptz, now()),
        %(key)s::text,
        %(kind)s::text,
        %(cause)s::text,
        %(reverses)s::text,
        %(source)s::text,
        %(actor)s::text,
        %(metadata)s::jsonb
    FROM named
    CROSS JOIN locked
    RETURNING id, occurred_at, recorded_at, debit_before, debit_after
),

updated AS (
    UPDATE lastro.base
    SET
        amount = new.debit_after,
        payments = base.payments + 1,
        changed_at = new.recorded_at
    FROM new
    WHERE base.account_id = %(debit_id)s::bigint
)

SELECT
    new.id,
    new.occurred_at,
    new.recorded_at,
    new.debit_before,
    new.debit_after,
    set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true) AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore
FROM new;
