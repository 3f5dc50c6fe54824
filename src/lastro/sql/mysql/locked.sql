-- Posting one transfer the locked way: lock, then read, then write.
--
-- Wherever rows are read with locks the index is named: of a small table the server would rather read all rows, and
-- lock them on the way.

-- name: lock_sides
-- Queue behind whoever writes these accounts, until the end of the transaction; their terms as they stand then. Each
-- row is found by its key and none is passed over, so that no other is locked on the way.
-- locks: the base rows, in account order   returns: 1 row an account
SELECT
    base.account_id,
    base.keeping,
    base.state,
    base.floor,
    base.amount,
    base.held,
    CAST(coalesce(%(now)s, utc_timestamp(6)) AS datetime(6)) AS recorded_at
FROM json_table(%(account_ids)s, '$[*]' COLUMNS (account_id bigint PATH '$')) AS asked
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON asked.account_id = base.account_id
ORDER BY asked.account_id
FOR UPDATE;

-- name: weigh_sides
-- What is posted on accounts whose base rows we hold. In a transaction of our own (READ COMMITTED) this statement sees
-- all that was committed before the lock was granted; in a caller's it reads with locks, as the caller's snapshot may
-- be older, and so waits for credits that are not yet committed.
-- locks: none, or in a caller's transaction the tail or the history of the accounts   returns: 1 row an account
SELECT
    base.account_id,
    CAST(base.amount AS decimal(30, 0)) + CASE base.keeping
        WHEN 'direct' THEN 0
        WHEN 'hot' THEN coalesce((
            SELECT sum(tail.amount) FROM lastro.tail AS tail FORCE INDEX (primary)
            WHERE tail.account_id = base.account_id /* current */
        ), 0)
        ELSE
            coalesce((
                SELECT sum(credit.amount) FROM lastro.transfer AS credit FORCE INDEX (transfer_credit)
                WHERE credit.credit_id = base.account_id /* current */
            ), 0)
            - coalesce((
                SELECT sum(debit.amount) FROM lastro.transfer AS debit FORCE INDEX (primary)
                WHERE debit.debit_id = base.account_id /* current */
            ), 0)
    END AS posted,
    base.held
FROM json_table(%(account_ids)s, '$[*]' COLUMNS (account_id bigint PATH '$')) AS asked
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON asked.account_id = base.account_id
/* current */;

-- name: write
-- Post with the base rows of %(locked_ids)s held by this transaction and weighed; the other sides need no lock and are
-- checked again here. A debit counts itself on its base row even where no amount changes there.
-- locks: none that isn't held already   returns: 0 or 1 row: the new transfer
SELECT
    coalesce(max(held.account_id = %(debit_id)s), 0),
    coalesce(max(held.account_id = %(credit_id)s), 0)
INTO @lastro_debit_held, @lastro_credit_held
FROM json_table(%(locked_ids)s, '$[*]' COLUMNS (account_id bigint PATH '$')) AS held;
SELECT count(*) = 2 INTO @lastro_fit
FROM lastro.base AS side
WHERE
    side.account_id = %(debit_id)s AND (
        @lastro_debit_held = 1 OR (
            side.keeping = %(debit_keeping)s AND side.state = %(debit_state)s AND side.floor IS NULL
            AND side.amount >= -%(unlocked_base_max)s
        )
    )
    OR side.account_id = %(credit_id)s AND (
        @lastro_credit_held = 1 OR (
            side.keeping = %(credit_keeping)s AND side.state = %(credit_state)s
            AND side.amount <= %(unlocked_base_max)s
        )
    );
INSERT INTO lastro.transfer_key (`key`, debit_id)
VALUES (if(@lastro_fit = 1, %(key)s, NULL), if(@lastro_fit = 1, %(debit_id)s, -1))
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id + 0 * last_insert_id(0);
INSERT INTO lastro.transfer (
    id, debit_id, credit_id, amount,
    debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, `key`, kind, cause, reverses, source, actor, metadata
)
SELECT
    last_insert_id(),
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    %(debit_before)s,
    %(debit_after)s,
    %(credit_before)s,
    %(credit_after)s,
    coalesce(%(occurred_at)s, %(now)s, utc_timestamp(6)),
    coalesce(%(now)s, utc_timestamp(6)),
    %(key)s,
    %(kind)s,
    %(cause)s,
    %(reverses)s,
    %(source)s,
    %(actor)s,
    %(metadata)s
FROM dual
WHERE @lastro_fit = 1 AND last_insert_id() > 0;
INSERT INTO lastro.tail (account_id, transfer_id, amount)
SELECT
    %(debit_id)s,
    last_insert_id(),
    -%(amount)s
FROM dual
WHERE %(debit_tailed)s = 1 AND @lastro_fit = 1 AND last_insert_id() > 0;
INSERT INTO lastro.tail (account_id, transfer_id, amount)
SELECT
    %(credit_id)s,
    last_insert_id(),
    %(amount)s
FROM dual
WHERE %(credit_tailed)s = 1 AND @lastro_fit = 1 AND last_insert_id() > 0;
UPDATE json_table(%(locked_ids)s, '$[*]' COLUMNS (account_id bigint PATH '$')) AS held
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON held.account_id = base.account_id
SET
    base.amount = base.amount
    + CASE base.account_id WHEN %(debit_id)s THEN %(debit_change)s ELSE %(credit_change)s END,
    base.payments = base.payments + CASE base.account_id WHEN %(debit_id)s THEN 1 ELSE 0 END,
    base.changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE @lastro_fit = 1 AND last_insert_id() > 0;
DELETE FROM lastro.transfer_key
WHERE transfer_id = if(@lastro_fit = 1, NULL, last_insert_id());
SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.debit_before,
    transfer.debit_after,
    transfer.credit_before,
    transfer.credit_after
FROM lastro.transfer AS transfer
WHERE @lastro_fit = 1 AND transfer.debit_id = %(debit_id)s AND transfer.id = last_insert_id();
