-- Counters. They have one slice here: one transaction writes at a time, so nobody is kept waiting by a neighbour.

-- name: bump
-- Add to a counter. A sum that leaves 64 bits comes out as a REAL, which the column's type refuses.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro_counter (name, slice, value)
VALUES (%(name)s, 0, %(change)s)
ON CONFLICT (name, slice) DO UPDATE SET value = lastro_counter.value + excluded.value;

-- name: count
-- A counter's value in two halves of 32 bits, as the sum of slices may leave 64.
-- locks: none   returns: 1 row
SELECT
    json_array(
        coalesce(sum(counter.value >> 32), 0), coalesce(sum(counter.value & 4294967295), 0)
    ) AS value
FROM lastro_counter AS counter
WHERE counter.name = %(name)s;
