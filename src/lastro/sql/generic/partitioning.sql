-- The partitions of the history: standard SQL has none.

-- name: lock
-- Let one partition keeper at a time through: there is none, so there is nothing to lock.
-- locks: none   returns: no row
SELECT lone.version_number AS pg_advisory_xact_lock
FROM lastro_version lone
WHERE 1 = 0;

-- name: list
-- The partitions with bounds, in order.
-- locks: none   returns: nothing
-- refused: standard SQL has no partitions; a ledger that must retire its history by partitions needs PostgreSQL

-- name: reached
-- How far the ids have come.
-- locks: none   returns: nothing
-- refused: standard SQL has no partitions; a ledger that must retire its history by partitions needs PostgreSQL

-- name: compose_add
-- The statements that add an empty partition.
-- locks: none   returns: nothing
-- refused: standard SQL has no partitions; a ledger that must retire its history by partitions needs PostgreSQL

-- name: compose_adopt
-- The statements that turn what strayed into a partition.
-- locks: none   returns: nothing
-- refused: standard SQL has no partitions; a ledger that must retire its history by partitions needs PostgreSQL

-- name: compose_close
-- The statement that waits for whoever is still writing to a partition.
-- locks: none   returns: nothing
-- refused: standard SQL has no partitions; a ledger that must retire its history by partitions needs PostgreSQL

-- name: carry_over
-- Add what a partition holds of summed accounts to their base amounts.
-- locks: none   returns: nothing
-- refused: standard SQL has no partitions; a ledger that must retire its history by partitions needs PostgreSQL

-- name: compose_retire
-- The statement that takes a partition out of the history.
-- locks: none   returns: nothing
-- refused: standard SQL has no partitions; a ledger that must retire its history by partitions needs PostgreSQL
