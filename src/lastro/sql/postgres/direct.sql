-- Posting one transfer where a side is kept direct: lock, judge, write and update in one statement.
--
-- The lock must not wait for the network, so one statement does it all. What the accounts must fulfil is judged on the
-- newest version of the rows it locked. The wait is bounded and the caller's setting given back as in posting.sql; it
-- is put aside once, for the conditions run again after a wait.

-- name: post_both
-- Post between two accounts kept direct: lock both in account order, check the floor, write, update both.
-- locks: both base rows, in account order   returns: 0 or 1 row: the new transfer
WITH locked AS MATERIALIZED (
    SELECT
        base.account_id,
        base.keeping,
        base.state,
        base.floor,
        base.amount,
        base.held
    FROM lastro.base AS base
    WHERE
        base.account_id = ANY(ARRAY[%(debit_id)s::bigint, %(credit_id)s::bigint])
        AND CASE
            WHEN coalesce(current_setting('lastro_posting.callers_lock_timeout', true), '') <> '' THEN 'bounded already'
            WHEN set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true) = '0'
                THEN set_config('lock_timeout', %(lock_timeout)s::text, true)
            ELSE 'kept'
        END IS NOT NULL
    ORDER BY base.account_id
    FOR NO KEY UPDATE
),

covered AS (
    SELECT
        d.amount AS debit_amount,
        c.amount AS credit_amount
    FROM locked AS d
    CROSS JOIN locked AS c
    WHERE
        d.account_id = %(debit_id)s::bigint AND d.keeping = 'direct' AND d.state = 'open'
        AND c.account_id = %(credit_id)s::bigint AND c.keeping = 'direct' AND c.state = 'open'
        AND (d.floor IS NULL OR d.amount::numeric - d.held - %(amount)s::bigint >= d.floor)
        AND d.amount >= %(balance_min)s::bigint + %(amount)s::bigint
        AND c.amount <= %(balance_max)s::bigint - %(amount)s::bigint
),

named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        %(key)s::text,
        nextval('lastro.transfer_id'),
        %(debit_id)s::bigint
    FROM covered
    ON CONFLICT (key) DO NOTHING
    RETURNING transfer_id
),

new AS (
    INSERT INTO lastro.transfer (
        id, debit_id, credit_id, amount,
        debit_before, debit_after, credit_before, credit_after,
        occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
    )
    SELECT
        named.transfer_id,
        %(debit_id)s::bigint,
        %(credit_id)s::bigint,
        %(amount)s::bigint,
        covered.debit_amount,
        covered.debit_amount - %(amount)s::bigint,
        covered.credit_amount,
        covered.credit_amount + %(amount)s::bigint,
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
    CROSS JOIN covered
    RETURNING id, occurred_at, recorded_at, debit_before, debit_after, credit_before, credit_after
),

updated AS (
    UPDATE lastro.base
    SET
        amount = CASE base.account_id WHEN %(debit_id)s::bigint THEN new.debit_after ELSE new.credit_after END,
        payments = base.payments + CASE base.account_id WHEN %(debit_id)s::bigint THEN 1 ELSE 0 END,
        changed_at = new.recorded_at
    FROM new
    WHERE base.account_id = ANY(ARRAY[%(debit_id)s::bigint, %(credit_id)s::bigint])
)

SELECT
    new.id,
    new.occurred_at,
    new.recorded_at,
    new.debit_before,
    new.debit_after,
    new.credit_before,
    new.credit_after,
    set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true) AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore
FROM new;

-- name: post_debit
-- Debit an account kept direct, credit one that needs no lock (kept hot or summed).
-- locks: the debit account's base row   returns: 0 or 1 row: the new transfer
WITH locked AS MATERIALIZED (
    SELECT
        base.account_id,
        base.keeping,
        base.state,
        base.floor,
        base.amount,
        base.held
    FROM lastro.base AS base
    WHERE
        base.account_id = %(debit_id)s::bigint
        AND CASE
            WHEN coalesce(current_setting('lastro_posting.callers_lock_timeout', true), '') <> '' THEN 'bounded already'
            WHEN set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true) = '0'
                THEN set_config('lock_timeout', %(lock_timeout)s::text, true)
            ELSE 'kept'
        END IS NOT NULL
    ORDER BY base.account_id
    FOR NO KEY UPDATE
),

covered AS (
    SELECT d.amount AS debit_amount
    FROM locked AS d
    CROSS JOIN lastro.base AS c
    WHERE
        d.keeping = 'direct' AND d.state = 'open'
        AND (d.floor IS NULL OR d.amount::numeric - d.held - %(amount)s::bigint >= d.floor)
        AND d.amount >= %(balance_min)s::bigint + %(amount)s::bigint
        AND c.account_id = %(credit_id)s::bigint
        AND c.keeping = %(credit_keeping)s::text AND c.state = 'open' AND c.amount <= %(unlocked_base_max)s::bigint
),

named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        %(key)s::text,
        nextval('lastro.transfer_id'),
        %(debit_id)s::bigint
    FROM covered
    ON CONFLICT (key) DO NOTHING
    RETURNING transfer_id
),

new AS (
    INSERT INTO lastro.transfer (
        id, debit_id, credit_id, amount,
        debit_before, debit_after,
        occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
    )
    SELECT
        named.transfer_id,
        %(debit_id)s::bigint,
        %(credit_id)s::bigint,
        %(amount)s::bigint,
        covered.debit_amount,
        covered.debit_amount - %(amount)s::bigint,
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
    CROSS JOIN covered
    RETURNING id, occurred_at, recorded_at, debit_before, debit_after
),

tailed AS (
    INSERT INTO lastro.tail (account_id, transfer_id, amount)
    SELECT
        %(credit_id)s::bigint,
        new.id,
        %(amount)s::bigint
    FROM new
    WHERE %(credit_keeping)s::text = 'hot'
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

-- name: post_credit
-- Debit an account that needs no lock (kept hot or summed, no floor), credit one kept direct.
-- locks: the credit account's base row   returns: 0 or 1 row: the new transfer
WITH locked AS MATERIALIZED (
    SELECT
        base.account_id,
        base.keeping,
        base.state,
        base.floor,
        base.amount,
        base.held
    FROM lastro.base AS base
    WHERE
        base.account_id = %(credit_id)s::bigint
        AND CASE
            WHEN coalesce(current_setting('lastro_posting.callers_lock_timeout', true), '') <> '' THEN 'bounded already'
            WHEN set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true) = '0'
                THEN set_config('lock_timeout', %(lock_timeout)s::text, true)
            ELSE 'kept'
        END IS NOT NULL
    ORDER BY base.account_id
    FOR NO KEY UPDATE
),

covered AS (
    SELECT c.amount AS credit_amount
    FROM locked AS c
    CROSS JOIN lastro.base AS d
    WHERE
        c.keeping = 'direct' AND c.state = 'open'
        AND c.amount <= %(balance_max)s::bigint - %(amount)s::bigint
        AND d.account_id = %(debit_id)s::bigint
        AND d.keeping = %(debit_keeping)s::text AND d.state = 'open' AND d.floor IS NULL
        AND d.amount >= -%(unlocked_base_max)s::bigint
),

named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        %(key)s::text,
        nextval('lastro.transfer_id'),
        %(debit_id)s::bigint
    FROM covered
    ON CONFLICT (key) DO NOTHING
    RETURNING transfer_id
),

new AS (
    INSERT INTO lastro.transfer (
        id, debit_id, credit_id, amount,
        credit_before, credit_after,
        occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
    )
    SELECT
        named.transfer_id,
        %(debit_id)s::bigint,
        %(credit_id)s::bigint,
        %(amount)s::bigint,
        covered.credit_amount,
        covered.credit_amount + %(amount)s::bigint,
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
    CROSS JOIN covered
    RETURNING id, occurred_at, recorded_at, credit_before, credit_after
),

tailed AS (
    INSERT INTO lastro.tail (account_id, transfer_id, amount)
    SELECT
        %(debit_id)s::bigint,
        new.id,
        -%(amount)s::bigint
    FROM new
    WHERE %(debit_keeping)s::text = 'hot'
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
