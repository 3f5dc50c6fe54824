-- Statements of accounts: which pieces of the history hold the entries of a span of time, and those entries.

-- name: reached
-- How far the ids have come.
-- locks: none   returns: 1 row
SELECT CASE WHEN sequence.is_called THEN sequence.last_value ELSE sequence.last_value - 1 END AS last_id
FROM lastro.transfer_id AS sequence;

-- name: closed_pieces
-- The pieces up to the newest mark, in blocks where there are blocks, that hold entries of a span, or may. Both ends of
-- the span belong to it. `place` counts the account's closings, and is NULL for blocks.
-- locks: none   returns: 1 row a piece
SELECT
    piece.first_id,
    piece.last_id,
    piece.min_at,
    piece.entries,
    piece.place
FROM (
    SELECT
        closing.first_id,
        closing.last_id,
        CASE WHEN %(by_occurred)s::integer = 1 THEN closing.occurred_min_at ELSE closing.recorded_min_at END AS min_at,
        CASE WHEN %(by_occurred)s::integer = 1 THEN closing.occurred_max_at ELSE closing.recorded_max_at END AS max_at,
        closing.entries,
        closing.place
    FROM (
        SELECT
            counted.first_id,
            counted.last_id,
            counted.blocks,
            counted.entries,
            counted.recorded_min_at,
            counted.recorded_max_at,
            counted.occurred_min_at,
            counted.occurred_max_at,
            row_number() OVER (ORDER BY counted.mark_id) AS place
        FROM lastro.closing AS counted
        WHERE counted.account_id = %(account_id)s::bigint AND counted.last_id <= %(last_id)s::bigint
    ) AS closing
    WHERE closing.blocks = 0
    UNION ALL
    SELECT
        block.first_id,
        block.last_id,
        CASE WHEN %(by_occurred)s::integer = 1 THEN block.occurred_min_at ELSE block.recorded_min_at END AS min_at,
        CASE WHEN %(by_occurred)s::integer = 1 THEN block.occurred_max_at ELSE block.recorded_max_at END AS max_at,
        block.entries,
        NULL::bigint AS place
    FROM lastro.closing AS closing
    INNER JOIN lastro.closing_block AS block
        ON closing.account_id = block.account_id AND closing.mark_id = block.mark_id
    WHERE
        closing.account_id = %(account_id)s::bigint AND closing.last_id <= %(last_id)s::bigint
        AND CASE WHEN %(by_occurred)s::integer = 1 THEN closing.occurred_min_at ELSE closing.recorded_min_at END
        <= %(to_at)s::timestamptz
        AND CASE WHEN %(by_occurred)s::integer = 1 THEN closing.occurred_max_at ELSE closing.recorded_max_at END
        >= %(since_at)s::timestamptz
) AS piece
WHERE piece.min_at <= %(to_at)s::timestamptz AND piece.max_at >= %(since_at)s::timestamptz;

-- name: later_pieces
-- The same of what came after the newest mark, cut into pieces here and now.
-- locks: none   returns: 1 row a piece
SELECT
    min(placed.id) AS first_id,
    max(placed.id) AS last_id,
    min(placed.moment_at) AS min_at,
    count(*) AS entries,
    NULL::bigint AS place
FROM (
    SELECT
        side.id,
        side.moment_at,
        row_number() OVER (ORDER BY side.id) AS place
    FROM (
        SELECT
            transfer.id,
            CASE WHEN %(by_occurred)s::integer = 1 THEN transfer.occurred_at ELSE transfer.recorded_at END AS moment_at
        FROM lastro.transfer AS transfer
        WHERE
            transfer.credit_id = %(account_id)s::bigint
            AND transfer.id > %(after_id)s::bigint AND transfer.id <= %(last_id)s::bigint
        UNION ALL
        SELECT
            transfer.id,
            CASE WHEN %(by_occurred)s::integer = 1 THEN transfer.occurred_at ELSE transfer.recorded_at END AS moment_at
        FROM lastro.transfer AS transfer
        WHERE
            transfer.debit_id = %(account_id)s::bigint
            AND transfer.id > %(after_id)s::bigint AND transfer.id <= %(last_id)s::bigint
    ) AS side
) AS placed
GROUP BY (placed.place - 1) / %(block_entries)s::bigint
HAVING min(placed.moment_at) <= %(to_at)s::timestamptz AND max(placed.moment_at) >= %(since_at)s::timestamptz;

-- name: entries
-- The entries of one piece that are in the span.
-- locks: none   returns: 1 row an entry, in the order of their ids; no more than a piece holds
SELECT
    transfer.id AS transfer_id,
    holder.name AS account,
    holder.currency,
    CASE WHEN transfer.debit_id = holder.id THEN 'debit' ELSE 'credit' END AS side,
    transfer.kind,
    transfer.amount,
    CASE WHEN transfer.debit_id = holder.id THEN transfer.debit_before ELSE transfer.credit_before END
        AS balance_before,
    CASE WHEN transfer.debit_id = holder.id THEN transfer.debit_after ELSE transfer.credit_after END AS balance_after,
    other.name AS counter_account,
    transfer.key,
    transfer.cause,
    transfer.reverses,
    transfer.source,
    transfer.actor,
    transfer.occurred_at,
    transfer.recorded_at
FROM (
    SELECT
        credited.id,
        credited.debit_id,
        credited.credit_id,
        credited.kind,
        credited.amount,
        credited.debit_before,
        credited.debit_after,
        credited.credit_before,
        credited.credit_after,
        credited.key,
        credited.cause,
        credited.reverses,
        credited.source,
        credited.actor,
        credited.occurred_at,
        credited.recorded_at
    FROM lastro.transfer AS credited
    WHERE
        credited.credit_id = %(account_id)s::bigint
        AND credited.id >= %(first_id)s::bigint AND credited.id <= %(last_id)s::bigint
    UNION ALL
    SELECT
        debited.id,
        debited.debit_id,
        debited.credit_id,
        debited.kind,
        debited.amount,
        debited.debit_before,
        debited.debit_after,
        debited.credit_before,
        debited.credit_after,
        debited.key,
        debited.cause,
        debited.reverses,
        debited.source,
        debited.actor,
        debited.occurred_at,
        debited.recorded_at
    FROM lastro.transfer AS debited
    WHERE
        debited.debit_id = %(account_id)s::bigint
        AND debited.id >= %(first_id)s::bigint AND debited.id <= %(last_id)s::bigint
) AS transfer
INNER JOIN lastro.account AS holder ON holder.id = %(account_id)s::bigint
INNER JOIN lastro.account AS other
    ON other.id = CASE WHEN transfer.debit_id = holder.id THEN transfer.credit_id ELSE transfer.debit_id END
WHERE
    CASE WHEN %(by_occurred)s::integer = 1 THEN transfer.occurred_at ELSE transfer.recorded_at END
    BETWEEN %(since_at)s::timestamptz AND %(to_at)s::timestamptz
ORDER BY transfer.id;
