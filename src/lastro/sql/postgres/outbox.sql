-- The outbox: events to publish, written beside what they tell of; what waits, and what people do about it.

-- name: emit
-- Put events into the outbox, in their order: none whose id waits there already, or was set aside.
-- locks: none that a posting under another key waits for   returns: 1 row an event that is new
INSERT INTO lastro.outbox (event_id, topic, ordering_key, payload, opened_at)
SELECT
    wanted.event_id,
    wanted.topic,
    wanted.ordering_key,
    wanted.payload::jsonb,
    coalesce(%(now)s::timestamptz, now())
FROM unnest(
    %(event_ids)s::text[], %(topics)s::text[], %(ordering_keys)s::text[], %(payloads)s::text[]
) WITH ORDINALITY AS wanted (event_id, topic, ordering_key, payload, place)
WHERE
    NOT EXISTS (
        SELECT FROM lastro.outbox_set_aside AS aside WHERE aside.event_id = wanted.event_id
    )
ORDER BY wanted.place
ON CONFLICT (event_id) DO NOTHING
RETURNING event_id;

-- name: compare
-- What waits or was set aside under the ids of events, beside what is wanted under them: in a snapshot taken after
-- the event was met.
-- locks: none   returns: 1 row an event, in their order
SELECT
    wanted.place::integer AS place,
    there.event_id IS NOT NULL AS is_there,
    there.topic,
    there.ordering_key,
    there.payload::text AS payload,
    coalesce(there.payload = wanted.payload::jsonb, false) AS same_payload
FROM unnest(
    %(event_ids)s::text[], %(payloads)s::text[]
) WITH ORDINALITY AS wanted (event_id, payload, place)
LEFT JOIN LATERAL (
    SELECT
        outbox.event_id,
        outbox.topic,
        outbox.ordering_key,
        outbox.payload
    FROM lastro.outbox AS outbox
    WHERE outbox.event_id = wanted.event_id
    UNION ALL
    SELECT
        aside.event_id,
        aside.topic,
        aside.ordering_key,
        aside.payload
    FROM lastro.outbox_set_aside AS aside
    WHERE aside.event_id = wanted.event_id
    LIMIT 1
) AS there ON true
ORDER BY wanted.place;

-- name: status
-- How much waits and for how long. Counting ends at a limit: a count says nothing of a queue that stands still.
-- locks: none   returns: 1 row
SELECT
    (
        SELECT count(*) FROM (SELECT 1 AS one FROM lastro.outbox LIMIT %(counted_max)s::bigint) AS counted
    ) AS waiting,
    (SELECT outbox.opened_at FROM lastro.outbox AS outbox ORDER BY outbox.id LIMIT 1) AS oldest_opened_at,
    (
        SELECT
            greatest(
                0, extract(EPOCH FROM coalesce(%(now)s::timestamptz, clock_timestamp()) - outbox.opened_at) * 1000
            )::bigint
        FROM lastro.outbox AS outbox
        ORDER BY outbox.id
        LIMIT 1
    ) AS age_ms,
    (
        SELECT count(*)
        FROM (SELECT 1 AS one FROM lastro.outbox_key LIMIT %(counted_max)s::bigint) AS counted
    ) AS keys_waiting,
    (
        SELECT count(*)
        FROM (SELECT 1 AS one FROM lastro.outbox_set_aside LIMIT %(counted_max)s::bigint) AS counted
    ) AS set_aside,
    (SELECT sum(lane.published) FROM lastro.outbox_lane AS lane) AS published;

-- name: targets
-- How the targets do.
-- locks: none   returns: 1 row a target
SELECT
    target.name,
    target.failures,
    target.reason,
    target.failed_at,
    target.due_at,
    target.disabled_at,
    target.acknowledged_at
FROM lastro.outbox_target AS target
ORDER BY target.name;

-- name: waiting
-- Events that wait, the oldest first, each with why its key waits where it does.
-- locks: none   returns: up to rows_max rows
SELECT
    outbox.id,
    outbox.event_id,
    outbox.topic,
    outbox.ordering_key,
    outbox.payload::text AS payload,
    outbox.opened_at,
    key.attempts,
    key.due_at,
    key.event_id AS waits_for,
    key.reason
FROM lastro.outbox AS outbox
LEFT JOIN lastro.outbox_key AS key ON outbox.ordering_key = key.ordering_key
WHERE outbox.id > %(after_id)s::bigint
ORDER BY outbox.id
LIMIT %(rows_max)s::bigint;

-- name: set_aside
-- Events that were set aside, the oldest first.
-- locks: none   returns: up to rows_max rows
SELECT
    aside.id,
    aside.event_id,
    aside.topic,
    aside.ordering_key,
    aside.payload::text AS payload,
    aside.opened_at,
    aside.attempts,
    aside.reason,
    aside.set_aside_at
FROM lastro.outbox_set_aside AS aside
WHERE aside.id > %(after_id)s::bigint
ORDER BY aside.id
LIMIT %(rows_max)s::bigint;

-- name: notes
-- What was done about events and targets, the newest first.
-- locks: none   returns: up to rows_max rows
SELECT
    note.action,
    note.about,
    note.reason,
    note.actor,
    note.recorded_at
FROM lastro.outbox_note AS note
ORDER BY note.id DESC
LIMIT %(rows_max)s::bigint;

-- name: find
-- An event that waits or was set aside: which key it belongs to.
-- locks: none   returns: 0 or 1 row
SELECT outbox.ordering_key
FROM lastro.outbox AS outbox
WHERE outbox.event_id = %(event_id)s::text
UNION ALL
SELECT aside.ordering_key
FROM lastro.outbox_set_aside AS aside
WHERE aside.event_id = %(event_id)s::text
LIMIT 1;

-- name: lock_lane
-- Keep the relays from recording anything of this key until the transaction ends.
-- locks: the row of the key's lane   returns: 1 row
SELECT lane.lane
FROM lastro.outbox_lane AS lane
WHERE lane.lane = (hashtextextended(%(ordering_key)s::text, 0) & 15)::smallint
FOR NO KEY UPDATE;

-- name: take_back
-- Put an event that was set aside into the outbox again, at its old place, to be found by its key.
-- locks: none that isn't held already   returns: 0 or 1 row
WITH taken AS (
    DELETE FROM lastro.outbox_set_aside AS aside
    WHERE aside.event_id = %(event_id)s::text
    RETURNING aside.id, aside.event_id, aside.topic, aside.ordering_key, aside.payload, aside.opened_at
)

INSERT INTO lastro.outbox (id, event_id, topic, ordering_key, payload, opened_at, parked)
SELECT
    taken.id,
    taken.event_id,
    taken.topic,
    taken.ordering_key,
    taken.payload,
    taken.opened_at,
    true
FROM taken
-- Emitted once more at the moment at which it was set aside: it waits already.
ON CONFLICT (event_id) DO UPDATE SET parked = true
RETURNING id;

-- name: try_now
-- Let a key be tried at once, from its first event on.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro.outbox_key AS key (ordering_key, lane, event_id, attempts, reason, blocked_at, due_at)
SELECT
    %(ordering_key)s::text,
    (hashtextextended(%(ordering_key)s::text, 0) & 15)::smallint,
    %(event_id)s::text,
    0,
    %(reason)s::text,
    clock_timestamp(),
    clock_timestamp()
ON CONFLICT (ordering_key) DO UPDATE SET
attempts = 0, due_at = excluded.due_at, blocked_at = excluded.blocked_at, reason = excluded.reason;

-- name: skip
-- Take an event out for good, from wherever it waits.
-- locks: none that isn't held already   returns: 0 or 1 row: the event, as it was
WITH ready AS (
    DELETE FROM lastro.outbox AS outbox
    WHERE outbox.event_id = %(event_id)s::text
    RETURNING outbox.event_id, outbox.topic, outbox.ordering_key, outbox.payload, outbox.opened_at
),

aside AS (
    DELETE FROM lastro.outbox_set_aside AS aside
    WHERE aside.event_id = %(event_id)s::text
    RETURNING aside.event_id, aside.topic, aside.ordering_key, aside.payload, aside.opened_at
)

SELECT to_jsonb(gone)::text AS event
FROM (
    SELECT
        ready.event_id,
        ready.topic,
        ready.ordering_key,
        ready.payload,
        ready.opened_at
    FROM ready
    UNION ALL
    SELECT
        aside.event_id,
        aside.topic,
        aside.ordering_key,
        aside.payload,
        aside.opened_at
    FROM aside
) AS gone;

-- name: wake_key
-- Let a key go on that waited for this event, which isn't in its way any more.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.outbox_key AS key
SET attempts = 0, due_at = clock_timestamp()
WHERE key.ordering_key = %(ordering_key)s::text AND key.event_id = %(event_id)s::text;

-- name: hurry_key
-- Let a key be tried at once that would be tried later anyway.
-- locks: none that isn't held already   returns: 0 or 1 row
UPDATE lastro.outbox_key AS key
SET due_at = clock_timestamp()
WHERE key.ordering_key = %(ordering_key)s::text AND key.due_at IS NOT NULL
RETURNING key.event_id;

-- name: enable
-- Switch a target on again.
-- locks: the target's row   returns: 0 or 1 row
UPDATE lastro.outbox_target AS target
SET disabled_at = NULL, due_at = NULL, failures = 0, reason = NULL
WHERE target.name = %(target)s::text
RETURNING target.name;

-- name: note
-- Write down what was done, by whom and why.
-- locks: none   returns: nothing
INSERT INTO lastro.outbox_note (action, about, reason, actor, event, recorded_at)
VALUES (
    %(action)s::text, %(about)s::text, %(reason)s::text, %(actor)s::text, %(event)s::jsonb,
    coalesce(%(now)s::timestamptz, now())
);
