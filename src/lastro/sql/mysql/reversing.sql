-- Reversing transfers, wholly or in part.

-- name: already
-- How much of a transfer was reversed before. Both its accounts are locked by now.
-- locks: none   returns: 1 row
SELECT coalesce(max(reversal.already + reversal.amount), 0) AS already
FROM lastro.reversal AS reversal FORCE INDEX (primary)
WHERE reversal.original_id = %(original_id)s /* current */;

-- name: note
-- Note the next part of a transfer as reversed; nothing where a rival reversed that part.
-- locks: the reversal of that part   returns: 0 or 1 row
INSERT INTO lastro.reversal (original_id, already, amount, original_amount, transfer_id)
VALUES (%(original_id)s, %(already)s, %(amount)s, %(original_amount)s, %(transfer_id)s)
ON DUPLICATE KEY UPDATE already = reversal.already;
SELECT reversal.original_id
FROM lastro.reversal AS reversal
WHERE
    reversal.original_id = %(original_id)s AND reversal.already = %(already)s
    AND reversal.transfer_id = %(transfer_id)s;
