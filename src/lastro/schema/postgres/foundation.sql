-- The ledger's schema and its table of migrations; may run twice.

CREATE SCHEMA IF NOT EXISTS lastro;

CREATE TABLE IF NOT EXISTS lastro.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    serves_from integer NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL
);
