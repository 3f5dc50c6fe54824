-- The ledger's own version.

-- name: lock
-- Two migrators at once: there is no lock that every database knows, so each makes what isn't there yet, and the one
-- that notes the migration second is told by its uniqueness error.
-- locks: none   returns: no row
SELECT lone.version_number AS ledger
FROM lastro_version lone
WHERE 1 = 0;

-- name: limit_lock_wait
-- Nothing to set: how long a statement waits is the database's or the driver's own setting.
-- locks: none   returns: no row
SELECT lone.version_number AS lock_timeout
FROM lastro_version lone
WHERE 1 = 0;

-- name: exists
-- Whether a migration was noted. The engine asks SQLAlchemy first whether the table is there at all.
-- locks: none   returns: 1 row
SELECT count(*) AS found
FROM lastro_version;

-- name: applied
-- The migrations that were applied.
-- locks: none   returns: 1 row a migration
SELECT
    version_.version_number AS number_,
    version_.version_name AS name,
    version_.serves_from,
    version_.checksum
FROM lastro_version version_
ORDER BY version_.version_number;

-- name: note
-- Note a migration as applied, after what it makes was made.
-- locks: none   returns: nothing
INSERT INTO lastro_version (version_number, version_name, serves_from, checksum, applied_at)
VALUES (%(number)s, %(name)s, %(serves_from)s, %(checksum)s, %(now)s);
