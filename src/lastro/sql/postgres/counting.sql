-- Sliced counters.

-- name: bump
-- Add to one slice of a counter. The slice follows the server process, so that neighbours rarely meet.
-- The wait for it is bounded as in posting.sql.
-- locks: the counter's slice   returns: 1 row
INSERT INTO lastro.counter AS counter (name, slice, value)
SELECT
    %(name)s::text,
    mod(pg_backend_pid(), %(slices)s::integer),
    %(change)s::bigint
WHERE
    CASE set_config('lastro_posting.callers_lock_timeout', current_setting('lock_timeout'), true)
        WHEN '0' THEN set_config('lock_timeout', %(lock_timeout)s::text, true) ELSE 'kept'
    END IS NOT NULL
ON CONFLICT (name, slice) DO UPDATE SET value = counter.value + excluded.value
RETURNING
    set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true) AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore;

-- name: count
-- A counter's value: the sum of its slices in one snapshot.
-- locks: none   returns: 1 row
SELECT coalesce(sum(counter.value), 0) AS value
FROM lastro.counter AS counter
WHERE counter.name = %(name)s::text;
