-- Closings: marks in the history, and what each account stood at there. One mark is made at a time, in short steps.

-- name: hold
-- How far the next mark has come; let nobody else go on with it until this commits.
-- locks: the row of the open mark   returns: 1 row
SELECT
    open_mark.id,
    open_mark.id_floor,
    open_mark.id_ceiling,
    open_mark.marked_at,
    open_mark.waits_for,
    open_mark.settled,
    open_mark.after_account_id
FROM lastro.open_mark AS open_mark
FOR NO KEY UPDATE;

-- name: reached
-- How far the ids have come, how many of them one mark may take, what time it is, and when the last mark was made.
-- locks: none that isn't held already   returns: 1 row
SELECT
    CASE WHEN sequence.is_called THEN sequence.last_value ELSE sequence.last_value - 1 END AS last_id,
    2000000 AS ids_max,
    coalesce(%(now)s::timestamptz, clock_timestamp()) AS moment_at,
    (SELECT newest.marked_at FROM lastro.mark AS newest ORDER BY newest.id DESC LIMIT 1) AS marked_at
FROM lastro.transfer_id AS sequence;

-- name: begin
-- Begin the next mark, up to a ceiling. Without a moment it gets that of its newest entry.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.open_mark
SET
    id_ceiling = %(id_ceiling)s::bigint,
    marked_at = %(marked_at)s::timestamptz,
    waits_for = NULL,
    settled = false,
    after_account_id = -1,
    newest_at = NULL
WHERE only_row;

-- name: wait
-- Note which transactions the mark waits for, and whether none are left.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.open_mark
SET
    waits_for = %(waits_for)s::text,
    settled = %(settled)s::boolean
WHERE only_row;

-- name: page
-- The last account of the next page of accounts.
-- locks: none   returns: 1 row; NULL where no account is left
SELECT max(page.id) AS account_id
FROM (
    SELECT account.id
    FROM lastro.account AS account
    WHERE account.id > %(after_account_id)s::bigint
    ORDER BY account.id
    LIMIT %(accounts_max)s::bigint
) AS page;

-- name: write_blocks
-- Sum up what a page of accounts had between two marks, block by block, where it is more than one block.
-- locks: none   returns: nothing
INSERT INTO lastro.closing_block (
    account_id, mark_id, number, moved, entries, first_id, last_id,
    recorded_min_at, recorded_max_at, occurred_min_at, occurred_max_at
)
SELECT
    numbered.account_id,
    %(mark_id)s::bigint AS mark_id,
    (numbered.place - 1) / %(block_entries)s::bigint AS number,
    sum(numbered.amount) AS moved,
    count(*) AS entries,
    min(numbered.id) AS first_id,
    max(numbered.id) AS last_id,
    min(numbered.recorded_at) AS recorded_min_at,
    max(numbered.recorded_at) AS recorded_max_at,
    min(numbered.occurred_at) AS occurred_min_at,
    max(numbered.occurred_at) AS occurred_max_at
FROM (
    SELECT
        side.account_id,
        side.id,
        side.amount,
        side.recorded_at,
        side.occurred_at,
        row_number() OVER (PARTITION BY side.account_id ORDER BY side.id) AS place,
        count(*) OVER (PARTITION BY side.account_id) AS entries
    FROM (
        SELECT
            account.id AS account_id,
            credited.id,
            credited.amount,
            credited.recorded_at,
            credited.occurred_at
        FROM lastro.account AS account
        CROSS JOIN LATERAL (
            SELECT
                transfer.id,
                transfer.amount,
                transfer.recorded_at,
                transfer.occurred_at
            FROM lastro.transfer AS transfer
            WHERE
                transfer.credit_id = account.id
                AND transfer.id > %(id_floor)s::bigint AND transfer.id <= %(id_ceiling)s::bigint
        ) AS credited
        WHERE account.id > %(after_account_id)s::bigint AND account.id <= %(upto_account_id)s::bigint
        UNION ALL
        SELECT
            account.id AS account_id,
            debited.id,
            -debited.amount AS amount,
            debited.recorded_at,
            debited.occurred_at
        FROM lastro.account AS account
        CROSS JOIN LATERAL (
            SELECT
                transfer.id,
                transfer.amount,
                transfer.recorded_at,
                transfer.occurred_at
            FROM lastro.transfer AS transfer
            WHERE
                transfer.debit_id = account.id
                AND transfer.id > %(id_floor)s::bigint AND transfer.id <= %(id_ceiling)s::bigint
        ) AS debited
        WHERE account.id > %(after_account_id)s::bigint AND account.id <= %(upto_account_id)s::bigint
    ) AS side
) AS numbered
WHERE numbered.entries > %(block_entries)s::bigint
GROUP BY numbered.account_id, (numbered.place - 1) / %(block_entries)s::bigint;

-- name: write
-- What a page of accounts stood at: as at its mark before, with what came since. An account without one begins with
-- what retired partitions took out of its history and with what is left of it: its stored balance may be off.
-- locks: none   returns: 1 row: how many closings were written, and the newest moment of recording among them
WITH moved AS MATERIALIZED (
    SELECT
        account.id AS account_id,
        sum(side.amount) AS amount,
        count(*) AS entries,
        min(side.id) AS first_id,
        max(side.id) AS last_id,
        min(side.recorded_at) AS recorded_min_at,
        max(side.recorded_at) AS recorded_max_at,
        min(side.occurred_at) AS occurred_min_at,
        max(side.occurred_at) AS occurred_max_at
    FROM lastro.account AS account
    CROSS JOIN LATERAL (
        SELECT
            transfer.id,
            transfer.amount,
            transfer.recorded_at,
            transfer.occurred_at
        FROM lastro.transfer AS transfer
        WHERE
            transfer.credit_id = account.id
            AND transfer.id > %(id_floor)s::bigint AND transfer.id <= %(id_ceiling)s::bigint
        UNION ALL
        SELECT
            transfer.id,
            -transfer.amount AS amount,
            transfer.recorded_at,
            transfer.occurred_at
        FROM lastro.transfer AS transfer
        WHERE
            transfer.debit_id = account.id
            AND transfer.id > %(id_floor)s::bigint AND transfer.id <= %(id_ceiling)s::bigint
    ) AS side
    WHERE account.id > %(after_account_id)s::bigint AND account.id <= %(upto_account_id)s::bigint
    GROUP BY account.id
),

opened AS MATERIALIZED (
    SELECT
        moved.account_id,
        coalesce(
            (
                SELECT earlier.amount FROM lastro.closing AS earlier
                WHERE earlier.account_id = moved.account_id AND earlier.mark_id < %(mark_id)s::bigint
                ORDER BY earlier.mark_id DESC
                LIMIT 1
            ),
            coalesce((
                SELECT carried.amount FROM lastro.carried_over AS carried
                WHERE carried.account_id = moved.account_id
            ), 0)
            + coalesce((
                SELECT sum(transfer.amount) FROM lastro.transfer AS transfer
                WHERE transfer.credit_id = moved.account_id AND transfer.id <= %(id_floor)s::bigint
            ), 0)
            - coalesce((
                SELECT sum(transfer.amount) FROM lastro.transfer AS transfer
                WHERE transfer.debit_id = moved.account_id AND transfer.id <= %(id_floor)s::bigint
            ), 0)
        ) AS amount
    FROM moved
),

written AS (
    INSERT INTO lastro.closing (
        account_id, mark_id, opening, amount, entries, blocks, first_id, last_id,
        recorded_min_at, recorded_max_at, occurred_min_at, occurred_max_at
    )
    SELECT
        moved.account_id,
        %(mark_id)s::bigint AS mark_id,
        opened.amount AS opening,
        opened.amount + moved.amount AS amount,
        moved.entries,
        CASE
            WHEN moved.entries > %(block_entries)s::bigint
                THEN (moved.entries + %(block_entries)s::bigint - 1) / %(block_entries)s::bigint
            ELSE 0
        END AS blocks,
        moved.first_id,
        moved.last_id,
        moved.recorded_min_at,
        moved.recorded_max_at,
        moved.occurred_min_at,
        moved.occurred_max_at
    FROM moved
    INNER JOIN opened ON moved.account_id = opened.account_id
    RETURNING recorded_max_at
)

SELECT
    count(*) AS accounts,
    max(written.recorded_max_at) AS newest_at
FROM written;

-- name: advance
-- Note the last account of the page that was done.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.open_mark
SET
    after_account_id = %(upto_account_id)s::bigint,
    newest_at = greatest(newest_at, %(newest_at)s::timestamptz)
WHERE only_row;

-- name: finish
-- Write the mark: from now on readers use it.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro.mark (id, marked_at, id_floor, id_ceiling, closed_at)
SELECT
    open_mark.id,
    coalesce(open_mark.marked_at, open_mark.newest_at, %(now)s::timestamptz, now()) AS marked_at,
    open_mark.id_floor,
    open_mark.id_ceiling,
    coalesce(%(now)s::timestamptz, now()) AS closed_at
FROM lastro.open_mark AS open_mark;

-- name: follow
-- Make ready for the mark that follows the one that was written.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.open_mark
SET
    id = id + 1,
    id_floor = id_ceiling,
    id_ceiling = NULL,
    marked_at = NULL,
    waits_for = NULL,
    settled = false
WHERE only_row;
