-- Posting one transfer where a side is kept direct: lock, judge and write.
--
-- The first read locks the base rows and judges them; what it found goes on in user variables, so that nothing has to
-- come back to the process before the transfer is written. A new balance may leave the 64-bit range where the transfer
-- doesn't fit; so it is worked out only where it does.

-- name: post_both
-- Post between two accounts kept direct: lock both in account order, check the floor, write, update both.
-- locks: both base rows, in account order   returns: 0 or 1 row: the new transfer
/* held */ SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT
    sum(
        CASE
            WHEN base.keeping <> 'direct' OR base.state <> 'open' THEN 0
            WHEN base.account_id = %(debit_id)s THEN
                (
                    base.floor IS NULL
                    OR CAST(base.amount AS decimal(30, 0)) - base.held - %(amount)s >= base.floor
                )
                AND CAST(base.amount AS decimal(30, 0)) - %(amount)s >= %(balance_min)s
            ELSE CAST(base.amount AS decimal(30, 0)) + %(amount)s <= %(balance_max)s
        END
    ) = 2,
    max(CASE base.account_id WHEN %(debit_id)s THEN base.amount END),
    max(CASE base.account_id WHEN %(credit_id)s THEN base.amount END)
INTO @lastro_fit, @lastro_debit, @lastro_credit
FROM lastro.base AS base FORCE INDEX (primary)
WHERE base.account_id IN (%(debit_id)s, %(credit_id)s)
FOR UPDATE;
INSERT INTO lastro.transfer_key (`key`, debit_id)
VALUES (%(key)s, %(debit_id)s)
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id + 0 * last_insert_id(0);
/* or none */ INSERT INTO lastro.transfer (
    id, debit_id, credit_id, amount,
    debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, `key`, kind, cause, reverses, source, actor, metadata
)
VALUES (
    if(@lastro_fit = 1, nullif(last_insert_id(), 0), NULL),
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    @lastro_debit,
    if(@lastro_fit = 1, @lastro_debit - %(amount)s, NULL),
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
UPDATE lastro.base FORCE INDEX (primary)
SET
    amount = CASE account_id
        WHEN %(debit_id)s THEN @lastro_debit - %(amount)s ELSE @lastro_credit + %(amount)s
    END,
    payments = payments + CASE account_id WHEN %(debit_id)s THEN 1 ELSE 0 END,
    changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE account_id IN (%(debit_id)s, %(credit_id)s);
/* held */ SET SESSION innodb_lock_wait_timeout = @lastro_patience, @lastro_patience = NULL;
SELECT
    transfer.id,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.debit_before,
    transfer.debit_after,
    transfer.credit_before,
    transfer.credit_after
FROM lastro.transfer AS transfer
WHERE transfer.debit_id = %(debit_id)s AND transfer.id = last_insert_id();

-- name: post_debit
-- Debit an account kept direct, credit one that needs no lock (kept hot or summed).
-- locks: the debit account's base row   returns: 0 or 1 row: the new transfer
/* held */ SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT count(*) INTO @lastro_free
FROM lastro.base AS c
WHERE
    c.account_id = %(credit_id)s AND c.keeping = %(credit_keeping)s AND c.state = 'open'
    AND c.amount <= %(unlocked_base_max)s;
SELECT
    count(*) = 1 AND @lastro_free = 1
    AND coalesce(min(
        d.keeping = 'direct' AND d.state = 'open'
        AND (d.floor IS NULL OR CAST(d.amount AS decimal(30, 0)) - d.held - %(amount)s >= d.floor)
        AND CAST(d.amount AS decimal(30, 0)) - %(amount)s >= %(balance_min)s
    ), 0),
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
/* hot credit */ INSERT INTO lastro.tail (account_id, transfer_id, amount)
VALUES (%(credit_id)s, last_insert_id(), %(amount)s);
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

-- name: post_credit
-- Debit an account that needs no lock (kept hot or summed, no floor), credit one kept direct.
-- locks: the credit account's base row   returns: 0 or 1 row: the new transfer
/* held */ SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT count(*) INTO @lastro_free
FROM lastro.base AS d
WHERE
    d.account_id = %(debit_id)s AND d.keeping = %(debit_keeping)s AND d.state = 'open' AND d.floor IS NULL
    AND d.amount >= -%(unlocked_base_max)s;
SELECT
    count(*) = 1 AND @lastro_free = 1
    AND coalesce(min(
        c.keeping = 'direct' AND c.state = 'open'
        AND CAST(c.amount AS decimal(30, 0)) + %(amount)s <= %(balance_max)s
    ), 0),
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
/* hot debit */ INSERT INTO lastro.tail (account_id, transfer_id, amount)
VALUES (%(debit_id)s, last_insert_id(), -%(amount)s);
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
