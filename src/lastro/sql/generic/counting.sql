-- Counters, of one slice.

-- name: bump
-- Add to a counter; where it is new, make it. In a race of two that make it the uniqueness error reaches the caller.
-- locks: the counter's row   returns: nothing
UPDATE lastro_counter
SET total = total + CAST(%(change)s AS bigint)
WHERE digest = %(name_digest)s;

SELECT lone.version_number
FROM lastro_version lone
WHERE
    lone.version_number = 1
    AND NOT EXISTS (SELECT 1 FROM lastro_counter made WHERE made.digest = %(name_digest)s);

INSERT INTO lastro_counter (digest, name, total)
VALUES (%(name_digest)s, %(name)s, %(change)s);

-- name: count
-- A counter's value.
-- locks: none   returns: 1 row
SELECT coalesce(sum(counter.total), 0) AS value_
FROM lastro_counter counter
WHERE counter.digest = %(name_digest)s;
