-- Merging one file into its sheets, in one transaction. `its_table` and so on stand for the names of a sheet here:
-- its_fields for those that the file has, its_key for those that name a row, its_period for the one that dates it,
-- its_staged and its_changes for the temporary tables of this merge.

-- name: lock
-- Let one merge at a time through, and say how long it waited and for whom. The first statement of its transaction:
-- the snapshots of the following ones see whatever was merged before.
-- locks: advisory, one for all merges of a ledger   returns: 1 row
WITH patience AS MATERIALIZED (
    SELECT set_config('lock_timeout', %(lock_timeout)s::text, true) AS lock_timeout
),

holder AS MATERIALIZED (
    SELECT max(extract(EPOCH FROM clock_timestamp() - activity.xact_start) * 1000)::bigint AS holder_age_ms
    FROM pg_locks AS lock
    LEFT JOIN pg_stat_activity AS activity ON lock.pid = activity.pid
    WHERE
        lock.locktype = 'advisory'
        AND lock.granted
        AND lock.objsubid = 1
        AND lock.database = (SELECT own.oid FROM pg_database AS own WHERE own.datname = current_database())
        AND ((lock.classid::bigint << 32) | lock.objid::bigint)
        = hashtextextended('lastro merges ' || %(ledger)s::text, 0)
),

locked AS MATERIALIZED (
    SELECT
        holder.holder_age_ms,
        patience.lock_timeout,
        pg_advisory_xact_lock(hashtextextended('lastro merges ' || %(ledger)s::text, 0)) AS locked
    FROM holder
    CROSS JOIN patience
)

SELECT
    locked.holder_age_ms,
    (extract(EPOCH FROM clock_timestamp() - statement_timestamp()) * 1000)::bigint AS waited_ms
FROM locked;

-- name: still_locked
-- Whether the lock of merging is held: outside a transaction it was let go of as soon as it was had. From here on waits
-- for rows are bounded as anywhere else, and the few large statements that follow get the memory for it, one merge at a
-- time; compiling each of them anew would take longer than it saves.
-- locks: none   returns: 1 row
SELECT
    count(lock.pid) > 0 AS held,
    set_config('lock_timeout', %(lock_timeout)s::text, true) AS lock_timeout,
    set_config('work_mem', %(work_mem)s::text, true) AS work_mem,
    set_config('jit', 'off', true) AS jit
FROM pg_locks AS lock
WHERE
    lock.locktype = 'advisory'
    AND lock.granted
    AND lock.objsubid = 1
    AND lock.pid = pg_backend_pid()
    AND ((lock.classid::bigint << 32) | lock.objid::bigint)
    = hashtextextended('lastro merges ' || %(ledger)s::text, 0);

-- name: stage
-- Make room for a file's rows: the fields that it has, as the sheet has them.
-- locks: none   returns: nothing
CREATE TEMPORARY TABLE its_staged ON COMMIT DROP AS
SELECT
    0 AS row_number,
    merged.its_fields
FROM lastro.its_table AS merged
WHERE false;

-- name: copy
-- Bring a file's rows in as its parser wrote them.
-- locks: none   returns: nothing
COPY pg_temp.its_staged (row_number, its_fields) FROM STDIN;

-- name: twice
-- Keys that a file has more than once, each with its rows. They are counted before they are looked at: to sort all rows
-- by their keys takes longer than to compare them with what is stored.
-- locks: none   returns: up to keys_max rows
WITH doubled AS MATERIALIZED (
    SELECT staged.its_key
    FROM pg_temp.its_staged AS staged
    GROUP BY staged.its_key
    HAVING count(*) > 1
)

SELECT
    concat_ws(', ', staged.its_key) AS key,
    trim_array(
        array_agg(staged.row_number ORDER BY staged.row_number),
        greatest(0, count(*)::integer - %(rows_max)s::integer)
    ) AS row_numbers,
    count(*) AS times
FROM pg_temp.its_staged AS staged
INNER JOIN doubled USING (its_key)
GROUP BY staged.its_key
ORDER BY min(staged.row_number)
LIMIT %(keys_max)s::bigint;

-- name: compare
-- Note what differs between a file and the month that it is of: rows that are new or others, and rows that it lacks.
-- Of a file that is a part of its month, rows that other parts wrote aren't lacking; one that it has is its own now.
-- locks: none   returns: nothing
CREATE TEMPORARY TABLE its_changes ON COMMIT DROP AS
SELECT
    staged.row_number,
    merged.line_id,
    merged.file_id
FROM pg_temp.its_staged AS staged
FULL JOIN (
    SELECT
        dated.line_id,
        dated.file_id,
        dated.its_fields,
        (
            %(part)s::text IS NULL
            OR dated.file_id IN (SELECT own.file_id FROM lastro.import_file AS own WHERE own.part = %(part)s::text)
        ) AS is_own
    FROM lastro.its_table AS dated
    WHERE dated.its_period >= %(period_from)s AND dated.its_period < %(period_to)s
) AS merged USING (its_key)
WHERE
    (staged.row_number IS NULL AND merged.is_own)
    OR (
        staged.row_number IS NOT NULL
        AND (
            merged.line_id IS NULL
            OR NOT merged.is_own
            OR ROW(staged.its_fields) IS DISTINCT FROM ROW(merged.its_fields)
        )
    );

-- name: compare_all
-- The same where no month was declared: nothing is lacking.
-- locks: none   returns: nothing
CREATE TEMPORARY TABLE its_changes ON COMMIT DROP AS
SELECT
    staged.row_number,
    merged.line_id,
    merged.file_id
FROM pg_temp.its_staged AS staged
LEFT JOIN lastro.its_table AS merged USING (its_key)
WHERE merged.line_id IS NULL OR ROW(staged.its_fields) IS DISTINCT FROM ROW(merged.its_fields);

-- name: find_elsewhere
-- Note of rows that look new whether another month has them.
-- locks: none   returns: nothing
UPDATE pg_temp.its_changes AS changes
SET line_id = merged.line_id, file_id = merged.file_id
FROM pg_temp.its_staged AS staged
INNER JOIN lastro.its_table AS merged USING (its_key)
WHERE changes.line_id IS NULL AND changes.row_number = staged.row_number;

-- name: weigh
-- How many rows the file has, how many it lacks, and how many its month has that could be lacking.
-- locks: none   returns: 1 row
SELECT
    (SELECT count(*) FROM pg_temp.its_staged) AS staged,
    (SELECT count(*) FROM pg_temp.its_changes AS missing WHERE missing.row_number IS NULL) AS missing,
    (SELECT count(*) FROM pg_temp.its_changes AS fresh WHERE fresh.line_id IS NULL) AS fresh,
    (SELECT count(*) FROM pg_temp.its_changes) AS changes,
    (
        SELECT count(*)
        FROM lastro.its_table AS dated
        WHERE
            dated.its_period >= %(period_from)s AND dated.its_period < %(period_to)s
            AND (
                %(part)s::text IS NULL
                OR dated.file_id IN (SELECT own.file_id FROM lastro.import_file AS own WHERE own.part = %(part)s::text)
            )
    ) AS present;

-- name: weigh_all
-- The same where no month was declared.
-- locks: none   returns: 1 row
SELECT
    (SELECT count(*) FROM pg_temp.its_staged) AS staged,
    0::bigint AS missing,
    (SELECT count(*) FROM pg_temp.its_changes AS fresh WHERE fresh.line_id IS NULL) AS fresh,
    (SELECT count(*) FROM pg_temp.its_changes) AS changes,
    0::bigint AS present;

-- name: taken_from
-- Rows of a file that another file of the same request has brought already.
-- locks: none   returns: up to rows_max rows
SELECT
    staged.row_number,
    concat_ws(', ', staged.its_key) AS key,
    sibling.name AS file,
    merged.row_number AS its_row
FROM pg_temp.its_changes AS changes
INNER JOIN pg_temp.its_staged AS staged ON changes.row_number = staged.row_number
INNER JOIN lastro.its_table AS merged ON changes.line_id = merged.line_id
INNER JOIN lastro.import_file AS writer ON merged.file_id = writer.file_id
INNER JOIN lastro.import_file AS sibling
    ON writer.part = sibling.part AND sibling.request_id = %(request_id)s AND sibling.file_id <> %(file_id)s
INNER JOIN lastro.import_outcome AS outcome ON sibling.file_id = outcome.file_id AND outcome.status = 'merged'
ORDER BY staged.row_number
LIMIT %(rows_max)s::bigint;

-- name: overtaken_by
-- A file of a later request that wrote a row which this file would change, in this month or another.
-- locks: none   returns: 0 or 1 row
SELECT later.name
FROM pg_temp.its_changes AS changes
INNER JOIN pg_temp.its_staged AS staged ON changes.row_number = staged.row_number
INNER JOIN lastro.its_table AS merged USING (its_key)
INNER JOIN lastro.import_file AS later ON merged.file_id = later.file_id
WHERE merged.file_id > %(file_id)s::bigint AND later.request_id <> %(request_id)s::bigint
ORDER BY later.file_id
LIMIT %(files_max)s::bigint;

-- name: upsert
-- Write the rows that are new or others, in the order of their keys, and keep those that they replace.
-- locks: the rows that it changes, in the order of the natural key   returns: 1 row
WITH written AS (
    INSERT INTO lastro.its_table AS merged (its_fields, file_id, row_number, written_at)
    SELECT
        staged.its_fields,
        %(file_id)s::bigint,
        staged.row_number,
        coalesce(%(now)s::timestamptz, now())
    FROM pg_temp.its_staged AS staged
    INNER JOIN pg_temp.its_changes AS changes ON staged.row_number = changes.row_number
    ORDER BY staged.its_key
    ON CONFLICT (its_key) DO UPDATE SET
    (its_fields, file_id, row_number, written_at)
    = (excluded.its_fields, excluded.file_id, excluded.row_number, excluded.written_at)
    WHERE
        ROW(merged.its_fields) IS DISTINCT FROM ROW(excluded.its_fields)
        OR (
            %(part)s::text IS NOT NULL
            AND merged.file_id NOT IN (
                SELECT own.file_id FROM lastro.import_file AS own WHERE own.part = %(part)s::text
            )
        )
    RETURNING CASE WHEN old.line_id IS NOT NULL THEN to_jsonb(old) END AS line
),

replaced AS (
    INSERT INTO lastro.import_replaced (file_id, sheet, is_deleted, line)
    SELECT
        %(file_id)s::bigint,
        %(sheet)s::text,
        false,
        written.line
    FROM written
    WHERE written.line IS NOT NULL
)

SELECT
    count(*) FILTER (WHERE written.line IS NULL) AS inserted,
    count(*) FILTER (WHERE written.line IS NOT NULL) AS updated
FROM written;

-- name: delete_missing
-- Delete the month's rows that the file lacks, in the order of their keys, and keep what they were. A row that somebody
-- else has put into another month meanwhile stays.
-- locks: the rows that it deletes, in the order of the natural key   returns: 1 row
WITH missing AS MATERIALIZED (
    SELECT merged.line_id
    FROM lastro.its_table AS merged
    INNER JOIN pg_temp.its_changes AS changes ON merged.line_id = changes.line_id
    WHERE
        changes.row_number IS NULL
        AND merged.its_period >= %(period_from)s AND merged.its_period < %(period_to)s
    ORDER BY merged.its_key
    FOR NO KEY UPDATE OF merged
),

gone AS (
    DELETE FROM lastro.its_table AS merged
    USING missing
    WHERE merged.line_id = missing.line_id
    RETURNING to_jsonb(merged) AS line
),

replaced AS (
    INSERT INTO lastro.import_replaced (file_id, sheet, is_deleted, line)
    SELECT
        %(file_id)s::bigint,
        %(sheet)s::text,
        true,
        gone.line
    FROM gone
)

SELECT count(*) AS deleted
FROM gone;

-- name: samples
-- Some of the changes, as they were and as they will be, in the order of the fields: those of each sort that come first
-- by row.
-- locks: none   returns: up to rows_max rows of each sort
SELECT
    sample.sort,
    sample.row_number,
    to_json(merged)::text AS before,
    to_json(staged)::text AS after
FROM (
    SELECT
        changes.row_number,
        changes.line_id,
        CASE
            WHEN changes.row_number IS NULL THEN 'deleted'
            WHEN changes.line_id IS NULL THEN 'inserted'
            ELSE 'updated'
        END AS sort,
        row_number() OVER (
            PARTITION BY changes.row_number IS NULL, changes.line_id IS NULL
            ORDER BY changes.row_number, changes.line_id
        ) AS place
    FROM pg_temp.its_changes AS changes
) AS sample
LEFT JOIN lastro.its_table AS merged ON sample.line_id = merged.line_id
LEFT JOIN pg_temp.its_staged AS staged ON sample.row_number = staged.row_number
WHERE sample.place <= %(rows_max)s::bigint
ORDER BY sample.sort, sample.place;

-- name: unstage
-- Let go of a file's rows.
-- locks: none   returns: nothing
DROP TABLE pg_temp.its_staged, pg_temp.its_changes;
