-- Posting one transfer where no side needs a lock, and finding one by its key.
--
-- Every step checks again what the process believes of the two accounts (how they are kept, that they are open, that no
-- floor came), by a read that locks nothing: an INSERT … SELECT would share-lock the hot base row in REPEATABLE READ.
-- No row means that the belief was stale or that the key is taken; the steps after it find out which.
--
-- The id comes with the key, for only INSERT … VALUES draws it without a lock on the table. Where the key is taken,
-- LAST_INSERT_ID() is 0: the count of affected rows isn't asked, for it depends on how the connection was opened
-- (CLIENT.FOUND_ROWS). Never INSERT IGNORE, which cuts values to size.
--
-- Where the belief was stale or the key is taken, the transfer's own INSERT ends the step: its id is NULL then, which
-- its column refuses. The engine takes that one error for "no row" and undoes what the step wrote (the mark "or none").
-- An INSERT … SELECT with a WHERE would write nothing by itself and costs half as much again.
--
-- They wait for one thing: a rival that is writing the same key. The wait is bounded, and the caller's own limit given
-- back; a connection of ours keeps the bound (the mark "held": only in a caller's transaction).

-- name: post_to_hot
-- The checkout: debit the world, whose terms never change, and credit an account kept hot. Only inserts. The
-- world is looked for, for a process may remember one that was rolled back.
-- locks: none that another posting waits for   returns: 0 or 1 row: the new transfer
/* held */ SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT
    count(*),
    coalesce(%(now)s, utc_timestamp(6))
INTO @lastro_fit, @lastro_now
FROM lastro.base AS c
WHERE
    c.account_id = %(credit_id)s AND c.keeping = 'hot' AND c.state = 'open'
    AND c.amount <= %(unlocked_base_max)s
    AND EXISTS (SELECT 1 FROM lastro.base AS world WHERE world.account_id = %(debit_id)s);
INSERT INTO lastro.transfer_key (`key`, debit_id)
VALUES (%(key)s, %(debit_id)s)
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id + 0 * last_insert_id(0);
/* or none */ INSERT INTO lastro.transfer (
    id, debit_id, credit_id, amount,
    occurred_at, recorded_at, `key`, kind, cause, reverses, source, actor, metadata
)
VALUES (
    if(@lastro_fit = 1, nullif(last_insert_id(), 0), NULL),
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    coalesce(%(occurred_at)s, @lastro_now),
    @lastro_now,
    %(key)s,
    %(kind)s,
    %(cause)s,
    %(reverses)s,
    %(source)s,
    %(actor)s,
    %(metadata)s
);
INSERT INTO lastro.tail (account_id, transfer_id, amount)
VALUES (%(credit_id)s, last_insert_id(), %(amount)s);
/* held */ SET SESSION innodb_lock_wait_timeout = @lastro_patience, @lastro_patience = NULL;
SELECT
    last_insert_id() AS id,
    CAST(coalesce(%(occurred_at)s, @lastro_now) AS datetime(6)) AS occurred_at,
    CAST(@lastro_now AS datetime(6)) AS recorded_at;

-- name: post_unlocked
-- Post between two accounts that are kept hot or summed, with no floor to guard on the debit side. Only inserts.
-- locks: none that another posting waits for   returns: 0 or 1 row: the new transfer
/* held */ SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT
    count(*),
    coalesce(%(now)s, utc_timestamp(6))
INTO @lastro_fit, @lastro_now
FROM lastro.base AS d
CROSS JOIN lastro.base AS c
WHERE
    d.account_id = %(debit_id)s AND d.keeping = %(debit_keeping)s AND d.state = 'open' AND d.floor IS NULL
    AND c.account_id = %(credit_id)s AND c.keeping = %(credit_keeping)s AND c.state = 'open'
    AND d.amount >= -%(unlocked_base_max)s AND c.amount <= %(unlocked_base_max)s;
INSERT INTO lastro.transfer_key (`key`, debit_id)
VALUES (%(key)s, %(debit_id)s)
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id + 0 * last_insert_id(0);
/* or none */ INSERT INTO lastro.transfer (
    id, debit_id, credit_id, amount,
    occurred_at, recorded_at, `key`, kind, cause, reverses, source, actor, metadata
)
VALUES (
    if(@lastro_fit = 1, nullif(last_insert_id(), 0), NULL),
    %(debit_id)s,
    %(credit_id)s,
    %(amount)s,
    coalesce(%(occurred_at)s, @lastro_now),
    @lastro_now,
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
/* hot credit */ INSERT INTO lastro.tail (account_id, transfer_id, amount)
VALUES (%(credit_id)s, last_insert_id(), %(amount)s);
/* held */ SET SESSION innodb_lock_wait_timeout = @lastro_patience, @lastro_patience = NULL;
SELECT
    last_insert_id() AS id,
    CAST(coalesce(%(occurred_at)s, @lastro_now) AS datetime(6)) AS occurred_at,
    CAST(@lastro_now AS datetime(6)) AS recorded_at;

-- name: find_transfer
-- The transfer that holds this key. Its own columns are NULL where it was retired: the key stays taken.
--
-- In a caller's transaction a posting must see what was committed after its snapshot, and a locking read of a key that
-- isn't there would lock the gap in which others insert theirs. So the key is asked for by inserting it: where that
-- made a placeholder the key is free; where it didn't, the row is there to be read with a lock on it alone.
-- locks: none, or in a caller's transaction the key's row   returns: 0 or 1 row
/* held */ SAVEPOINT lastro_probe;
/* held */ INSERT INTO lastro.transfer_key (`key`, debit_id)
VALUES (%(key)s, -1)
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id;
SELECT
    named.transfer_id,
    transfer.id,
    transfer.`key`,
    transfer.kind,
    debit.name AS debit,
    credit.name AS credit,
    debit.currency,
    transfer.amount,
    transfer.occurred_at,
    transfer.recorded_at,
    transfer.cause,
    transfer.reverses,
    CAST(transfer.source AS binary) AS source,
    CAST(transfer.actor AS binary) AS actor,
    CAST(transfer.metadata AS binary) AS metadata,
    transfer.debit_before,
    transfer.debit_after,
    transfer.credit_before,
    transfer.credit_after
FROM (
    SELECT DISTINCT asked.`key`
    FROM (SELECT %(key)s AS `key`) AS asked
    LEFT JOIN lastro.transfer_key AS mine ON asked.`key` = mine.`key` AND mine.debit_id = -1
    WHERE mine.debit_id IS NULL
) AS taken
STRAIGHT_JOIN lastro.transfer_key AS named FORCE INDEX (transfer_key_once) ON taken.`key` = named.`key`
LEFT JOIN lastro.transfer AS transfer FORCE INDEX (primary)
    ON named.debit_id = transfer.debit_id AND named.transfer_id = transfer.id
LEFT JOIN lastro.account AS debit FORCE INDEX (primary) ON transfer.debit_id = debit.id
LEFT JOIN lastro.account AS credit FORCE INDEX (primary) ON transfer.credit_id = credit.id
/* current */;
/* held */ ROLLBACK TO SAVEPOINT lastro_probe;
/* held */ RELEASE SAVEPOINT lastro_probe;
