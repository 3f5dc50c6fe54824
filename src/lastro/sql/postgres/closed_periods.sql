-- Closed periods: the moment before which nothing may have occurred that is still to be posted.

-- name: bound
-- Up to which moment the books are closed; NULL where nothing is.
-- locks: none   returns: 1 row
SELECT closed.closed_until AS until_at
FROM lastro.closed_period AS closed;

-- name: hold
-- Wait for whoever is posting with an older moment, and let nobody do so until this commits.
-- locks: closed_period, in EXCLUSIVE mode   returns: nothing
LOCK TABLE lastro.closed_period IN EXCLUSIVE MODE;

-- name: stands
-- What is closed now, by which closing, and what time it is by the ledger's clock and by the database's own.
-- locks: none that isn't held already   returns: 1 row
SELECT
    closed.closed_until AS until_at,
    closed.closing_id,
    coalesce(%(now)s::timestamptz, now()) AS moment_at,
    now() AS clock_at
FROM lastro.closed_period AS closed;

-- name: find
-- The closing or reopening of that key.
-- locks: none   returns: 0 or 1 row
SELECT
    closing.id,
    closing.key,
    closing.closed_until AS until_at,
    closing.reopens,
    closing.reason,
    closing.actor,
    closing.recorded_at
FROM lastro.period_closing AS closing
WHERE closing.key = %(key)s::text;

-- name: list
-- Closings and reopenings, the newest first: the first one is in force.
-- locks: none   returns: up to rows_max rows
SELECT
    closing.id,
    closing.key,
    closing.closed_until AS until_at,
    closing.reopens,
    closing.reason,
    closing.actor,
    closing.recorded_at
FROM lastro.period_closing AS closing
ORDER BY closing.id DESC
LIMIT %(rows_max)s::bigint;

-- name: note
-- Note a closing or a reopening.
-- locks: none that isn't held already   returns: 1 row: its id
INSERT INTO lastro.period_closing (key, closed_until, reopens, reason, actor, recorded_at)
VALUES (
    %(key)s::text, %(until)s::timestamptz, %(reopens)s::boolean, %(reason)s::text, %(actor)s::text,
    coalesce(%(now)s::timestamptz, now())
)
RETURNING id;

-- name: move_bound
-- Let the one row say what was noted.
-- locks: the row of what is closed   returns: nothing
UPDATE lastro.closed_period
SET
    closed_until = %(until)s::timestamptz,
    closing_id = %(closing_id)s::bigint
WHERE only_row;

-- name: compose_guard
-- The statement that makes the trigger on transfer, where this is the first closing. Its condition lets pass what is at
-- most a minute older than its recording, and than the transaction, at the cost of two comparisons.
-- locks: none   returns: 1 row; what it composes takes SHARE ROW EXCLUSIVE on transfer
SELECT
    CASE WHEN count(*) = 0 THEN
        'CREATE TRIGGER transfer_period_open AFTER INSERT ON lastro.transfer FOR EACH ROW WHEN ('
        || 'new.occurred_at < new.recorded_at - interval ''1 minute'''
        || ' OR new.occurred_at < now() - interval ''1 minute'''
        || ') EXECUTE FUNCTION lastro.refuse_closed_period();'
    ELSE '' END AS script
FROM pg_trigger AS guard
WHERE guard.tgrelid = 'lastro.transfer'::regclass AND guard.tgname = 'transfer_period_open';

-- name: under_way
-- Transactions that may still post into the period that was closed without being asked: those that began before its
-- end, or within a minute after it, and prepared ones. One whose beginning this role may not see counts as one. Our own
-- doesn't.
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
    AND coalesce(activity.xact_start < %(until)s::timestamptz + interval '1 minute', true)
    AND coalesce(activity.backend_type, 'client backend') = 'client backend'
UNION ALL
SELECT
    prepared.gid AS transaction,
    0 AS pid,
    'prepared transaction ' || prepared.gid AS application,
    date_part('epoch', clock_timestamp() - prepared.prepared)::bigint AS age_s
FROM pg_prepared_xacts AS prepared
WHERE prepared.database = current_database();
