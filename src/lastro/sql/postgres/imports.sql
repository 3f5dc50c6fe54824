-- Files to merge and what became of them: requests, jobs under a lease, their logs.

-- name: request
-- Write down what was sent and on which terms.
-- locks: none   returns: 1 row
INSERT INTO lastro.import_request (name, period, specs, allow_shrink, quarantine, actor, recorded_at)
VALUES (
    %(name)s::text, %(period)s::text, %(specs)s::jsonb, %(allow_shrink)s::boolean, %(quarantine)s::boolean,
    %(actor)s::text, coalesce(%(now)s::timestamptz, now())
)
RETURNING request_id;

-- name: parts_before
-- Names under which parts of a month were sent before: whoever is called so is that part again.
-- locks: none   returns: 1 row a name
SELECT DISTINCT file.part
FROM lastro.import_file AS file
INNER JOIN lastro.import_request AS request ON file.request_id = request.request_id
WHERE file.part = ANY(%(names)s::text[]) AND request.period = %(period)s::text;

-- name: add_file
-- Write down a file of a request.
-- locks: none   returns: 1 row
INSERT INTO lastro.import_file (request_id, number, name, part, sha256, recorded_at)
VALUES (
    %(request_id)s::bigint, %(number)s::integer, %(name)s::text, %(part)s::text, %(sha256)s::text,
    coalesce(%(now)s::timestamptz, now())
)
RETURNING file_id;

-- name: add_piece
-- Keep a piece of a file until it is merged.
-- locks: none   returns: nothing
INSERT INTO lastro.import_piece (file_id, number, piece)
VALUES (%(file_id)s::bigint, %(number)s::integer, %(piece)s::bytea);

-- name: queue
-- Have a file merged.
-- locks: none   returns: nothing
INSERT INTO lastro.open_import (file_id, status, leased_until, opened_at)
VALUES (
    %(file_id)s::bigint, 'waiting', coalesce(%(now)s::timestamptz, now()), coalesce(%(now)s::timestamptz, now())
);

-- name: claim
-- Take the oldest file that nobody works on, or whose worker's lease has run out. The token fences off who had it
-- before.
-- locks: the job's row; one that somebody else has is passed over   returns: 0 or 1 row
UPDATE lastro.open_import AS job
SET
    status = 'reading',
    attempts = job.attempts + 1,
    token = job.token + 1,
    holder = %(holder)s::text,
    leased_until = coalesce(%(now)s::timestamptz, clock_timestamp()) + make_interval(secs => %(lease_s)s::bigint)
FROM lastro.import_file AS file
INNER JOIN lastro.import_request AS request ON file.request_id = request.request_id
WHERE
    job.file_id = ANY(
        ARRAY(
            SELECT ready.file_id
            FROM lastro.open_import AS ready
            INNER JOIN lastro.import_file AS waiting ON ready.file_id = waiting.file_id
            WHERE
                ready.leased_until <= coalesce(%(now)s::timestamptz, clock_timestamp())
                AND (%(request_id)s::bigint IS NULL OR waiting.request_id = %(request_id)s::bigint)
            ORDER BY ready.file_id
            LIMIT %(jobs_max)s::bigint
            FOR NO KEY UPDATE OF ready SKIP LOCKED
        )
    )
    AND file.file_id = job.file_id
RETURNING
    job.file_id,
    job.token,
    job.attempts,
    file.request_id,
    file.number,
    file.name,
    file.part,
    request.period,
    request.specs::text AS specs,
    request.allow_shrink,
    request.quarantine;

-- name: pieces
-- What is in a file, some pieces at a time.
-- locks: none   returns: up to pieces_max rows
SELECT
    kept.number,
    kept.piece
FROM lastro.import_piece AS kept
WHERE kept.file_id = %(file_id)s::bigint AND kept.number > %(after)s::integer
ORDER BY kept.number
LIMIT %(pieces_max)s::bigint;

-- name: hold_on
-- Say how far a job is, and hold on to it.
-- locks: the job's row   returns: 0 or 1 row: none where somebody else has it by now
UPDATE lastro.open_import AS job
SET
    status = %(status)s::text,
    leased_until = coalesce(%(now)s::timestamptz, clock_timestamp()) + make_interval(secs => %(lease_s)s::bigint)
WHERE job.file_id = %(file_id)s::bigint AND job.token = %(token)s::bigint
RETURNING job.file_id;

-- name: give_back
-- Let somebody else take a job, now or after a while.
-- locks: the job's row   returns: 0 or 1 row
UPDATE lastro.open_import AS job
SET
    status = 'waiting',
    holder = NULL,
    attempts = CASE WHEN %(counts)s::boolean THEN job.attempts ELSE job.attempts - 1 END,
    leased_until = coalesce(%(now)s::timestamptz, clock_timestamp()) + make_interval(secs => %(pause_s)s::bigint)
WHERE job.file_id = %(file_id)s::bigint AND job.token = %(token)s::bigint
RETURNING job.file_id;

-- name: close
-- Take a job out of the queue, with what was kept for it.
-- locks: the job's row   returns: 0 or 1 row: none where somebody else has it by now
WITH closed AS (
    DELETE FROM lastro.open_import AS job
    WHERE job.file_id = %(file_id)s::bigint AND job.token = %(token)s::bigint
    RETURNING job.file_id
),

pieces AS (
    DELETE FROM lastro.import_piece AS kept
    USING closed
    WHERE kept.file_id = closed.file_id
)

SELECT closed.file_id
FROM closed;

-- name: overtaken
-- A file of the same month and sheet that was sent by a later request and is merged already. Seen under the lock of
-- merging, so that none is merged in between.
-- locks: none   returns: 0 or 1 row
SELECT later.name
FROM lastro.import_merge AS merge
INNER JOIN lastro.import_file AS later ON merge.file_id = later.file_id
INNER JOIN lastro.import_request AS request ON later.request_id = request.request_id
WHERE
    merge.file_id > %(file_id)s::bigint
    AND merge.sheet = ANY(%(sheets)s::text[])
    AND later.request_id <> %(request_id)s::bigint
    AND request.period = %(period)s::text
    AND (later.part IS NULL OR %(part)s::text IS NULL OR later.part = %(part)s::text)
ORDER BY merge.file_id
LIMIT %(files_max)s::bigint;

-- name: end_file
-- Write down what became of a file.
-- locks: none   returns: nothing
INSERT INTO lastro.import_outcome (file_id, status, reason, recorded_at)
VALUES (%(file_id)s::bigint, %(status)s::text, %(reason)s::text, coalesce(%(now)s::timestamptz, now()));

-- name: note_merge
-- Write down what a merge did to a sheet.
-- locks: none   returns: nothing
INSERT INTO lastro.import_merge (file_id, sheet, inserted, updated, unchanged, deleted, quarantined)
VALUES (
    %(file_id)s::bigint, %(sheet)s::text, %(inserted)s::bigint, %(updated)s::bigint, %(unchanged)s::bigint,
    %(deleted)s::bigint, %(quarantined)s::bigint
);

-- name: log
-- Add lines to a job's log.
-- locks: none   returns: nothing
INSERT INTO lastro.import_log (file_id, line, recorded_at)
SELECT
    %(file_id)s::bigint,
    said.line,
    coalesce(%(now)s::timestamptz, clock_timestamp())
FROM unnest(%(lines)s::text[]) WITH ORDINALITY AS said (line, place)
ORDER BY said.place;

-- name: keep_aside
-- Keep rows that were rejected, as they stood in the file.
-- locks: none   returns: nothing
INSERT INTO lastro.import_quarantine (file_id, sheet, row_number, cells, reasons)
SELECT
    %(file_id)s::bigint,
    %(sheet)s::text,
    aside.row_number,
    aside.cells::jsonb,
    aside.reasons::jsonb
FROM unnest(%(row_numbers)s::integer[], %(cells)s::text[], %(reasons)s::text[]) AS aside (row_number, cells, reasons);

-- name: left
-- How many files of a request are not at their end.
-- locks: none   returns: 1 row
SELECT count(*) AS left_over
FROM lastro.open_import AS job
INNER JOIN lastro.import_file AS file ON job.file_id = file.file_id
WHERE file.request_id = %(request_id)s::bigint;

-- name: file
-- How a file stands.
-- locks: none   returns: 0 or 1 row
SELECT
    standing.file_id,
    standing.request_id,
    standing.request,
    standing.number,
    standing.file,
    standing.period,
    standing.status,
    standing.reason,
    standing.attempts,
    standing.sent_at,
    standing.ended_at
FROM lastro.import_standing AS standing
WHERE standing.file_id = %(file_id)s::bigint;

-- name: files
-- How files stand, the newest first, or those of a request in their order.
-- locks: none   returns: up to rows_max rows
SELECT
    standing.file_id,
    standing.request_id,
    standing.request,
    standing.number,
    standing.file,
    standing.period,
    standing.status,
    standing.reason,
    standing.attempts,
    standing.sent_at,
    standing.ended_at
FROM lastro.import_standing AS standing
WHERE
    (%(request_id)s::bigint IS NULL OR standing.request_id = %(request_id)s::bigint)
    AND (%(before)s::bigint IS NULL OR standing.file_id < %(before)s::bigint)
ORDER BY
    CASE WHEN %(request_id)s::bigint IS NULL THEN -standing.file_id END,
    standing.number
LIMIT %(rows_max)s::bigint;

-- name: merges
-- What merges did, of some files.
-- locks: none   returns: 1 row a sheet of each
SELECT
    merge.file_id,
    merge.sheet,
    merge.inserted,
    merge.updated,
    merge.unchanged,
    merge.deleted,
    merge.quarantined
FROM lastro.import_merge AS merge
WHERE merge.file_id = ANY(%(file_ids)s::bigint[])
ORDER BY merge.file_id, merge.sheet;

-- name: log_of
-- A job's log.
-- locks: none   returns: up to rows_max rows
SELECT
    said.line,
    said.recorded_at
FROM lastro.import_log AS said
WHERE said.file_id = %(file_id)s::bigint
ORDER BY said.line_id
LIMIT %(rows_max)s::bigint;

-- name: quarantined
-- Rows of a file that were kept aside.
-- locks: none   returns: up to rows_max rows
SELECT
    aside.sheet,
    aside.row_number,
    aside.cells::text AS cells,
    aside.reasons::text AS reasons
FROM lastro.import_quarantine AS aside
WHERE aside.file_id = %(file_id)s::bigint
ORDER BY aside.sheet, aside.row_number
LIMIT %(rows_max)s::bigint;

-- name: replaced
-- Rows as they were before a file changed or deleted them.
-- locks: none   returns: up to rows_max rows
SELECT
    replaced.replaced_id,
    replaced.sheet,
    replaced.is_deleted,
    replaced.line::text AS line
FROM lastro.import_replaced AS replaced
WHERE replaced.file_id = %(file_id)s::bigint AND replaced.replaced_id > %(after)s::bigint
ORDER BY replaced.replaced_id
LIMIT %(rows_max)s::bigint;

-- name: backlog
-- How many files wait, and for how long the oldest.
-- locks: none   returns: 1 row
SELECT
    count(*) AS waiting,
    greatest(
        0, extract(EPOCH FROM coalesce(%(now)s::timestamptz, clock_timestamp()) - min(job.opened_at)) * 1000
    )::bigint AS age_ms
FROM lastro.open_import AS job;
