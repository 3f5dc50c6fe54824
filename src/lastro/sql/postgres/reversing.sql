-- Reversing transfers, wholly or in part.

-- name: already
-- How much of a transfer was reversed before.
-- locks: none   returns: 1 row
SELECT coalesce(max(reversal.already + reversal.amount), 0) AS already
FROM lastro.reversal AS reversal
WHERE reversal.original_id = %(original_id)s::bigint;

-- name: note
-- Note the next part of a transfer as reversed; nothing where a rival reversed that part.
-- locks: the reversal of that part   returns: 0 or 1 row
INSERT INTO lastro.reversal (original_id, already, amount, original_amount, transfer_id)
VALUES (
    %(original_id)s::bigint, %(already)s::bigint, %(amount)s::bigint, %(original_amount)s::bigint,
    %(transfer_id)s::bigint
)
ON CONFLICT (original_id, already) DO NOTHING
RETURNING original_id;
