-- The partitions of the history: standard SQL has none.
--
-- others refused: standard SQL has no partitions; retiring history by them takes PostgreSQL

-- name: lock
-- Let one partition keeper at a time through: there is none, so there is nothing to lock.
-- locks: none   returns: no row
SELECT lone.version_number AS pg_advisory_xact_lock
FROM lastro_version lone
WHERE 1 = 0;
