-- What a ledger stands on before its first migration.

-- name: foundation
-- The ledger's table of migrations; may run twice. SQLite has no schemas: a ledger is the prefix of its tables' names.
-- locks: the database's one write lock   returns: nothing
CREATE TABLE IF NOT EXISTS lastro_migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    serves_from integer NOT NULL,
    checksum text NOT NULL,
    applied_at integer NOT NULL
) STRICT;
