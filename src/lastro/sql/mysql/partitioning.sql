-- The partitions of the history: there are none in this version of the store.
--
-- others refused: MySQL and MariaDB keep the history in one table here; retiring it by partitions needs PostgreSQL

-- name: lock
-- Let one partition keeper at a time through: there is nothing to keep.
-- locks: none   returns: 1 row
SELECT NULL AS nothing_to_lock;
