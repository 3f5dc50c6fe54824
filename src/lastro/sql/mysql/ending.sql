-- What becomes of holds: the events that capture, release or expire them, and the live rows and base rows with them.

-- name: note
-- Note what becomes of holds whose base rows this transaction holds. An event whose key is taken isn't among the rows
-- that come back; the plan then returns to its savepoint.
-- locks: the keys of releases   returns: 1 row for each event noted
SET @lastro_now = coalesce(%(now)s, utc_timestamp(6));
/* each */ INSERT INTO lastro.hold_event (
    hold_id, number, kind, amount, taken, left_before, left_after, transfer_id, recorded_at, `key`, cause, source, actor
)
VALUES (
    %(hold_ids)s, %(numbers)s, %(kinds)s, %(amounts)s, %(takens)s, %(lefts_before)s, %(lefts_after)s,
    %(transfer_ids)s, @lastro_now, %(keys)s, %(causes)s, %(sources)s, %(actors)s
)
ON DUPLICATE KEY UPDATE number = hold_event.number;
SELECT
    event.hold_id,
    event.recorded_at
FROM json_table(%(hold_ids__numbers__lefts_before)s, '$[*]' COLUMNS (
    hold_id bigint PATH '$[0]', number integer PATH '$[1]', left_before bigint PATH '$[2]'
)) AS noted
STRAIGHT_JOIN lastro.hold_event AS event FORCE INDEX (primary)
    ON noted.hold_id = event.hold_id AND noted.number = event.number AND noted.left_before = event.left_before;

-- name: settle
-- Bring the live rows to where the events left them, deleting those at their end, and give back what accounts held.
-- locks: none that isn't held already   returns: nothing
DELETE lastro.open_hold
FROM json_table(%(open_ids__lefts_over)s, '$[*]' COLUMNS (
    hold_id bigint PATH '$[0]', left_over bigint PATH '$[1]'
)) AS moved
STRAIGHT_JOIN lastro.open_hold FORCE INDEX (primary)
    ON lastro.open_hold.hold_id = moved.hold_id AND moved.left_over = 0;
UPDATE json_table(%(open_ids__lefts_over__captureds__releaseds__event_counts)s, '$[*]' COLUMNS (
    hold_id bigint PATH '$[0]', left_over bigint PATH '$[1]', captured bigint PATH '$[2]', released bigint PATH '$[3]',
    events integer PATH '$[4]'
)) AS moved
STRAIGHT_JOIN lastro.open_hold AS open_hold FORCE INDEX (primary) ON moved.hold_id = open_hold.hold_id
SET
    open_hold.left_over = moved.left_over,
    open_hold.captured = moved.captured,
    open_hold.released = moved.released,
    open_hold.events = moved.events;
UPDATE json_table(%(account_ids__given_back)s, '$[*]' COLUMNS (
    account_id bigint PATH '$[0]', amount bigint PATH '$[1]'
)) AS given
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON given.account_id = base.account_id
SET
    base.held = base.held - given.amount,
    base.changed_at = coalesce(%(now)s, utc_timestamp(6));

-- name: due
-- A page of the open holds that may expire now, the longest due first. Guarded ones aren't due, and listed ones never.
-- locks: none   returns: 0 … rows_max rows
SELECT
    open_hold.hold_id,
    open_hold.account_id,
    open_hold.due_at
FROM lastro.open_hold AS open_hold FORCE INDEX (open_hold_due)
WHERE
    open_hold.listed = 0 AND open_hold.due_at <= coalesce(%(now)s, utc_timestamp(6))
    AND (
        %(after_due_at)s IS NULL OR open_hold.due_at > %(after_due_at)s
        OR (open_hold.due_at = %(after_due_at)s AND open_hold.hold_id > %(after_id)s)
    )
ORDER BY open_hold.due_at, open_hold.hold_id
LIMIT %(rows_max)s;

-- name: lock_due
-- Lock the accounts of due holds, passing over those that somebody works on: they are due in the next round as well.
-- locks: the base rows, in account order   returns: 1 row for each account that could be had
SELECT
    base.account_id,
    CAST(coalesce(%(now)s, utc_timestamp(6)) AS datetime(6)) AS recorded_at
FROM json_table(%(account_ids)s, '$[*]' COLUMNS (account_id bigint PATH '$')) AS asked
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON asked.account_id = base.account_id
ORDER BY asked.account_id
FOR UPDATE SKIP LOCKED;
