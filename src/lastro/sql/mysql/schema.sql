-- The ledger's own version, and the lock under which it changes.

-- name: lock
-- Let one migrator at a time through, and look whether the server is fit. DDL commits by itself here, so the lock is
-- one of the session's; the engine lets it go when the plan has ended.
-- locks: a named lock, by ledger   returns: 1 row: granted is 0 where another migrator holds it
SELECT
    CASE
        WHEN @@default_storage_engine <> 'InnoDB' THEN
            concat(
                'default_storage_engine is ', @@default_storage_engine,
                ', whose tables survive no ROLLBACK; set it to InnoDB for the whole server'
            )
        WHEN NOT find_in_set('STRICT_TRANS_TABLES', @@global.sql_mode)
            AND NOT find_in_set('STRICT_ALL_TABLES', @@global.sql_mode) THEN
            concat(
                'sql_mode is ''', @@global.sql_mode,
                ''', so that a value that does not fit is cut to size; add STRICT_TRANS_TABLES for the whole server'
            )
    END AS unfit,
    get_lock(concat('lastro migrates ', CONVERT(%(ledger)s USING utf8mb4)), 2) AS granted;

-- name: limit_lock_wait
-- A migration gives way to traffic: it waits briefly for its locks, and is tried again.
-- locks: none   returns: nothing
SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned),
    SESSION lock_wait_timeout = CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned);

-- name: exists
-- Whether the ledger's table of migrations is there. Reads the catalogue's tables, so that a missing one is no error.
-- locks: none   returns: 1 row
SELECT count(*) > 0 AS found
FROM information_schema.tables AS relation
WHERE
    relation.table_schema = replace(substring_index('lastro.migration', '.', 1), '`', '')
    AND relation.table_name = 'migration';

-- name: applied
-- The migrations that were applied.
-- locks: none   returns: 1 row a migration
SELECT
    migration.number,
    migration.name,
    migration.serves_from,
    migration.checksum
FROM lastro.migration AS migration
ORDER BY migration.number;

-- name: note
-- Note a migration as applied, once all of it is.
-- locks: none   returns: nothing
INSERT INTO lastro.migration (number, name, serves_from, checksum, applied_at)
VALUES (%(number)s, %(name)s, %(serves_from)s, %(checksum)s, utc_timestamp(6));
