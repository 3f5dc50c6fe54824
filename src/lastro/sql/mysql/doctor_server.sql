-- The server around the ledger.
-- others refused: the doctor knows the settings, replicas and slots of PostgreSQL alone
-- noqa: disable=PRS

-- name: counters
-- What only ever grows. Checkpoints are InnoDB's own business here.
-- locks: none   returns: 1 row
/*M! SET STATEMENT max_statement_time = 0.5 FOR */ SELECT /*+ MAX_EXECUTION_TIME(500) */
    NULL AS checkpoints_timed,
    NULL AS checkpoints_requested,
    NULL AS checkpoint_write_ms,
    NULL AS checkpoint_sync_ms,
    max(CASE WHEN status.variable_name = 'INNODB_OS_LOG_WRITTEN' THEN CAST(status.variable_value AS signed) END)
    AS wal_bytes,
    max(CASE WHEN status.variable_name = 'HANDLER_COMMIT' THEN CAST(status.variable_value AS signed) END) AS commits,
    max(CASE WHEN status.variable_name = 'HANDLER_ROLLBACK' THEN CAST(status.variable_value AS signed) END)
    AS rollbacks,
    max(CASE WHEN status.variable_name = 'INNODB_DEADLOCKS' THEN CAST(status.variable_value AS signed) END)
    AS deadlocks,
    NULL AS conflicts
FROM information_schema.global_status AS status
WHERE
    status.variable_name IN ('INNODB_OS_LOG_WRITTEN', 'HANDLER_COMMIT', 'HANDLER_ROLLBACK', 'INNODB_DEADLOCKS');
