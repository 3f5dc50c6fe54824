-- What a ledger stands on before its first migration.

-- name: foundation
-- The ledger's table of migrations. A ledger is the prefix of its tables' names, for not every database has schemas.
-- locks: what the database locks to make a table   returns: nothing
CREATE TABLE lastro_version (
    version_number bigint NOT NULL PRIMARY KEY,
    version_name varchar(100) NOT NULL,
    serves_from bigint NOT NULL,
    checksum varchar(64) NOT NULL,
    applied_at bigint NOT NULL
);
