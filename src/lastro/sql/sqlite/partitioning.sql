-- The partitions of the history: SQLite has none.
--
-- others refused: SQLite keeps the history in one table; to retire it by partitions takes PostgreSQL

-- name: lock
-- Let one partition keeper at a time through: the write lock of the database does.
-- locks: none   returns: no row
SELECT NULL AS pg_advisory_xact_lock
WHERE 1 = 0;
