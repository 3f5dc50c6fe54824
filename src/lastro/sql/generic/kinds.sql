-- Kinds: none can be registered here, so every reader of them finds none, and a transfer may stand where it likes.
--
-- others refused: only a trigger holds every writer to kinds and closings, and there are no portable triggers

-- name: list
-- The registered kinds: there are none.
-- locks: none   returns: no row
SELECT
    lone.version_number AS name,
    lone.version_number AS debit,
    lone.version_number AS credit,
    lone.version_number AS either_way,
    lone.version_number AS undone_by
FROM lastro_version lone
WHERE 1 = 0;
