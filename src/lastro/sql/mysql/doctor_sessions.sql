-- What the sessions are doing, from the server's own tables. Each statement bounds itself: MariaDB reads the comment
-- before it as SQL, MySQL the hint in it.
-- noqa: disable=PRS

-- name: limit_time
-- Nothing to set: a session's own limit would outlive the transaction.
-- locks: none   returns: 1 row
SELECT
    %(statement_timeout)s AS statement_timeout,
    'lastro doctor' AS application;

-- name: moment
-- The server's clock, which session answers, whether it only follows another server, and whether this login sees
-- others' sessions and reads the ledger.
-- locks: none   returns: 1 row
SELECT
    utc_timestamp(6) AS now,
    connection_id() AS backend,
    0 AS standby,
    (
        SELECT count(*)
        FROM information_schema.user_privileges AS own
        WHERE own.privilege_type = 'PROCESS' AND replace(own.grantee, '''', '') = current_user()
    ) AS sees_sessions,
    (
        SELECT count(*)
        FROM information_schema.tables AS seen
        WHERE concat(seen.table_schema, '.', seen.table_name) = replace('lastro.base', '`', '')
    ) AS reads_ledger;

-- name: connections
-- How many connections there are, of how many.
-- locks: none   returns: 1 row
/*M! SET STATEMENT max_statement_time = 0.5 FOR */ SELECT /*+ MAX_EXECUTION_TIME(500) */
    CAST(status.variable_value AS signed) AS connections,
    @@max_connections AS connections_max
FROM information_schema.global_status AS status
WHERE status.variable_name = 'THREADS_CONNECTED';

-- name: sessions
-- The sessions that work or hold a transaction, the longest first. InnoDB tells its transactions' beginnings in the
-- system's time.
-- locks: none   returns: 0 … rows_max rows
/*M! SET STATEMENT max_statement_time = 0.5 FOR */ SELECT /*+ MAX_EXECUTION_TIME(500) */
    process.id AS pid,
    '' AS application,
    process.user AS role,
    1 AS here,
    'client backend' AS kind,
    CASE WHEN process.command = 'Sleep' THEN 'idle in transaction' ELSE 'active' END AS state,
    CASE WHEN work.trx_state = 'LOCK WAIT' THEN 'Lock' END AS wait_event_type,
    CASE WHEN work.trx_state = 'LOCK WAIT' THEN 'row' END AS wait_event,
    timestampdiff(
        MICROSECOND, work.trx_started, convert_tz(utc_timestamp(6), '+00:00', 'SYSTEM')
    ) / 1e6 AS transaction_age_s,
    process.time * 1e0 AS state_age_s,
    CASE WHEN work.trx_id IS NOT NULL THEN 1 END AS holds_back_transactions,
    left(coalesce(process.info, ''), %(query_characters_max)s) AS query
FROM information_schema.processlist AS process
LEFT JOIN information_schema.innodb_trx AS work ON process.id = work.trx_mysql_thread_id
WHERE
    process.id <> connection_id()
    AND process.user <> 'system user'
    AND process.command IN ('Sleep', 'Query', 'Execute')
    AND (process.command <> 'Sleep' OR work.trx_id IS NOT NULL)
ORDER BY work.trx_started IS NULL, work.trx_started
LIMIT %(rows_max)s;

-- name: lock_waits
-- Who waits for a row lock, for how long, of which account's row or which table, and behind whom. InnoDB tells the lock
-- by its table and the row's primary key.
-- locks: none   returns: 0 … rows_max rows
/*M! SET STATEMENT max_statement_time = 0.5 FOR */ SELECT /*+ MAX_EXECUTION_TIME(500) */
    waiting.trx_mysql_thread_id AS pid,
    'row' AS kind,
    max(timestampdiff(
        MICROSECOND, waiting.trx_wait_started, convert_tz(utc_timestamp(6), '+00:00', 'SYSTEM')
    )) / 1e6 AS waited_s,
    max(replace(wanted.lock_table, '`', '')) AS relation,
    max(account.name) AS account,
    max(account.currency) AS currency,
    max(base.keeping) AS keeping,
    JSON_ARRAYAGG(blocking.trx_mysql_thread_id) AS blockers
FROM information_schema.innodb_lock_waits AS queued
INNER JOIN information_schema.innodb_trx AS waiting ON queued.requesting_trx_id = waiting.trx_id
INNER JOIN information_schema.innodb_trx AS blocking ON queued.blocking_trx_id = blocking.trx_id
LEFT JOIN information_schema.innodb_locks AS wanted ON queued.requested_lock_id = wanted.lock_id
LEFT JOIN lastro.base AS base
    ON
        replace(wanted.lock_table, '`', '') = replace('lastro.base', '`', '')
        AND base.account_id = CAST(wanted.lock_data AS signed)
LEFT JOIN lastro.account AS account ON base.account_id = account.id
GROUP BY waiting.trx_mysql_thread_id
LIMIT %(rows_max)s;

-- name: lock_waits_unnamed
-- Who waits, for a login that may not read the ledger.
-- locks: none   returns: nothing
-- refused: a login that may not read the ledger has no InnoDB locks of it to ask for

-- name: prepared
-- Transactions that were prepared for a second phase.
-- locks: none   returns: nothing
-- refused: what was prepared by XA is told by a command, and by no table
