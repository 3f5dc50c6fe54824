-- What an account stood at, at a moment of the past: from its closings, and from the entries that they don't decide.

-- name: find
-- What an account's closings say of a moment. `base`: the sum of all entries up to the first mark at or after the
-- moment, or else up to the newest; without a closing what retired partitions took. `retired_at`: the greatest moment
-- of entries that were retired and that no closing counts. `corrected`: what whole blocks on the wrong side of that
-- mark are to be taken off, or put on. Then one row for each block whose entries must be looked at one by one, with
-- those after the newest mark (`id_ceiling`), which no closing counts; `counted` says that the base does. `found`,
-- `earlier` and `later` are what `sums` says of the block, found here by one look less.
-- locks: none   returns: 1 row or more; 0 where there is no such account
WITH holder AS MATERIALIZED (
    -- What is asked for goes through here as well: so a plan for these values is no cheaper than one for any, and the
    -- server keeps that one. Planning takes longer than all the rest.
    SELECT
        account.id,
        account.name,
        account.currency,
        %(at)s::timestamptz AS asked_at,
        %(by_occurred)s::integer = 1 AS by_occurred,
        %(last_id)s::bigint AS last_id
    FROM lastro.account AS account
    WHERE account.name = %(name)s::text AND account.currency = %(currency)s::text
),

chosen AS MATERIALIZED (
    SELECT
        coalesce((
            SELECT mark.id FROM lastro.mark AS mark
            WHERE mark.marked_at >= holder.asked_at AND mark.id <= newest.id
            ORDER BY mark.marked_at, mark.id
            LIMIT 1
        ), newest.id) AS id,
        newest.id AS newest_id,
        newest.id_ceiling
    FROM holder
    CROSS JOIN LATERAL (
        SELECT
            mark.id,
            mark.id_ceiling
        FROM lastro.mark AS mark
        ORDER BY mark.id DESC
        LIMIT 1
    ) AS newest
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
        timed.max_at,
        timed.asked_at,
        timed.by_occurred
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
            CASE WHEN holder.by_occurred THEN closing.occurred_min_at ELSE closing.recorded_min_at END AS min_at,
            CASE WHEN holder.by_occurred THEN closing.occurred_max_at ELSE closing.recorded_max_at END AS max_at,
            holder.asked_at,
            holder.by_occurred
        FROM chosen
        CROSS JOIN holder
        INNER JOIN lastro.closing AS closing ON closing.account_id = holder.id AND closing.mark_id <= chosen.newest_id
    ) AS timed
    WHERE CASE WHEN timed.counted THEN timed.max_at > timed.asked_at ELSE timed.min_at <= timed.asked_at END
),

piece AS MATERIALIZED (
    SELECT
        doubtful.counted,
        doubtful.moved,
        doubtful.entries,
        doubtful.first_id,
        doubtful.last_id,
        doubtful.min_at,
        doubtful.max_at,
        doubtful.asked_at
    FROM doubtful
    WHERE doubtful.blocks = 0
    UNION ALL
    SELECT
        doubtful.counted,
        block.moved,
        block.entries,
        block.first_id,
        block.last_id,
        CASE WHEN doubtful.by_occurred THEN block.occurred_min_at ELSE block.recorded_min_at END AS min_at,
        CASE WHEN doubtful.by_occurred THEN block.occurred_max_at ELSE block.recorded_max_at END AS max_at,
        doubtful.asked_at
    FROM doubtful
    CROSS JOIN LATERAL (
        SELECT
            counted.moved,
            counted.entries,
            counted.first_id,
            counted.last_id,
            counted.recorded_min_at,
            counted.recorded_max_at,
            counted.occurred_min_at,
            counted.occurred_max_at
        FROM lastro.closing_block AS counted
        WHERE counted.account_id = doubtful.account_id AND counted.mark_id = doubtful.mark_id
        -- With an order it stays a look by the index for each closing, and is no join that reads every block.
        ORDER BY counted.number
    ) AS block
    WHERE doubtful.blocks > 0
),

part AS (
    SELECT
        piece.counted,
        piece.entries,
        piece.first_id,
        piece.last_id
    FROM piece
    WHERE piece.min_at <= piece.asked_at AND piece.max_at > piece.asked_at
    UNION ALL
    SELECT
        false AS counted,
        NULL::bigint AS entries,
        coalesce((SELECT chosen.id_ceiling FROM chosen), 0) + 1 AS first_id,
        holder.last_id
    FROM holder
)

SELECT
    holder.id AS account_id,
    holder.name AS account,
    holder.currency,
    coalesce((SELECT chosen.id_ceiling FROM chosen), 0) AS id_ceiling,
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
        carried.amount,
        0
    ) AS base,
    CASE WHEN holder.by_occurred THEN carried.occurred_max_at ELSE carried.recorded_max_at END AS retired_at,
    coalesce((
        SELECT
            sum(CASE
                WHEN piece.counted AND piece.min_at > piece.asked_at THEN -piece.moved
                WHEN NOT piece.counted AND piece.max_at <= piece.asked_at THEN piece.moved
                ELSE 0
            END)
        FROM piece
    ), 0) AS corrected,
    part.counted,
    part.entries,
    part.first_id,
    part.last_id,
    summed.entries AS found,
    summed.earlier,
    summed.later
FROM holder
LEFT JOIN lastro.carried_over AS carried ON holder.id = carried.account_id
CROSS JOIN part
CROSS JOIN LATERAL (
    SELECT
        count(*) AS entries,
        coalesce(sum(side.amount) FILTER (WHERE side.moment_at <= holder.asked_at), 0) AS earlier,
        coalesce(sum(side.amount) FILTER (WHERE side.moment_at > holder.asked_at), 0) AS later
    FROM (
        SELECT
            credit.amount,
            CASE WHEN holder.by_occurred THEN credit.occurred_at ELSE credit.recorded_at END AS moment_at
        FROM lastro.transfer AS credit
        WHERE credit.credit_id = holder.id AND credit.id >= part.first_id AND credit.id <= part.last_id
        UNION ALL
        SELECT
            -debit.amount AS amount,
            CASE WHEN holder.by_occurred THEN debit.occurred_at ELSE debit.recorded_at END AS moment_at
        FROM lastro.transfer AS debit
        WHERE debit.debit_id = holder.id AND debit.id >= part.first_id AND debit.id <= part.last_id
    ) AS side
) AS summed;

-- name: sums
-- What an account's entries in a range of ids sum up to: those up to a moment, and those after it.
-- locks: none   returns: 1 row; with the number of entries
SELECT
    count(*) AS found,
    coalesce(sum(side.amount) FILTER (WHERE side.moment_at <= %(at)s::timestamptz), 0) AS earlier,
    coalesce(sum(side.amount) FILTER (WHERE side.moment_at > %(at)s::timestamptz), 0) AS later
FROM (
    SELECT
        transfer.amount,
        CASE WHEN %(by_occurred)s::integer = 1 THEN transfer.occurred_at ELSE transfer.recorded_at END AS moment_at
    FROM lastro.transfer AS transfer
    WHERE
        transfer.credit_id = %(account_id)s::bigint
        AND transfer.id >= %(first_id)s::bigint AND transfer.id <= %(last_id)s::bigint
    UNION ALL
    SELECT
        -transfer.amount AS amount,
        CASE WHEN %(by_occurred)s::integer = 1 THEN transfer.occurred_at ELSE transfer.recorded_at END AS moment_at
    FROM lastro.transfer AS transfer
    WHERE
        transfer.debit_id = %(account_id)s::bigint
        AND transfer.id >= %(first_id)s::bigint AND transfer.id <= %(last_id)s::bigint
) AS side;
