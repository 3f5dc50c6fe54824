-- Posting one transfer the locked way: lock, then read in a new snapshot, then write.

-- name: lock_sides
-- Queue behind whoever writes these accounts, until the end of the transaction; their terms as they stand then. The
-- balance is read by a following statement: this one still sees the tail as it was before it waited.
-- locks: the base rows, in account order   returns: 1 row an account
SELECT
    base.account_id,
    base.keeping,
    base.state,
    base.floor,
    base.amount,
    base.held,
    coalesce(%(now)s::timestamptz, now()) AS recorded_at
FROM lastro.base AS base
WHERE base.account_id = ANY(%(account_ids)s::bigint[])
ORDER BY base.account_id
FOR NO KEY UPDATE;

-- name: weigh_sides
-- What is posted on accounts whose base rows we hold, in a snapshot taken after the lock was granted.
-- locks: none   returns: 1 row an account
SELECT
    balance.account_id,
    balance.posted,
    balance.held
FROM lastro.balance AS balance
WHERE balance.account_id = ANY(%(account_ids)s::bigint[]);

-- name: write
-- Post with the base rows of %(locked_ids)s held by this transaction and weighed; the other sides need no lock and are
-- checked again here. A debit counts itself on its base row even where no amount changes there, so that a rival in
-- REPEATABLE READ meets a changed row instead of an old balance.
-- locks: none that isn't held already   returns: 0 or 1 row: the new transfer
WITH sides AS (
    SELECT
        d.keeping AS debit_keeping,
        d.state AS debit_state,
        c.keeping AS credit_keeping,
        c.state AS credit_state
    FROM lastro.base AS d
    CROSS JOIN lastro.base AS c
    WHERE
        d.account_id = %(debit_id)s::bigint AND d.keeping = %(debit_keeping)s::text
        AND d.state = %(debit_state)s::text
        AND (d.account_id = ANY(%(locked_ids)s::bigint[]) OR d.floor IS NULL)
        AND (d.account_id = ANY(%(locked_ids)s::bigint[]) OR d.amount >= -%(unlocked_base_max)s::bigint)
        AND c.account_id = %(credit_id)s::bigint AND c.keeping = %(credit_keeping)s::text
        AND c.state = %(credit_state)s::text
        AND (c.account_id = ANY(%(locked_ids)s::bigint[]) OR c.amount <= %(unlocked_base_max)s::bigint)
),

named AS (
    INSERT INTO lastro.transfer_key (key, transfer_id, debit_id)
    SELECT
        %(key)s::text,
        nextval('lastro.transfer_id'),
        %(debit_id)s::bigint
    FROM sides
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
        %(debit_before)s::bigint,
        %(debit_after)s::bigint,
        %(credit_before)s::bigint,
        %(credit_after)s::bigint,
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
    RETURNING id, occurred_at, recorded_at, debit_before, debit_after, credit_before, credit_after
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
        (%(debit_id)s::bigint, -%(amount)s::bigint, %(debit_tailed)s::boolean),
        (%(credit_id)s::bigint, %(amount)s::bigint, %(credit_tailed)s::boolean)
    ) AS side (account_id, amount, tailed)
    WHERE side.tailed
),

updated AS (
    UPDATE lastro.base
    SET
        amount = base.amount
        + CASE base.account_id
            WHEN %(debit_id)s::bigint THEN %(debit_change)s::bigint ELSE %(credit_change)s::bigint
        END,
        payments = base.payments + CASE base.account_id WHEN %(debit_id)s::bigint THEN 1 ELSE 0 END,
        changed_at = new.recorded_at
    FROM new
    WHERE base.account_id = ANY(%(locked_ids)s::bigint[])
)

SELECT
    new.id,
    new.occurred_at,
    new.recorded_at,
    new.debit_before,
    new.debit_after,
    new.credit_before,
    new.credit_after
FROM new;
