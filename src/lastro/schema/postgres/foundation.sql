-- What a ledger stands on before its first migration.

-- name: foundation
-- The ledger's schema and its table of migrations; may run twice.
-- locks: the names it creates   returns: nothing
CREATE SCHEMA IF NOT EXISTS lastro;

CREATE TABLE IF NOT EXISTS lastro.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    serves_from integer NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL
);
