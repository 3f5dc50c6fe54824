-- What an account stood at, at a moment of the past: from its closings, and from the entries that they don't decide.

-- name: find
-- What an account's closings say of a moment. `base`: the sum of all entries up to the first mark at or after the
-- moment, or else up to the newest. `corrected`: what whole blocks on the wrong side of that mark are to be taken off,
-- or put on. Then one row for each block whose entries must be looked at one by one, with those after the newest mark
-- (`id_ceiling`), which no closing counts; `counted` says that the base does. What they sum up to is left to `sums`,
-- for this server looks up no range that comes out of a join.
-- locks: none   returns: 1 row or more; 0 where there is no such account
WITH holder AS (
    SELECT
        account.id,
        account.name,
        account.currency
    FROM lastro.account AS account
    WHERE account.name = %(name)s AND account.currency = %(currency)s
),

newest AS (
    SELECT
        mark.id,
        mark.id_ceiling
    FROM lastro.mark AS mark
    ORDER BY mark.id DESC
    LIMIT 1
),

chosen AS (
    SELECT
        coalesce((
            SELECT mark.id FROM lastro.mark AS mark
            WHERE mark.marked_at >= %(at)s AND mark.id <= newest.id
            ORDER BY mark.marked_at, mark.id
            LIMIT 1
        ), newest.id) AS id,
        newest.id AS newest_id
    FROM newest
),

doubtful AS (
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
        INNER JOIN lastro.closing AS closing ON closing.account_id = holder.id AND closing.mark_id <= chosen.newest_id
    ) AS timed
    WHERE CASE WHEN timed.counted THEN timed.max_at > %(at)s ELSE timed.min_at <= %(at)s END
),

piece AS (
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
    INNER JOIN lastro.closing_block AS block
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
            SELECT closing.amount FROM lastro.closing AS closing
            WHERE closing.account_id = holder.id AND closing.mark_id <= (SELECT chosen.id FROM chosen)
            ORDER BY closing.mark_id DESC
            LIMIT 1
        ),
        (
            SELECT closing.opening FROM lastro.closing AS closing
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
            sum(CASE
                WHEN piece.counted AND piece.min_at > %(at)s THEN -piece.moved
                WHEN NOT piece.counted AND piece.max_at <= %(at)s THEN piece.moved
                ELSE 0
            END)
        FROM piece
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
-- What an account's entries in a range of ids sum up to: those up to a moment, and those after it.
-- locks: none   returns: 1 row; with the number of entries
SELECT
    count(*) AS found,
    coalesce(sum(CASE WHEN side.moment_at <= %(at)s THEN side.amount ELSE 0 END), 0) AS earlier,
    coalesce(sum(CASE WHEN side.moment_at > %(at)s THEN side.amount ELSE 0 END), 0) AS later
FROM (
    SELECT
        transfer.amount,
        CASE WHEN %(by_occurred)s = 1 THEN transfer.occurred_at ELSE transfer.recorded_at END AS moment_at
    FROM lastro.transfer AS transfer
    WHERE
        transfer.credit_id = %(account_id)s
        AND transfer.id >= %(first_id)s AND transfer.id <= %(last_id)s
    UNION ALL
    SELECT
        -transfer.amount AS amount,
        CASE WHEN %(by_occurred)s = 1 THEN transfer.occurred_at ELSE transfer.recorded_at END AS moment_at
    FROM lastro.transfer AS transfer
    WHERE
        transfer.debit_id = %(account_id)s
        AND transfer.id >= %(first_id)s AND transfer.id <= %(last_id)s
) AS side;
