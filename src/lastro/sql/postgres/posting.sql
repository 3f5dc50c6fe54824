-- Posting one transfer where no side needs a lock, and finding one by its key.
--
-- Every statement checks again what the process believes of the two accounts (how they are kept, that they are open,
-- that no floor came). No row means that the belief was stale, that the key is taken or that the funds don't cover it;
-- the statements after it find out which. Nothing was written then.
--
-- They wait for one thing: a rival that is writing the same key. The wait is bounded by lock_timeout, unless the caller
-- set a limit of its own; the caller's setting is given back with the row, or by session.give_lock_wait_back where
-- there is none.

-- name: post_to_hot
-- The checkout: debit the world, whose terms never change, and credit an account kept hot. Only inserts.
-- locks: none that another posting waits for   returns: 0 or 1 row: the new transfer
WITH named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        %(key)s::text,
        nextval('lastro.transfer_id'),
        %(debit_id)s::bigint
    FROM lastro.base AS c
    WHERE
        c.account_id = %(credit_id)s::bigint AND c.keeping = 'hot' AND c.state = 'open'
        AND c.amount <= %(unlocked_base_max)s::bigint
        AND EXISTS (SELECT FROM lastro.base AS world WHERE world.account_id = %(debit_id)s::bigint)
        AND CASE set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true)
            WHEN '0' THEN set_config('lock_timeout', %(lock_timeout)s::text, true) ELSE 'kept'
        END IS NOT NULL
    ON CONFLICT (key) DO NOTHING
    RETURNING transfer_id
),

new AS (
    INSERT INTO lastro.transfer (
        id, debit_id, credit_id, amount,
        occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
    )
    SELECT
        named.transfer_id,
        %(debit_id)s::bigint,
        %(credit_id)s::bigint,
        %(amount)s::bigint,
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
    RETURNING id, occurred_at, recorded_at
),

tailed AS (
    INSERT INTO lastro.tail (account_id, transfer_id, amount)
    SELECT
        %(credit_id)s::bigint,
        new.id,
        %(amount)s::bigint
    FROM new
)

SELECT
    new.id,
    new.occurred_at,
    new.recorded_at,
    set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true) AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore
FROM new;

-- name: post_unlocked
-- Post between two accounts that are kept hot or summed, with no floor to guard on the debit side. Only inserts.
-- locks: none that another posting waits for   returns: 0 or 1 row: the new transfer
WITH named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        %(key)s::text,
        nextval('lastro.transfer_id'),
        %(debit_id)s::bigint
    FROM lastro.base AS d
    CROSS JOIN lastro.base AS c
    WHERE
        d.account_id = %(debit_id)s::bigint AND d.keeping = %(debit_keeping)s::text
        AND d.state = 'open' AND d.floor IS NULL
        AND c.account_id = %(credit_id)s::bigint AND c.keeping = %(credit_keeping)s::text AND c.state = 'open'
        AND d.amount >= -%(unlocked_base_max)s::bigint AND c.amount <= %(unlocked_base_max)s::bigint
        AND CASE set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true)
            WHEN '0' THEN set_config('lock_timeout', %(lock_timeout)s::text, true) ELSE 'kept'
        END IS NOT NULL
    ON CONFLICT (key) DO NOTHING
    RETURNING transfer_id
),

new AS (
    INSERT INTO lastro.transfer (
        id, debit_id, credit_id, amount,
        occurred_at, recorded_at, key, kind, cause, reverses, source, actor, metadata
    )
    SELECT
        named.transfer_id,
        %(debit_id)s::bigint,
        %(credit_id)s::bigint,
        %(amount)s::bigint,
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
    RETURNING id, occurred_at, recorded_at
),

tailed AS (
    INSERT INTO lastro.tail (account_id, transfer_id, amount)
    SELECT
        side.account_id,
        new.id,
        side.amount
    FROM new
    CROSS JOIN (
        VALUES
        (%(debit_id)s::bigint, -%(amount)s::bigint, %(debit_keeping)s::text),
        (%(credit_id)s::bigint, %(amount)s::bigint, %(credit_keeping)s::text)
    ) AS side (account_id, amount, keeping)
    WHERE side.keeping = 'hot'
)

SELECT
    new.id,
    new.occurred_at,
    new.recorded_at,
    set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true) AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore
FROM new;

-- name: find_transfer
-- The transfer that holds this key. Its own columns are NULL where its partition was retired: the key stays taken.
-- locks: none   returns: 0 or 1 row
SELECT
    named.transfer_id,
    transfer.id,
    transfer.key,
    transfer.kind,
    debit.name AS debit,
    credit.name AS credit,
    debit.currency,
    transfer.amount,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.cause,
    transfer.reverses,
    transfer.source,
    transfer.actor,
    transfer.metadata::text AS metadata,
    transfer.debit_before,
    transfer.debit_after,
    transfer.credit_before,
    transfer.credit_after
FROM lastro.transfer_key AS named
LEFT JOIN lastro.transfer AS transfer
    ON named.debit_id = transfer.debit_id AND named.transfer_id = transfer.id
LEFT JOIN lastro.account AS debit ON transfer.debit_id = debit.id
LEFT JOIN lastro.account AS credit ON transfer.credit_id = credit.id
WHERE named.key = %(key)s::text;
