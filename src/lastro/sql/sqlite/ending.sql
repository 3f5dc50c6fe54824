-- What becomes of holds: the events that capture, release or expire them, and the live rows and base rows with them.

-- name: note
-- Note what becomes of holds. Nothing at all where a key of theirs is taken.
-- locks: none that isn't held already   returns: 1 row for each event noted
INSERT INTO lastro_hold_event (
    hold_id, number, kind, amount, taken, left_before, left_after, transfer_id, recorded_at, key, cause, source, actor
)
SELECT
    given.value,
    json_extract(%(numbers)s, '$[' || given.key || ']'),
    json_extract(%(kinds)s, '$[' || given.key || ']'),
    json_extract(%(amounts)s, '$[' || given.key || ']'),
    json_extract(%(takens)s, '$[' || given.key || ']'),
    json_extract(%(lefts_before)s, '$[' || given.key || ']'),
    json_extract(%(lefts_after)s, '$[' || given.key || ']'),
    json_extract(%(transfer_ids)s, '$[' || given.key || ']'),
    %(now)s,
    json_extract(%(keys)s, '$[' || given.key || ']'),
    json_extract(%(causes)s, '$[' || given.key || ']'),
    json_extract(%(sources)s, '$[' || given.key || ']'),
    json_extract(%(actors)s, '$[' || given.key || ']')
FROM json_each(%(hold_ids)s) AS given
WHERE NOT EXISTS (
    SELECT 1
    FROM json_each(%(keys)s) AS wanted
    INNER JOIN lastro_hold_event AS taken ON wanted.value = taken.key
)
ORDER BY given.key
ON CONFLICT (key) DO NOTHING
RETURNING hold_id, recorded_at;

-- name: settle
-- Bring the live rows to where the events left them, deleting those at their end, and give back what accounts held.
-- locks: none that isn't held already   returns: nothing
DELETE FROM lastro_open_hold
WHERE
    hold_id IN (
        SELECT given.value
        FROM json_each(%(open_ids)s) AS given
        WHERE json_extract(%(lefts_over)s, '$[' || given.key || ']') = 0
    );

UPDATE lastro_open_hold
SET
    left_over = json_extract(%(lefts_over)s, '$[' || given.key || ']'),
    captured = json_extract(%(captureds)s, '$[' || given.key || ']'),
    released = json_extract(%(releaseds)s, '$[' || given.key || ']'),
    events = json_extract(%(event_counts)s, '$[' || given.key || ']')
FROM json_each(%(open_ids)s) AS given
WHERE lastro_open_hold.hold_id = given.value;

UPDATE lastro_base
SET
    held = lastro_base.held - json_extract(%(given_back)s, '$[' || given.key || ']'),
    changed_at = %(now)s
FROM json_each(%(account_ids)s) AS given
WHERE lastro_base.account_id = given.value;

-- name: due
-- A page of the open holds that may expire now, the longest due first. Guarded ones aren't due, and listed ones never.
-- locks: none   returns: 0 … rows_max rows
SELECT
    open_hold.hold_id,
    open_hold.account_id,
    open_hold.due_at
FROM lastro_open_hold AS open_hold
WHERE
    open_hold.listed = 0 AND open_hold.due_at <= %(now)s
    AND (open_hold.due_at, open_hold.hold_id) > (
        coalesce(%(after_due_at)s, -9223372036854775807), %(after_id)s
    )
ORDER BY open_hold.due_at, open_hold.hold_id
LIMIT %(rows_max)s;

-- name: lock_due
-- The accounts of due holds. The transaction holds the write lock of the whole database, so none is passed over.
-- locks: none that isn't held already   returns: 1 row an account
SELECT
    base.account_id,
    %(now)s AS recorded_at
FROM lastro_base AS base
WHERE base.account_id IN (SELECT given.value FROM json_each(%(account_ids)s) AS given)
ORDER BY base.account_id;
