-- The ledger's own version.

-- name: lock
-- Let one migrator at a time through: the transaction holds the database's one write lock already.
-- locks: none that isn't held already   returns: 1 row
SELECT %(ledger)s AS ledger;

-- name: limit_lock_wait
-- Nothing to set: the engine has waited for the write lock, and there is no other.
-- locks: none   returns: 1 row
SELECT %(lock_timeout)s AS lock_timeout;

-- name: exists
-- Whether the ledger's table of migrations is there.
-- locks: none   returns: 1 row
SELECT count(*) > 0 AS found
FROM sqlite_schema AS relation
WHERE relation.type = 'table' AND relation.name = 'lastro_migration';

-- name: applied
-- The migrations that were applied.
-- locks: none   returns: 1 row a migration
SELECT
    migration.number,
    migration.name,
    migration.serves_from,
    migration.checksum
FROM lastro_migration AS migration
ORDER BY migration.number;

-- name: note
-- Note a migration as applied, in the transaction that applies it.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro_migration (number, name, serves_from, checksum, applied_at)
VALUES (%(number)s, %(name)s, %(serves_from)s, %(checksum)s, %(now)s);
