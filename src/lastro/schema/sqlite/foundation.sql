-- What a ledger stands on before its first migration.

-- name: foundation
-- The ledger's table of migrations; may run twice. SQLite has no schemas: a ledger is the prefix of its tables' names.
-- locks: the database's one write lock   returns: nothing
CREATE TABLE IF NOT EXISTS lastro_migration (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    serves_from INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;
