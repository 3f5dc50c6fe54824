-- The ledger's own version, and the lock under which it changes.

-- name: lock
-- Let one migrator at a time through. By transaction and not by session: a pooler may change the session under us.
-- locks: advisory, by ledger   returns: nothing
SELECT pg_advisory_xact_lock(hashtextextended('lastro migrates ' || %(ledger)s::text, 0));

-- name: limit_lock_wait
-- A migration gives way to traffic: it waits briefly for its locks, and is tried again.
-- locks: none   returns: nothing
SELECT set_config('lock_timeout', %(lock_timeout)s::text, true);

-- name: exists
-- Whether the ledger's table of migrations is there. Reads the catalogue's tables, so that a missing one is no error;
-- to_regclass won't do, for a process that has looked in vain may not see what another migrator has made since.
-- locks: none   returns: 1 row
SELECT count(*) > 0 AS found
FROM pg_class AS relation
INNER JOIN pg_namespace AS space ON relation.relnamespace = space.oid
WHERE space.nspname = (parse_ident('lastro.migration'))[1] AND relation.relname = 'migration';

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
-- Note a migration as applied, in the transaction that applies it.
-- locks: none   returns: nothing
INSERT INTO lastro.migration (number, name, serves_from, checksum, applied_at)
VALUES (%(number)s::integer, %(name)s::text, %(serves_from)s::integer, %(checksum)s::text, now());
