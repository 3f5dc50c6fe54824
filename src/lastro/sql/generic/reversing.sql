-- Reversing transfers, wholly or in part.

-- name: already
-- How much of a transfer was reversed before.
-- locks: none   returns: 1 row
SELECT coalesce(max(reversal.already + reversal.amount), 0) AS already
FROM lastro_reversal reversal
WHERE reversal.original_id = %(original_id)s;

-- name: note
-- Note the next part of a transfer as reversed, by a plain INSERT: both base rows are locked, so that no rival of ours
-- can be noting the same part.
-- locks: none that isn't held already   returns: 1 row
INSERT INTO lastro_reversal (original_id, already, amount, original_amount, transfer_id)
VALUES (%(original_id)s, %(already)s, %(amount)s, %(original_amount)s, %(transfer_id)s);

SELECT reversal.original_id
FROM lastro_reversal reversal
WHERE reversal.original_id = %(original_id)s AND reversal.already = %(already)s;
