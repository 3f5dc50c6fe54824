-- Changing how an account is kept while others post to it.

-- name: under_way
-- Transactions of this database that may still post by what they knew before this statement: those that have written
-- something, or that still look through an older snapshot. Prepared transactions count. Our own doesn't. A role without
-- pg_monitor sees all of them too, only without their names and ages.
-- locks: none   returns: 1 row a transaction
SELECT
    running.virtualtransaction AS transaction,
    activity.pid,
    activity.application_name AS application,
    date_part('epoch', clock_timestamp() - activity.xact_start)::bigint AS age_s
FROM pg_stat_activity AS activity
INNER JOIN pg_locks AS running
    ON activity.pid = running.pid AND running.locktype = 'virtualxid' AND running.mode = 'ExclusiveLock'
WHERE
    activity.datname = current_database()
    AND activity.pid <> pg_backend_pid()
    AND (activity.backend_xid IS NOT NULL OR activity.backend_xmin IS NOT NULL)
    AND coalesce(activity.backend_type, 'client backend') = 'client backend'
UNION ALL
SELECT
    prepared.gid AS transaction,
    0 AS pid,
    'prepared transaction ' || prepared.gid AS application,
    date_part('epoch', clock_timestamp() - prepared.prepared)::bigint AS age_s
FROM pg_prepared_xacts AS prepared
WHERE prepared.database = current_database();

-- name: turn
-- From now on whoever posts to this account locks its base row first.
-- locks: none that isn't held already   returns: 1 row: which turning this is
UPDATE lastro.base
SET state = 'turning', turns = turns + 1, changed_at = coalesce(%(now)s::timestamptz, now())
WHERE account_id = %(account_id)s::bigint
RETURNING turns;

-- name: turn_back
-- Post to this account as before.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.base
SET state = 'open', changed_at = coalesce(%(now)s::timestamptz, now())
WHERE account_id = %(account_id)s::bigint;

-- name: set_terms
-- The new terms of an account, with the base amount that leaves its balance as it is.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.base
SET
    keeping = %(keeping)s::text,
    state = 'open',
    amount = %(amount)s::bigint,
    payments = payments + 1,
    changed_at = coalesce(%(now)s::timestamptz, now())
WHERE account_id = %(account_id)s::bigint;

-- name: has_tail
-- Whether anything of an account is still to be folded in.
-- locks: none   returns: 1 row
SELECT count(*) > 0 AS found
FROM (SELECT FROM lastro.tail AS tail WHERE tail.account_id = %(account_id)s::bigint LIMIT 1) AS first_row;

-- name: summed_history
-- What the history sums to for an account.
-- locks: none   returns: 1 row
SELECT
    coalesce((
        SELECT sum(transfer.amount) FROM lastro.transfer AS transfer
        WHERE transfer.credit_id = %(account_id)s::bigint
    ), 0)
    - coalesce((
        SELECT sum(transfer.amount) FROM lastro.transfer AS transfer
        WHERE transfer.debit_id = %(account_id)s::bigint
    ), 0) AS amount;
