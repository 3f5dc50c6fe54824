-- What becomes of holds: the events that capture, release or expire them, and the live rows and base rows with them.

-- name: note
-- Note what becomes of holds whose base rows this transaction holds. Nothing for an event whose key is taken.
-- locks: the keys of releases   returns: 1 row for each event noted
INSERT INTO lastro.hold_event (
    hold_id, number, kind, amount, taken, left_before, left_after, transfer_id, recorded_at, key, cause, source, actor
)
SELECT
    noted.hold_id,
    noted.number,
    noted.kind,
    noted.amount,
    noted.taken,
    noted.left_before,
    noted.left_after,
    noted.transfer_id,
    coalesce(%(now)s::timestamptz, now()),
    noted.key,
    noted.cause,
    noted.source,
    noted.actor
FROM unnest(
    %(hold_ids)s::bigint[], %(numbers)s::integer[], %(kinds)s::text[], %(amounts)s::bigint[], %(takens)s::bigint[],
    %(lefts_before)s::bigint[], %(lefts_after)s::bigint[], %(transfer_ids)s::bigint[], %(keys)s::text[],
    %(causes)s::text[], %(sources)s::text[], %(actors)s::text[]
) AS noted (
    hold_id, number, kind, amount, taken, left_before, left_after, transfer_id, key, cause, source, actor
)
ORDER BY noted.key
ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING
RETURNING hold_id, recorded_at;

-- name: settle
-- Bring the live rows to where the events left them, deleting those at their end, and give back what accounts held.
-- locks: none that isn't held already   returns: nothing
WITH moved AS MATERIALIZED (
    SELECT
        given.hold_id,
        given.left_over,
        given.captured,
        given.released,
        given.events
    FROM unnest(
        %(open_ids)s::bigint[], %(lefts_over)s::bigint[], %(captureds)s::bigint[], %(releaseds)s::bigint[],
        %(event_counts)s::integer[]
    ) AS given (hold_id, left_over, captured, released, events)
),

ended AS (
    DELETE FROM lastro.open_hold
    USING moved
    WHERE open_hold.hold_id = moved.hold_id AND moved.left_over = 0
),

kept AS (
    UPDATE lastro.open_hold
    SET left_over = moved.left_over, captured = moved.captured, released = moved.released, events = moved.events
    FROM moved
    WHERE open_hold.hold_id = moved.hold_id AND moved.left_over > 0
)

UPDATE lastro.base
SET
    held = base.held - given.amount,
    changed_at = coalesce(%(now)s::timestamptz, now())
FROM unnest(%(account_ids)s::bigint[], %(given_back)s::bigint[]) AS given (account_id, amount)
WHERE base.account_id = given.account_id;

-- name: due
-- A page of the open holds that may expire now, the longest due first. Guarded ones aren't due, and listed ones never.
-- locks: none   returns: 0 … rows_max rows
SELECT
    open_hold.hold_id,
    open_hold.account_id,
    open_hold.due_at
FROM lastro.open_hold AS open_hold
WHERE
    NOT open_hold.listed AND open_hold.due_at <= coalesce(%(now)s::timestamptz, now())
    AND (open_hold.due_at, open_hold.hold_id)
    > (coalesce(%(after_due_at)s::timestamptz, '-infinity'), %(after_id)s::bigint)
ORDER BY open_hold.due_at, open_hold.hold_id
LIMIT %(rows_max)s;

-- name: lock_due
-- Lock the accounts of due holds, passing over those that somebody works on: they are due in the next round as well.
-- locks: the base rows, in account order   returns: 1 row for each account that could be had
SELECT
    base.account_id,
    coalesce(%(now)s::timestamptz, now()) AS recorded_at
FROM lastro.base AS base
WHERE base.account_id = ANY(%(account_ids)s::bigint[])
ORDER BY base.account_id
FOR NO KEY UPDATE SKIP LOCKED;
