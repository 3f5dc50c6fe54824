-- Closed periods: the moment before which nothing may have occurred that is still to be posted.

-- name: bound
-- Up to which moment the books are closed; NULL where nothing is.
-- locks: none, or in a caller's transaction the row of what is closed   returns: 1 row
SELECT closed.closed_until AS until_at
FROM lastro.closed_period AS closed
/* current */;

-- name: hold
-- Wait for whoever is posting with an older moment, and let nobody do so until this commits.
-- locks: the row of what is closed   returns: 1 row
SELECT closed.closing_id FROM lastro.closed_period AS closed WHERE closed.only_row = 1 FOR UPDATE;

-- name: stands
-- What is closed now, by which closing, and what time it is by the ledger's clock and by the database's own.
-- locks: none that isn't held already   returns: 1 row
SELECT
    closed.closed_until AS until_at,
    closed.closing_id,
    -- Of a text parameter and a moment it would be text.
    CAST(coalesce(%(now)s, utc_timestamp(6)) AS datetime(6)) AS moment_at,
    utc_timestamp(6) AS clock_at
FROM lastro.closed_period AS closed;

-- name: find
-- The closing or reopening of that key.
-- locks: none   returns: 0 or 1 row
SELECT
    closing.id,
    closing.`key`,
    closing.closed_until AS until_at,
    closing.reopens,
    CAST(closing.reason AS binary) AS reason,
    CAST(closing.actor AS binary) AS actor,
    closing.recorded_at
FROM lastro.period_closing AS closing
WHERE closing.`key` = %(key)s;

-- name: list
-- Closings and reopenings, the newest first: the first one is in force.
-- locks: none   returns: up to rows_max rows
SELECT
    closing.id,
    closing.`key`,
    closing.closed_until AS until_at,
    closing.reopens,
    CAST(closing.reason AS binary) AS reason,
    CAST(closing.actor AS binary) AS actor,
    closing.recorded_at
FROM lastro.period_closing AS closing
ORDER BY closing.id DESC
LIMIT %(rows_max)s;

-- name: note
-- Note a closing or a reopening.
-- locks: none that isn't held already   returns: 1 row: its id
INSERT INTO lastro.period_closing (`key`, closed_until, reopens, reason, actor, recorded_at)
VALUES (
    %(key)s, %(until)s, %(reopens)s, CONVERT(%(reason)s USING utf8mb4), CONVERT(%(actor)s USING utf8mb4),
    coalesce(%(now)s, utc_timestamp(6))
);
SELECT last_insert_id() AS id;

-- name: move_bound
-- Let the one row say what was noted.
-- locks: the row of what is closed   returns: nothing
UPDATE lastro.closed_period
SET
    closed_until = %(until)s,
    closing_id = %(closing_id)s
WHERE only_row = 1;

-- name: compose_guard
-- Nothing to make: the trigger is there from the first day.
-- locks: none   returns: 1 row
SELECT '' AS script;

-- name: under_way
-- Transactions that may still post into the period that was closed without being asked: those that began before its
-- end, or within a minute after it. How the list is read is said at keeping.under_way.
-- locks: a named lock   returns: 1 row a transaction; granted is 0 where the list can't be trusted
SELECT get_lock('lastro looks for transactions', 30) AS granted;
START TRANSACTION;
SELECT count(*) AS migrations FROM lastro.migration AS migration;
DO sleep(0.12);
SELECT count(*) AS granted
FROM information_schema.innodb_trx AS own
WHERE own.trx_mysql_thread_id = connection_id();
SELECT
    concat(running.trx_mysql_thread_id, ' since ', running.trx_started, ' ', running.trx_id) AS transaction,
    CAST(running.trx_mysql_thread_id AS signed) AS pid,
    coalesce(process.user, 'another user''s') AS application,
    timestampdiff(SECOND, running.trx_started, now()) AS age_s,
    120 AS look_ms
FROM information_schema.innodb_trx AS running
LEFT JOIN information_schema.processlist AS process ON running.trx_mysql_thread_id = process.id
WHERE
    running.trx_mysql_thread_id <> connection_id()
    AND timestampdiff(SECOND, running.trx_started, now())
    >= timestampdiff(SECOND, %(until)s + INTERVAL 1 MINUTE, utc_timestamp()) - 1;
COMMIT;
DO release_lock('lastro looks for transactions');
