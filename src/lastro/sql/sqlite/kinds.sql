-- The kinds of transfer that a ledger has registered. The trigger that holds every writer to them asks their table.

-- name: list
-- The registered kinds.
-- locks: none   returns: 1 row a kind
SELECT
    kind.name,
    kind.debit,
    kind.credit,
    kind.either_way,
    kind.undone_by
FROM lastro_kind AS kind
ORDER BY kind.name;

-- name: lock
-- Let one registration at a time through: the transaction holds the database's one write lock already.
-- locks: none that isn't held already   returns: 1 row
SELECT 1 AS locked;

-- name: is_used
-- Whether anything was posted under this kind. Reads the history until it finds one.
-- locks: none   returns: 1 row
SELECT count(*) > 0 AS found
FROM (SELECT 1 AS one FROM lastro_transfer AS transfer WHERE transfer.kind = %(kind)s LIMIT 1) AS used;

-- name: hold_writers
-- Nobody else writes: the transaction holds the database's one write lock.
-- locks: none that isn't held already   returns: 1 row
SELECT 1 AS held;

-- name: put
-- Register a kind, or change its terms.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro_kind (name, debit, credit, either_way, undone_by, registered_at)
VALUES (%(name)s, %(debit)s, %(credit)s, %(either_way)s, %(undone_by)s, %(now)s)
ON CONFLICT (name) DO UPDATE SET
debit = excluded.debit,
credit = excluded.credit,
either_way = excluded.either_way,
undone_by = excluded.undone_by,
registered_at = excluded.registered_at;

-- name: compose_guard
-- Nothing to make: the trigger is there from the first day.
-- locks: none   returns: 1 row
SELECT '' AS script;

-- name: under_way
-- Transactions that may still post by the terms from before: none, for the registration held the one write lock.
-- locks: none   returns: no row
SELECT
    '' AS "transaction",
    0 AS pid,
    '' AS application,
    0 AS age_s
WHERE 1 = 0;
