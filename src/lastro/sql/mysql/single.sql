-- Posting one transfer between an account kept direct and the world, whose terms never change and whose row nobody
-- needs to look at beyond that it is there, for a process may remember one that was rolled back: the most frequent
-- postings of a single-entry ledger. The rest is as in direct.sql.

-- name: credit
-- Credit an account kept direct out of the world.
-- locks: the credit account's base row   returns: 0 or 1 row: the new transfer
/* held */ SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT
    coalesce(min(
        c.keeping = 'direct' AND c.state = 'open'
        AND CAST(c.amount AS decimal(30, 0)) + %(amount)s <= %(balance_max)s
    ), 0) AND EXISTS (SELECT 1 FROM lastro.base AS world WHERE world.account_id = %(debit_id)s),
    max(c.amount)
INTO @lastro_fit, @lastro_credit
FROM lastro.base AS c
WHERE c.account_id = %(credit_id)s
FOR UPDATE;
INSERT INTO lastro.transfer_key (`key`, debit_id)
VALUES (%(key)s, %(debit_id)s)
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id + 0 * last_insert_id(0);
/* or none */ INSERT INTO lastro.transfer (
    id, debit_id, credit_id, amount,
    credit_before, credit_after,
    occurred_at, recorded_at, `key`, kind, cause, reverses, source, actor, metadata
)
VALUES (
    if(@lastro_fit = 1, nullif(last_insert_id(), 0), NULL),
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    @lastro_credit,
    if(@lastro_fit = 1, @lastro_credit + %(amount)s, NULL),
    coalesce(%(occurred_at)s, %(now)s, utc_timestamp(6)),
    coalesce(%(now)s, utc_timestamp(6)),
    %(key)s,
    %(kind)s,
    %(cause)s,
    %(reverses)s,
    %(source)s,
    %(actor)s,
    %(metadata)s
);
UPDATE lastro.base
SET
    amount = @lastro_credit + %(amount)s,
    changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE account_id = %(credit_id)s;
/* held */ SET SESSION innodb_lock_wait_timeout = @lastro_patience, @lastro_patience = NULL;
SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.credit_before,
    transfer.credit_after
FROM lastro.transfer AS transfer
WHERE transfer.debit_id = %(debit_id)s AND transfer.id = last_insert_id();

-- name: debit
-- Debit an account kept direct, down to its floor, to the world.
-- locks: the debit account's base row   returns: 0 or 1 row: the new transfer
/* held */ SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT
    coalesce(min(
        d.keeping = 'direct' AND d.state = 'open'
        AND (d.floor IS NULL OR CAST(d.amount AS decimal(30, 0)) - d.held - %(amount)s >= d.floor)
        AND CAST(d.amount AS decimal(30, 0)) - %(amount)s >= %(balance_min)s
    ), 0) AND EXISTS (SELECT 1 FROM lastro.base AS world WHERE world.account_id = %(credit_id)s),
    max(d.amount)
INTO @lastro_fit, @lastro_debit
FROM lastro.base AS d
WHERE d.account_id = %(debit_id)s
FOR UPDATE;
INSERT INTO lastro.transfer_key (`key`, debit_id)
VALUES (%(key)s, %(debit_id)s)
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id + 0 * last_insert_id(0);
/* or none */ INSERT INTO lastro.transfer (
    id, debit_id, credit_id, amount,
    debit_before, debit_after,
    occurred_at, recorded_at, `key`, kind, cause, reverses, source, actor, metadata
)
VALUES (
    if(@lastro_fit = 1, nullif(last_insert_id(), 0), NULL),
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    @lastro_debit,
    if(@lastro_fit = 1, @lastro_debit - %(amount)s, NULL),
    coalesce(%(occurred_at)s, %(now)s, utc_timestamp(6)),
    coalesce(%(now)s, utc_timestamp(6)),
    %(key)s,
    %(kind)s,
    %(cause)s,
    %(reverses)s,
    %(source)s,
    %(actor)s,
    %(metadata)s
);
UPDATE lastro.base
SET
    amount = @lastro_debit - %(amount)s,
    payments = payments + 1,
    changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE account_id = %(debit_id)s;
/* held */ SET SESSION innodb_lock_wait_timeout = @lastro_patience, @lastro_patience = NULL;
SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.debit_before,
    transfer.debit_after
FROM lastro.transfer AS transfer
WHERE transfer.debit_id = %(debit_id)s AND transfer.id = last_insert_id();
