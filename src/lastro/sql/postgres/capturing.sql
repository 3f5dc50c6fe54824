-- Capturing a hold of an account kept direct: lock, judge and write in one statement, as in direct.sql.
--
-- No row means that the key is taken, that the hold is at its end or has less left than is asked of it, or that an
-- account isn't as believed; nothing was written then, and the locked way tells why.

-- name: capture_to_direct
-- Capture what is asked of a hold, or all that is left of it, to another account kept direct.
-- locks: both base rows, in account order, then the hold   returns: 0 or 1 row: the transfer, and what is left
WITH locked AS MATERIALIZED (
    SELECT
        base.account_id,
        base.keeping,
        base.state,
        base.amount
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

sides AS MATERIALIZED (
    SELECT
        d.amount AS debit_amount,
        c.amount AS credit_amount
    FROM locked AS d
    CROSS JOIN locked AS c
    WHERE
        d.account_id = %(debit_id)s::bigint AND d.keeping = 'direct' AND d.state = 'open'
        AND c.account_id = %(credit_id)s::bigint AND c.keeping = 'direct' AND c.state = 'open'
),

-- Behind the base rows, in the order of locks. A rival's capture that we waited for shows in the row's newest version.
held AS MATERIALIZED (
    SELECT
        open_hold.left_over,
        open_hold.captured,
        open_hold.released,
        open_hold.events,
        open_hold.guard_ends_at,
        coalesce(%(amount)s::bigint, open_hold.left_over) AS amount,
        sides.debit_amount,
        sides.credit_amount
    FROM lastro.open_hold AS open_hold
    CROSS JOIN sides
    WHERE
        open_hold.hold_id = %(hold_id)s::bigint AND open_hold.account_id = %(debit_id)s::bigint
        AND coalesce(%(amount)s::bigint, open_hold.left_over) <= open_hold.left_over
        AND sides.debit_amount >= %(balance_min)s::bigint + coalesce(%(amount)s::bigint, open_hold.left_over)
        AND sides.credit_amount <= %(balance_max)s::bigint - coalesce(%(amount)s::bigint, open_hold.left_over)
    FOR NO KEY UPDATE OF open_hold
),

named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        %(key)s::text,
        nextval('lastro.transfer_id'),
        %(debit_id)s::bigint
    FROM held
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
        held.amount,
        held.debit_amount,
        held.debit_amount - held.amount,
        held.credit_amount,
        held.credit_amount + held.amount,
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
    CROSS JOIN held
    RETURNING id, amount, occurred_at, recorded_at, debit_before, debit_after, credit_before, credit_after
),

noted AS (
    INSERT INTO lastro.hold_event (
        hold_id, number, kind, amount, taken, left_before, left_after, transfer_id, recorded_at, cause, source, actor
    )
    SELECT
        %(hold_id)s::bigint,
        held.events + step.number,
        step.kind,
        step.amount,
        step.amount,
        step.left_before,
        step.left_before - step.amount,
        new.id,
        new.recorded_at,
        %(cause)s::text,
        %(source)s::text,
        %(actor)s::text
    FROM new
    CROSS JOIN held
    CROSS JOIN LATERAL (
        VALUES
        (1, 'captured', held.amount, held.left_over),
        (
            2, 'released',
            CASE WHEN %(final)s::boolean THEN held.left_over - held.amount END, held.left_over - held.amount
        )
    ) AS step (number, kind, amount, left_before)
    WHERE step.amount > 0
),

ended AS (
    DELETE FROM lastro.open_hold
    USING new, held
    WHERE open_hold.hold_id = %(hold_id)s::bigint AND (%(final)s::boolean OR held.left_over = held.amount)
),

kept AS (
    UPDATE lastro.open_hold
    SET
        left_over = held.left_over - held.amount,
        captured = held.captured + held.amount,
        events = held.events + 1
    FROM new, held
    WHERE open_hold.hold_id = %(hold_id)s::bigint AND NOT %(final)s::boolean AND held.left_over > held.amount
),

updated AS (
    UPDATE lastro.base
    SET
        amount = CASE base.account_id WHEN %(debit_id)s::bigint THEN new.debit_after ELSE new.credit_after END,
        held = base.held - CASE
            WHEN base.account_id <> %(debit_id)s::bigint THEN 0
            WHEN %(final)s::boolean THEN held.left_over
            ELSE held.amount
        END,
        payments = base.payments + CASE base.account_id WHEN %(debit_id)s::bigint THEN 1 ELSE 0 END,
        changed_at = new.recorded_at
    FROM new, held
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
    new.amount,
    CASE WHEN %(final)s::boolean THEN held.left_over - new.amount ELSE 0 END AS given_back,
    CASE WHEN %(final)s::boolean THEN 0 ELSE held.left_over - new.amount END AS left_over,
    held.captured + new.amount AS captured,
    held.released + CASE WHEN %(final)s::boolean THEN held.left_over - new.amount ELSE 0 END AS released,
    held.guard_ends_at,
    set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true) AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore
FROM new
CROSS JOIN held;

-- name: capture_to_unlocked
-- Capture to an account that needs no lock (kept hot or summed).
-- locks: the debit account's base row, then the hold   returns: 0 or 1 row: the transfer, and what is left
WITH locked AS MATERIALIZED (
    SELECT
        base.account_id,
        base.keeping,
        base.state,
        base.amount
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

sides AS MATERIALIZED (
    SELECT d.amount AS debit_amount
    FROM locked AS d
    CROSS JOIN lastro.base AS c
    WHERE
        d.keeping = 'direct' AND d.state = 'open'
        AND c.account_id = %(credit_id)s::bigint
        AND c.keeping = %(credit_keeping)s::text AND c.state = 'open' AND c.amount <= %(unlocked_base_max)s::bigint
),

-- Behind the base rows, in the order of locks. A rival's capture that we waited for shows in the row's newest version.
held AS MATERIALIZED (
    SELECT
        open_hold.left_over,
        open_hold.captured,
        open_hold.released,
        open_hold.events,
        open_hold.guard_ends_at,
        coalesce(%(amount)s::bigint, open_hold.left_over) AS amount,
        sides.debit_amount
    FROM lastro.open_hold AS open_hold
    CROSS JOIN sides
    WHERE
        open_hold.hold_id = %(hold_id)s::bigint AND open_hold.account_id = %(debit_id)s::bigint
        AND coalesce(%(amount)s::bigint, open_hold.left_over) <= open_hold.left_over
        AND sides.debit_amount >= %(balance_min)s::bigint + coalesce(%(amount)s::bigint, open_hold.left_over)
    FOR NO KEY UPDATE OF open_hold
),

named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        %(key)s::text,
        nextval('lastro.transfer_id'),
        %(debit_id)s::bigint
    FROM held
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
        held.amount,
        held.debit_amount,
        held.debit_amount - held.amount,
        NULL::bigint,
        NULL::bigint,
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
    CROSS JOIN held
    RETURNING id, amount, occurred_at, recorded_at, debit_before, debit_after, credit_before, credit_after
),

tailed AS (
    INSERT INTO lastro.tail (account_id, transfer_id, amount)
    SELECT
        %(credit_id)s::bigint,
        new.id,
        new.amount
    FROM new
    WHERE %(credit_keeping)s::text = 'hot'
),

noted AS (
    INSERT INTO lastro.hold_event (
        hold_id, number, kind, amount, taken, left_before, left_after, transfer_id, recorded_at, cause, source, actor
    )
    SELECT
        %(hold_id)s::bigint,
        held.events + step.number,
        step.kind,
        step.amount,
        step.amount,
        step.left_before,
        step.left_before - step.amount,
        new.id,
        new.recorded_at,
        %(cause)s::text,
        %(source)s::text,
        %(actor)s::text
    FROM new
    CROSS JOIN held
    CROSS JOIN LATERAL (
        VALUES
        (1, 'captured', held.amount, held.left_over),
        (
            2, 'released',
            CASE WHEN %(final)s::boolean THEN held.left_over - held.amount END, held.left_over - held.amount
        )
    ) AS step (number, kind, amount, left_before)
    WHERE step.amount > 0
),

ended AS (
    DELETE FROM lastro.open_hold
    USING new, held
    WHERE open_hold.hold_id = %(hold_id)s::bigint AND (%(final)s::boolean OR held.left_over = held.amount)
),

kept AS (
    UPDATE lastro.open_hold
    SET
        left_over = held.left_over - held.amount,
        captured = held.captured + held.amount,
        events = held.events + 1
    FROM new, held
    WHERE open_hold.hold_id = %(hold_id)s::bigint AND NOT %(final)s::boolean AND held.left_over > held.amount
),

updated AS (
    UPDATE lastro.base
    SET
        amount = new.debit_after,
        held = base.held - CASE WHEN %(final)s::boolean THEN held.left_over ELSE held.amount END,
        payments = base.payments + 1,
        changed_at = new.recorded_at
    FROM new, held
    WHERE base.account_id = %(debit_id)s::bigint
)

SELECT
    new.id,
    new.occurred_at,
    new.recorded_at,
    new.debit_before,
    new.debit_after,
    new.credit_before,
    new.credit_after,
    new.amount,
    CASE WHEN %(final)s::boolean THEN held.left_over - new.amount ELSE 0 END AS given_back,
    CASE WHEN %(final)s::boolean THEN 0 ELSE held.left_over - new.amount END AS left_over,
    held.captured + new.amount AS captured,
    held.released + CASE WHEN %(final)s::boolean THEN held.left_over - new.amount ELSE 0 END AS released,
    held.guard_ends_at,
    set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true) AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore
FROM new
CROSS JOIN held;
