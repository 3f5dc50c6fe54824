-- What a ledger stands on before its first migration.

-- name: foundation
-- The ledger's schema (a database, as this family calls it) and its table of migrations; may run twice.
-- locks: the names it creates   returns: nothing
CREATE SCHEMA IF NOT EXISTS lastro;

CREATE TABLE IF NOT EXISTS lastro.migration (
    number integer NOT NULL,
    name varchar(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    serves_from integer NOT NULL,
    checksum varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    applied_at DATETIME(6) NOT NULL,
    PRIMARY KEY (number)
) ENGINE = InnoDB;
