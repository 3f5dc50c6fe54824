-- Sliced counters.

-- name: bump
-- Add to one slice of a counter. The slice follows the server process, so that neighbours rarely meet.
-- locks: the counter's slice   returns: nothing
INSERT INTO lastro.counter AS counter (name, slice, value)
VALUES (%(name)s::text, mod(pg_backend_pid(), %(slices)s::integer), %(change)s::bigint)
ON CONFLICT (name, slice) DO UPDATE SET value = counter.value + excluded.value;

-- name: count
-- A counter's value: the sum of its slices in one snapshot.
-- locks: none   returns: 1 row
SELECT coalesce(sum(counter.value), 0) AS value
FROM lastro.counter AS counter
WHERE counter.name = %(name)s::text;
