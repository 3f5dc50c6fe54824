-- Closed periods: none can be closed here, so every reader of the bound finds nothing closed.
--
-- others refused: only a trigger holds every writer to kinds and closings, and there are no portable triggers

-- name: bound
-- Up to which moment the books are closed: nothing is.
-- locks: none   returns: 1 row
SELECT max(lone.version_number) AS until_at
FROM lastro_version lone
WHERE 1 = 0;
