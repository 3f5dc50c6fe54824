-- The partitions of the history: there are none in this version of the store.

-- name: lock
-- Let one partition keeper at a time through: there is nothing to keep.
-- locks: none   returns: 1 row
SELECT NULL AS nothing_to_lock;

-- name: list
-- The partitions with bounds, in order.
-- locks: none   returns: nothing
-- refused: MySQL and MariaDB keep the history in one table here; retiring it by partitions needs PostgreSQL

-- name: reached
-- How far the ids have come.
-- locks: none   returns: nothing
-- refused: MySQL and MariaDB keep the history in one table here; retiring it by partitions needs PostgreSQL

-- name: compose_add
-- The statements that add an empty partition.
-- locks: none   returns: nothing
-- refused: MySQL and MariaDB keep the history in one table here; retiring it by partitions needs PostgreSQL

-- name: compose_adopt
-- The statements that turn what strayed into a partition.
-- locks: none   returns: nothing
-- refused: MySQL and MariaDB keep the history in one table here; retiring it by partitions needs PostgreSQL

-- name: compose_close
-- The statement that waits for whoever is still writing to a partition.
-- locks: none   returns: nothing
-- refused: MySQL and MariaDB keep the history in one table here; retiring it by partitions needs PostgreSQL

-- name: carry_over
-- Add what a partition holds of summed accounts to their base amounts.
-- locks: none   returns: nothing
-- refused: MySQL and MariaDB keep the history in one table here; retiring it by partitions needs PostgreSQL

-- name: compose_retire
-- The statement that takes a partition out of the history.
-- locks: none   returns: nothing
-- refused: MySQL and MariaDB keep the history in one table here; retiring it by partitions needs PostgreSQL
