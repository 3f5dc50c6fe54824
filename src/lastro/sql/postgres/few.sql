-- Posting a few transfers, as one checkout does: lock what is kept direct, judge in memory, write everything at once.
--
-- For batches in which no account has to be weighed first. What isn't plain (a key that is taken, an account that isn't
-- as believed, funds that don't cover) writes nothing here and goes the way of batch.sql, which tells why.

-- name: lock
-- Lock the accounts kept direct in account order, with the wait bounded as in direct.sql.
-- locks: the base rows, in account order   returns: 1 row an account
SELECT
    base.account_id,
    base.keeping,
    base.state,
    base.floor,
    base.amount,
    base.held
FROM lastro.base AS base
WHERE
    base.account_id = ANY(%(account_ids)s::bigint[])
    AND CASE
        WHEN coalesce(current_setting('lastro_posting.callers_lock_timeout', true), '') <> '' THEN 'bounded already'
        WHEN set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true) = '0'
            THEN set_config('lock_timeout', %(lock_timeout)s::text, true)
        ELSE 'kept'
    END IS NOT NULL
ORDER BY base.account_id
FOR NO KEY UPDATE;

-- name: write
-- Take the keys in their order and write history, tail and base rows with them: all of it, or nothing but some keys
-- where a rival was faster with others (the plan then goes back to its savepoint). Gives the caller's setting back.
-- locks: none that isn't held already, but for the keys   returns: 1 row: how many keys were free, the ids in order
WITH patience AS MATERIALIZED (
    SELECT
        CASE
            WHEN coalesce(current_setting('lastro_posting.callers_lock_timeout', true), '') <> ''
                THEN 'bounded already'
            WHEN set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true) = '0'
                THEN set_config('lock_timeout', %(lock_timeout)s::text, true)
            ELSE 'kept'
        END AS bounded
),

as_believed AS MATERIALIZED (
    SELECT count(*) AS accounts
    FROM unnest(
        %(free_ids)s::bigint[], %(free_keepings)s::text[], %(free_debited)s::boolean[]
    ) AS believed (account_id, keeping, debited)
    INNER JOIN lastro.base AS base
        ON
            believed.account_id = base.account_id AND believed.keeping = base.keeping AND base.state = 'open'
            AND (base.floor IS NULL OR NOT believed.debited)
            AND base.amount BETWEEN -%(unlocked_base_max)s::bigint AND %(unlocked_base_max)s::bigint
),

numbered AS MATERIALIZED (
    SELECT
        wanted.key,
        wanted.kind,
        wanted.debit_id,
        wanted.credit_id,
        wanted.amount,
        wanted.debit_before,
        wanted.credit_before,
        wanted.occurred_at,
        wanted.cause,
        wanted.source,
        wanted.actor,
        wanted.metadata,
        nextval('lastro.transfer_id') AS id
    FROM patience
    CROSS JOIN as_believed
    CROSS JOIN unnest(
        %(keys)s::text[], %(kinds)s::text[], %(debit_ids)s::bigint[], %(credit_ids)s::bigint[],
        %(transfer_amounts)s::bigint[], %(debit_befores)s::bigint[], %(credit_befores)s::bigint[],
        %(occurred_ats)s::timestamptz[], %(causes)s::text[], %(sources)s::text[], %(actors)s::text[],
        %(metadatas)s::text[]
    ) AS wanted (
        key, kind, debit_id, credit_id, amount, debit_before, credit_before,
        occurred_at, cause, source, actor, metadata
    )
    WHERE as_believed.accounts = cardinality(%(free_ids)s::bigint[]) AND patience.bounded IS NOT NULL
),

claimed AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        numbered.key,
        numbered.id,
        numbered.debit_id
    FROM numbered
    ORDER BY numbered.key
    ON CONFLICT (key) DO NOTHING
    RETURNING transfer_id
),

enough AS MATERIALIZED (
    SELECT count(*) AS keys
    FROM claimed
),

new AS (
    INSERT INTO lastro.transfer (
        id, debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
        occurred_at, recorded_at, key, kind, cause, source, actor, metadata
    )
    SELECT
        numbered.id,
        numbered.debit_id,
        numbered.credit_id,
        numbered.amount,
        numbered.debit_before,
        numbered.debit_before - numbered.amount,
        numbered.credit_before,
        numbered.credit_before + numbered.amount,
        coalesce(numbered.occurred_at, %(now)s::timestamptz, now()),
        coalesce(%(now)s::timestamptz, now()),
        numbered.key,
        numbered.kind,
        numbered.cause,
        numbered.source,
        numbered.actor,
        numbered.metadata::jsonb
    FROM numbered
    CROSS JOIN enough
    WHERE enough.keys = cardinality(%(keys)s::text[])
    RETURNING id
),

written AS MATERIALIZED (
    SELECT array_agg(new.id ORDER BY new.id) AS ids
    FROM new
),

tailed AS (
    INSERT INTO lastro.tail (account_id, transfer_id, amount)
    SELECT
        added.account_id,
        written.ids[added.last + 1],
        added.amount
    FROM written
    CROSS JOIN unnest(
        %(tailed_ids)s::bigint[], %(tailed_amounts)s::bigint[], %(tailed_lasts)s::bigint[]
    ) AS added (account_id, amount, last)
    WHERE written.ids IS NOT NULL
),

updated AS (
    UPDATE lastro.base
    SET
        amount = (base.amount + changed.amount)::bigint,
        payments = base.payments + changed.payments,
        changed_at = coalesce(%(now)s::timestamptz, now())
    FROM written
    CROSS JOIN unnest(
        %(based_ids)s::bigint[], %(based_amounts)s::numeric[], %(payments)s::bigint[]
    ) AS changed (account_id, amount, payments)
    WHERE base.account_id = changed.account_id AND written.ids IS NOT NULL
)

SELECT
    written.ids,
    coalesce(%(now)s::timestamptz, now()) AS recorded_at,
    set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true) AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore
FROM patience
CROSS JOIN written
WHERE patience.bounded IS NOT NULL;
