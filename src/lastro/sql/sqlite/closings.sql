-- Closings: marks in the history, and what each account stood at there. One transaction writes at a time here, and ids
-- are given out in the order of the commits: nothing has to be waited for. A mark takes a bounded number of ids, and
-- all accounts at once, by the history's primary key.

-- name: hold
-- How far the next mark has come. Nobody else writes: the transaction holds the database's one write lock.
-- locks: none that isn't held already   returns: 1 row
SELECT
    open_mark.id,
    open_mark.id_floor,
    open_mark.id_ceiling,
    open_mark.marked_at,
    open_mark.waits_for,
    open_mark.settled,
    open_mark.after_account_id
FROM lastro_open_mark AS open_mark;

-- name: reached
-- How far the ids have come, how many of them one mark may take, what time it is, and when the last mark was made.
-- locks: none that isn't held already   returns: 1 row
SELECT
    coalesce((SELECT max(transfer.id) FROM lastro_transfer AS transfer), 0) AS last_id,
    200000 AS ids_max,
    %(now)s AS moment_at,
    (SELECT newest.marked_at FROM lastro_mark AS newest ORDER BY newest.id DESC LIMIT 1) AS marked_at;

-- name: begin
-- Begin the next mark, up to a ceiling. Without a moment it gets that of its newest entry.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_open_mark
SET
    id_ceiling = %(id_ceiling)s,
    marked_at = %(marked_at)s,
    waits_for = NULL,
    settled = 0,
    after_account_id = -1,
    newest_at = NULL
WHERE only_row = 1;

-- name: wait
-- Note which transactions the mark waits for, and whether none are left: none ever are.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_open_mark
SET
    waits_for = %(waits_for)s,
    settled = %(settled)s
WHERE only_row = 1;

-- name: page
-- The last account of all: one page takes them all, since a mark takes a bounded number of ids.
-- locks: none   returns: 1 row; NULL where no account is left
SELECT max(account.id) AS account_id
FROM lastro_account AS account
WHERE account.id > %(after_account_id)s AND %(accounts_max)s > 0;

-- name: write_blocks
-- Sum up what accounts had between two marks, block by block, where it is more than one block.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro_closing_block (
    account_id, mark_id, number, moved, entries, first_id, last_id,
    recorded_min_at, recorded_max_at, occurred_min_at, occurred_max_at
)
SELECT
    numbered.account_id,
    %(mark_id)s AS mark_id,
    (numbered.place - 1) / %(block_entries)s AS number,
    (sum(numbered.amount >> 32) + (sum(numbered.amount & 4294967295) >> 32)) * 4294967296
    + (sum(numbered.amount & 4294967295) & 4294967295) AS moved,
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
            credited.credit_id AS account_id,
            credited.id,
            credited.amount,
            credited.recorded_at,
            credited.occurred_at
        FROM lastro_transfer AS credited
        WHERE credited.id > %(id_floor)s AND credited.id <= %(id_ceiling)s
        UNION ALL
        SELECT
            debited.debit_id AS account_id,
            debited.id,
            -debited.amount AS amount,
            debited.recorded_at,
            debited.occurred_at
        FROM lastro_transfer AS debited
        WHERE debited.id > %(id_floor)s AND debited.id <= %(id_ceiling)s
    ) AS side
    WHERE side.account_id > %(after_account_id)s AND side.account_id <= %(upto_account_id)s
) AS numbered
WHERE numbered.entries > %(block_entries)s
GROUP BY numbered.account_id, (numbered.place - 1) / %(block_entries)s;

-- name: write
-- What accounts stood at: as at their mark before, with what came since. An account without one begins with its
-- history: what is stored as its balance may be off.
-- locks: none that isn't held already   returns: 1 row: how many closings, and the newest moment of recording
INSERT INTO lastro_closing (
    account_id, mark_id, opening, amount, entries, blocks, first_id, last_id,
    recorded_min_at, recorded_max_at, occurred_min_at, occurred_max_at
)
SELECT
    opened.account_id,
    %(mark_id)s AS mark_id,
    opened.opening,
    opened.opening + opened.amount AS amount,
    opened.entries,
    CASE
        WHEN opened.entries > %(block_entries)s
            THEN (opened.entries + %(block_entries)s - 1) / %(block_entries)s
        ELSE 0
    END AS blocks,
    opened.first_id,
    opened.last_id,
    opened.recorded_min_at,
    opened.recorded_max_at,
    opened.occurred_min_at,
    opened.occurred_max_at
FROM (
    SELECT
        moved.account_id,
        moved.amount,
        moved.entries,
        moved.first_id,
        moved.last_id,
        moved.recorded_min_at,
        moved.recorded_max_at,
        moved.occurred_min_at,
        moved.occurred_max_at,
        coalesce(
            (
                SELECT earlier.amount FROM lastro_closing AS earlier
                WHERE earlier.account_id = moved.account_id AND earlier.mark_id < %(mark_id)s
                ORDER BY earlier.mark_id DESC
                LIMIT 1
            ),
            coalesce((
                SELECT
                    (sum(side.amount >> 32) + (sum(side.amount & 4294967295) >> 32)) * 4294967296
                    + (sum(side.amount & 4294967295) & 4294967295)
                FROM (
                    SELECT credit.amount FROM lastro_transfer AS credit
                    WHERE credit.credit_id = moved.account_id AND credit.id <= %(id_floor)s
                    UNION ALL
                    SELECT -debit.amount FROM lastro_transfer AS debit
                    WHERE debit.debit_id = moved.account_id AND debit.id <= %(id_floor)s
                ) AS side
            ), 0)
        ) AS opening
    FROM (
        SELECT
            side.account_id,
            (sum(side.amount >> 32) + (sum(side.amount & 4294967295) >> 32)) * 4294967296
            + (sum(side.amount & 4294967295) & 4294967295) AS amount,
            count(*) AS entries,
            min(side.id) AS first_id,
            max(side.id) AS last_id,
            min(side.recorded_at) AS recorded_min_at,
            max(side.recorded_at) AS recorded_max_at,
            min(side.occurred_at) AS occurred_min_at,
            max(side.occurred_at) AS occurred_max_at
        FROM (
            SELECT
                credited.credit_id AS account_id,
                credited.id,
                credited.amount,
                credited.recorded_at,
                credited.occurred_at
            FROM lastro_transfer AS credited
            WHERE credited.id > %(id_floor)s AND credited.id <= %(id_ceiling)s
            UNION ALL
            SELECT
                debited.debit_id AS account_id,
                debited.id,
                -debited.amount AS amount,
                debited.recorded_at,
                debited.occurred_at
            FROM lastro_transfer AS debited
            WHERE debited.id > %(id_floor)s AND debited.id <= %(id_ceiling)s
        ) AS side
        WHERE side.account_id > %(after_account_id)s AND side.account_id <= %(upto_account_id)s
        GROUP BY side.account_id
    ) AS moved
) AS opened;
SELECT
    changes() AS accounts,
    (
        SELECT max(transfer.recorded_at) FROM lastro_transfer AS transfer
        WHERE transfer.id > %(id_floor)s AND transfer.id <= %(id_ceiling)s
    ) AS newest_at;

-- name: advance
-- Note the last account of the page that was done.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_open_mark
SET
    after_account_id = %(upto_account_id)s,
    newest_at = max(coalesce(newest_at, %(newest_at)s), coalesce(%(newest_at)s, newest_at))
WHERE only_row = 1;

-- name: finish
-- Write the mark: from now on readers use it.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro_mark (id, marked_at, id_floor, id_ceiling, closed_at)
SELECT
    open_mark.id,
    coalesce(open_mark.marked_at, open_mark.newest_at, %(now)s) AS marked_at,
    open_mark.id_floor,
    open_mark.id_ceiling,
    %(now)s AS closed_at
FROM lastro_open_mark AS open_mark;

-- name: follow
-- Make ready for the mark that follows the one that was written.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_open_mark
SET
    id = id + 1,
    id_floor = id_ceiling,
    id_ceiling = NULL,
    marked_at = NULL,
    waits_for = NULL,
    settled = 0
WHERE only_row = 1;
