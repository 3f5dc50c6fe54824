-- Sliced counters.

-- name: bump
-- Add to one slice of a counter. The slice follows the connection, so that neighbours rarely meet.
-- The wait for it is bounded as in posting.sql.
-- locks: the counter's slice   returns: nothing
SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
INSERT INTO lastro.counter (name, slice, value)
VALUES (%(name)s, mod(connection_id(), %(slices)s), %(change)s)
ON DUPLICATE KEY UPDATE value = counter.value + %(change)s;
SET SESSION innodb_lock_wait_timeout = @lastro_patience, @lastro_patience = NULL;

-- name: count
-- A counter's value: the sum of its slices in one snapshot.
-- locks: none   returns: 1 row
SELECT coalesce(sum(counter.value), 0) AS value
FROM lastro.counter AS counter
WHERE counter.name = %(name)s;
