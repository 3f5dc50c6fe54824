-- What an account stood at, at a moment of the past: from its closings, and from the entries that they don't decide.

-- name: find
-- What an account's closings say of a moment. `base`: the sum of all entries up to the first mark at or after the
-- moment, or else up to the newest. `corrected`: what whole blocks on the wrong side of that mark are to be taken off,
-- or put on. Then one row for each block whose entries must be looked at one by one, with those after the newest mark
-- (`id_ceiling`), which no closing counts; `counted` says that the base does. What they sum up to is left to `sums`:
-- here a look costs next to nothing.
-- locks: none   returns: 1 row or more; 0 where there is no such account
WITH holder AS MATERIALIZED (
    SELECT
        account.id,
        account.name,
        account.currency
    FROM lastro_account AS account
    WHERE account.name = %(name)s AND account.currency = %(currency)s
),

newest AS MATERIALIZED (
    SELECT
        mark.id,
        mark.id_ceiling
    FROM lastro_mark AS mark
    ORDER BY mark.id DESC
    LIMIT 1
),

chosen AS MATERIALIZED (
    SELECT
        coalesce((
            SELECT mark.id FROM lastro_mark AS mark
            WHERE mark.marked_at >= %(at)s AND mark.id <= newest.id
            ORDER BY mark.marked_at, mark.id
            LIMIT 1
        ), newest.id) AS id,
        newest.id AS newest_id
    FROM newest
),

doubtful AS MATERIALIZED (
    SELECT
        timed.account_id,
        timed.mark_id,
        timed.counted,
        timed.blocks,
        timed.entries,
        timed.moved,
        timed.first_id,
        timed.last_id,
        timed.min_at,
        timed.max_at
    FROM (
        SELECT
            closing.account_id,
            closing.mark_id,
            closing.mark_id <= chosen.id AS counted,
            closing.blocks,
            closing.entries,
            closing.amount - closing.opening AS moved,
            closing.first_id,
            closing.last_id,
            CASE WHEN %(by_occurred)s = 1 THEN closing.occurred_min_at ELSE closing.recorded_min_at END AS min_at,
            CASE WHEN %(by_occurred)s = 1 THEN closing.occurred_max_at ELSE closing.recorded_max_at END AS max_at
        FROM chosen
        CROSS JOIN holder
        INNER JOIN lastro_closing AS closing ON closing.account_id = holder.id AND closing.mark_id <= chosen.newest_id
    ) AS timed
    WHERE CASE WHEN timed.counted THEN timed.max_at > %(at)s ELSE timed.min_at <= %(at)s END
),

piece AS MATERIALIZED (
    SELECT
        doubtful.counted,
        doubtful.moved,
        doubtful.entries,
        doubtful.first_id,
        doubtful.last_id,
        doubtful.min_at,
        doubtful.max_at
    FROM doubtful
    WHERE doubtful.blocks = 0
    UNION ALL
    SELECT
        doubtful.counted,
        block.moved,
        block.entries,
        block.first_id,
        block.last_id,
        CASE WHEN %(by_occurred)s = 1 THEN block.occurred_min_at ELSE block.recorded_min_at END AS min_at,
        CASE WHEN %(by_occurred)s = 1 THEN block.occurred_max_at ELSE block.recorded_max_at END AS max_at
    FROM doubtful
    INNER JOIN lastro_closing_block AS block
        ON doubtful.account_id = block.account_id AND doubtful.mark_id = block.mark_id
    WHERE doubtful.blocks > 0
),

part AS (
    SELECT
        piece.counted,
        piece.entries,
        piece.first_id,
        piece.last_id
    FROM piece
    WHERE piece.min_at <= %(at)s AND piece.max_at > %(at)s
    UNION ALL
    SELECT
        0 AS counted,
        NULL AS entries,
        coalesce((SELECT newest.id_ceiling FROM newest), 0) + 1 AS first_id,
        %(last_id)s AS last_id
    FROM holder
)

SELECT
    holder.id AS account_id,
    holder.name AS account,
    holder.currency,
    coalesce((SELECT newest.id_ceiling FROM newest), 0) AS id_ceiling,
    coalesce(
        (
            SELECT closing.amount FROM lastro_closing AS closing
            WHERE closing.account_id = holder.id AND closing.mark_id <= (SELECT chosen.id FROM chosen)
            ORDER BY closing.mark_id DESC
            LIMIT 1
        ),
        (
            SELECT closing.opening FROM lastro_closing AS closing
            WHERE
                closing.account_id = holder.id AND closing.mark_id > (SELECT chosen.id FROM chosen)
                AND closing.mark_id <= (SELECT chosen.newest_id FROM chosen)
            ORDER BY closing.mark_id
            LIMIT 1
        ),
        0
    ) AS base,
    NULL AS retired_at,
    coalesce((
        SELECT
            (sum(change.moved >> 32) + (sum(change.moved & 4294967295) >> 32)) * 4294967296
            + (sum(change.moved & 4294967295) & 4294967295)
        FROM (
            SELECT
                CASE
                    WHEN piece.counted AND piece.min_at > %(at)s THEN -piece.moved
                    WHEN NOT piece.counted AND piece.max_at <= %(at)s THEN piece.moved
                    ELSE 0
                END AS moved
            FROM piece
        ) AS change
    ), 0) AS corrected,
    part.counted,
    part.entries,
    part.first_id,
    part.last_id,
    NULL AS found,
    NULL AS earlier,
    NULL AS later
FROM holder
CROSS JOIN part;

-- name: sums
-- What an account's entries in a range of ids sum up to, in two halves: those up to a moment, and those after it.
-- locks: none   returns: 1 row; with the number of entries
SELECT
    count(*) AS found,
    coalesce(
        (sum(placed.early >> 32) + (sum(placed.early & 4294967295) >> 32)) * 4294967296
        + (sum(placed.early & 4294967295) & 4294967295), 0
    ) AS earlier,
    coalesce(
        (sum(placed.late >> 32) + (sum(placed.late & 4294967295) >> 32)) * 4294967296
        + (sum(placed.late & 4294967295) & 4294967295), 0
    ) AS later
FROM (
    SELECT
        CASE WHEN side.moment_at <= %(at)s THEN side.amount ELSE 0 END AS early,
        CASE WHEN side.moment_at > %(at)s THEN side.amount ELSE 0 END AS late
    FROM (
        SELECT
            credit.amount,
            CASE WHEN %(by_occurred)s = 1 THEN credit.occurred_at ELSE credit.recorded_at END AS moment_at
        FROM lastro_transfer AS credit
        WHERE credit.credit_id = %(account_id)s AND credit.id >= %(first_id)s AND credit.id <= %(last_id)s
        UNION ALL
        SELECT
            -debit.amount AS amount,
            CASE WHEN %(by_occurred)s = 1 THEN debit.occurred_at ELSE debit.recorded_at END AS moment_at
        FROM lastro_transfer AS debit
        WHERE debit.debit_id = %(account_id)s AND debit.id >= %(first_id)s AND debit.id <= %(last_id)s
    ) AS side
) AS placed;
