-- Relaying: claiming a lane of the outbox, and recording what became of its events.

-- name: target
-- Whether this target may be tried now.
-- locks: none   returns: 0 or 1 row; none for a target that never failed and never took anything
SELECT
    target.disabled_at,
    target.reason,
    coalesce(target.due_at > clock_timestamp(), false) AS pausing
FROM lastro.outbox_target AS target
WHERE target.name = %(target)s::text;

-- name: age
-- The age of the oldest event.
-- locks: none   returns: 0 or 1 row
SELECT
    greatest(0, extract(EPOCH FROM clock_timestamp() - outbox.opened_at) * 1000)::bigint AS age_ms
FROM lastro.outbox AS outbox
ORDER BY outbox.id
LIMIT 1;

-- name: claim
-- Take the lane that has waited longest of those with something to do that nobody holds. A relay that died holds its
-- lane until its lease is over.
-- locks: one lane's row, without waiting for it   returns: 0 or 1 row
WITH chosen AS MATERIALIZED (
    SELECT unheld.lane
    FROM lastro.outbox_lane AS unheld
    WHERE
        unheld.leased_until <= clock_timestamp()
        AND (
            EXISTS (SELECT 1 FROM lastro.outbox AS ready WHERE ready.lane = unheld.lane AND NOT ready.parked)
            OR EXISTS (
                SELECT 1
                FROM lastro.outbox_key AS key
                WHERE key.lane = unheld.lane AND key.due_at <= clock_timestamp()
            )
        )
    ORDER BY unheld.worked_at, unheld.lane
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
)

UPDATE lastro.outbox_lane AS lane
SET
    holder = %(holder)s::text,
    token = lane.token + 1,
    leased_until = clock_timestamp() + %(lease_ms)s::bigint * interval '1 millisecond',
    worked_at = clock_timestamp()
FROM chosen
WHERE lane.lane = chosen.lane
RETURNING lane.lane, lane.token;

-- name: hold
-- Hold a claimed lane for another lease, if it is still ours.
-- locks: the lane's row   returns: 0 or 1 row
UPDATE lastro.outbox_lane AS lane
SET leased_until = clock_timestamp() + %(lease_ms)s::bigint * interval '1 millisecond'
WHERE lane.lane = %(lane)s::smallint AND lane.token = %(token)s::bigint
RETURNING lane.lane;

-- name: give_back
-- Let another relay have the lane.
-- locks: the lane's row   returns: nothing
UPDATE lastro.outbox_lane AS lane
SET leased_until = 'epoch', holder = NULL
WHERE lane.lane = %(lane)s::smallint AND lane.token = %(token)s::bigint;

-- name: due_keys
-- The lane's keys whose wait is over.
-- locks: none   returns: up to keys_max rows
SELECT key.ordering_key
FROM lastro.outbox_key AS key
WHERE key.lane = %(lane)s::smallint AND key.due_at <= clock_timestamp()
ORDER BY key.due_at
LIMIT %(keys_max)s::bigint;

-- name: take_parked
-- The events that wait with these keys, each key's in their order.
-- locks: none   returns: up to rows_max rows
SELECT
    found.id,
    found.event_id,
    found.topic,
    found.ordering_key,
    found.payload::text AS payload,
    found.opened_at,
    clock_timestamp() AS taken_at,
    false AS waits
FROM unnest(%(ordering_keys)s::text[]) WITH ORDINALITY AS due (ordering_key, place)
CROSS JOIN LATERAL (
    SELECT
        outbox.id,
        outbox.event_id,
        outbox.topic,
        outbox.ordering_key,
        outbox.payload,
        outbox.opened_at
    FROM lastro.outbox AS outbox
    WHERE outbox.ordering_key = due.ordering_key AND outbox.parked
    ORDER BY outbox.id
    LIMIT %(rows_max)s::bigint
) AS found
ORDER BY due.place, found.id
LIMIT %(rows_max)s::bigint;

-- name: take_ready
-- The lane's next events in their order, each with whether its key waits.
-- locks: none   returns: up to rows_max rows
SELECT
    outbox.id,
    outbox.event_id,
    outbox.topic,
    outbox.ordering_key,
    outbox.payload::text AS payload,
    outbox.opened_at,
    clock_timestamp() AS taken_at,
    key.ordering_key IS NOT NULL AS waits
FROM lastro.outbox AS outbox
LEFT JOIN lastro.outbox_key AS key ON outbox.ordering_key = key.ordering_key
WHERE outbox.lane = %(lane)s::smallint AND NOT outbox.parked
ORDER BY outbox.id
LIMIT %(rows_max)s::bigint;

-- name: fence
-- Begin to record: hold the lane's row, if the lane is still ours, and count what was published.
-- locks: the lane's row   returns: 0 or 1 row
UPDATE lastro.outbox_lane AS lane
SET
    published = lane.published + %(published)s::bigint,
    leased_until = clock_timestamp() + %(lease_ms)s::bigint * interval '1 millisecond'
WHERE lane.lane = %(lane)s::smallint AND lane.token = %(token)s::bigint
RETURNING lane.lane;

-- name: publish
-- Record events as published: they have nothing left to wait for.
-- locks: none that isn't held already   returns: nothing
DELETE FROM lastro.outbox AS outbox
WHERE outbox.id = ANY(%(ids)s::bigint[]);

-- name: note_failures
-- Let the keys of events that weren't taken wait, longer each time.
-- locks: none that isn't held already   returns: 1 row a key
INSERT INTO lastro.outbox_key AS key (ordering_key, lane, event_id, attempts, reason, blocked_at, due_at)
SELECT
    failed.ordering_key,
    %(lane)s::smallint,
    failed.event_id,
    1,
    failed.reason,
    clock_timestamp(),
    clock_timestamp() + %(pause_ms)s::bigint * failed.share * interval '1 millisecond'
FROM unnest(
    %(ordering_keys)s::text[], %(event_ids)s::text[], %(reasons)s::text[], %(shares)s::double precision[]
) AS failed (ordering_key, event_id, reason, share)
ON CONFLICT (ordering_key) DO UPDATE SET
attempts = CASE key.event_id WHEN excluded.event_id THEN key.attempts + 1 ELSE 1 END,
blocked_at = CASE key.event_id WHEN excluded.event_id THEN key.blocked_at ELSE excluded.blocked_at END,
event_id = excluded.event_id,
reason = excluded.reason,
due_at = clock_timestamp() + least(
    (excluded.due_at - clock_timestamp()) * power(
        2,
        CASE key.event_id WHEN excluded.event_id THEN least(key.attempts, %(doublings_max)s::integer) ELSE 0 END
    ),
    %(pause_max_ms)s::bigint * interval '1 millisecond'
)
RETURNING key.ordering_key, key.attempts;

-- name: set_aside
-- Set aside the events that were tried often enough: those that can't ever be taken, and those beside which the target
-- has taken others meanwhile. While it takes nothing at all it is the target that fails, and no event.
-- locks: none that isn't held already   returns: 1 row an event that was set aside
WITH worn AS (
    SELECT
        key.ordering_key,
        key.event_id,
        key.attempts,
        key.reason
    FROM unnest(
        %(ordering_keys)s::text[], %(hopeless)s::boolean[]
    ) AS failed (ordering_key, hopeless)
    INNER JOIN lastro.outbox_key AS key ON failed.ordering_key = key.ordering_key
    WHERE
        key.attempts >= %(attempts_max)s::integer
        AND (
            failed.hopeless
            OR %(others_taken)s::boolean
            OR EXISTS (
                SELECT 1
                FROM lastro.outbox_target AS target
                WHERE target.name = %(target)s::text AND target.acknowledged_at > key.blocked_at
            )
        )
),

taken AS (
    DELETE FROM lastro.outbox AS outbox
    USING worn
    WHERE outbox.event_id = worn.event_id
    RETURNING
        outbox.id, outbox.event_id, outbox.topic, outbox.ordering_key, outbox.payload, outbox.opened_at,
        worn.attempts, worn.reason
),

kept AS (
    INSERT INTO lastro.outbox_set_aside (
        id, event_id, topic, ordering_key, payload, opened_at, attempts, reason, set_aside_at
    )
    SELECT
        taken.id,
        taken.event_id,
        taken.topic,
        taken.ordering_key,
        taken.payload,
        taken.opened_at,
        taken.attempts,
        taken.reason,
        now()
    FROM taken
    -- Emitted once more at the moment at which it was set aside: it stands there already, and no lane stops for it.
    ON CONFLICT (event_id) DO NOTHING
),

noted AS (
    INSERT INTO lastro.outbox_note (action, about, reason, actor, recorded_at)
    SELECT
        'set aside',
        taken.event_id,
        taken.reason,
        %(holder)s::text,
        now()
    FROM taken
)

UPDATE lastro.outbox_key AS key
SET attempts = 0, due_at = CASE WHEN %(others_go_on)s::boolean THEN clock_timestamp() END
FROM taken
WHERE key.ordering_key = taken.ordering_key
RETURNING key.event_id, key.ordering_key;

-- name: park
-- Put events aside to wait with their keys, so that relays don't come across them again and again.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.outbox AS outbox
SET parked = true
WHERE
    outbox.id = ANY(%(ids)s::bigint[])
    AND NOT outbox.parked
    AND EXISTS (SELECT 1 FROM lastro.outbox_key AS key WHERE key.ordering_key = outbox.ordering_key);

-- name: let_go
-- Forget keys that nothing waits with any more.
-- locks: none that isn't held already   returns: nothing
DELETE FROM lastro.outbox_key AS key
WHERE
    key.ordering_key = ANY(%(ordering_keys)s::text[])
    AND key.due_at <= clock_timestamp()
    AND NOT EXISTS (
        SELECT 1
        FROM lastro.outbox AS outbox
        WHERE outbox.ordering_key = key.ordering_key AND outbox.parked
    );

-- name: note_taken
-- Note that the target takes events. Written seldom: many relays share the row.
-- locks: the target's row   returns: nothing
INSERT INTO lastro.outbox_target AS target (name, acknowledged_at)
VALUES (%(target)s::text, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET
acknowledged_at = excluded.acknowledged_at, failures = 0, due_at = NULL, reason = NULL
WHERE
    target.failures > 0
    OR target.acknowledged_at IS NULL
    OR target.acknowledged_at < clock_timestamp() - %(every_ms)s::bigint * interval '1 millisecond';

-- name: note_failed
-- Note that the target took nothing of a batch; it is switched off after so many failures in a row, of which those that
-- come within a while of each other count as one. One that didn't
-- answer pauses, longer each time; one that answered doesn't: it may take what the next key has.
-- locks: the target's row   returns: 1 row
INSERT INTO lastro.outbox_target AS target (name, failures, reason, failed_at, due_at, disabled_at)
VALUES (
    %(target)s::text,
    1,
    %(reason)s::text,
    clock_timestamp(),
    CASE WHEN %(pausing)s::boolean THEN clock_timestamp() + %(pause_ms)s::bigint * interval '1 millisecond' END,
    CASE WHEN %(failures_max)s::integer <= 1 THEN clock_timestamp() END
)
ON CONFLICT (name) DO UPDATE SET
failures = target.failures
+ (
    target.failed_at IS NULL OR target.failures = 0
    OR target.failed_at <= clock_timestamp() - %(apart_ms)s::bigint * interval '1 millisecond'
)::integer,
reason = excluded.reason,
failed_at = CASE
    WHEN
        target.failures > 0
        AND target.failed_at > clock_timestamp() - %(apart_ms)s::bigint * interval '1 millisecond'
        THEN target.failed_at
    ELSE excluded.failed_at
END,
due_at = CASE
    WHEN %(pausing)s::boolean
        THEN clock_timestamp() + least(
            (excluded.due_at - clock_timestamp()) * power(2, least(target.failures, %(doublings_max)s::integer)),
            %(pause_max_ms)s::bigint * interval '1 millisecond'
        )
END,
disabled_at = CASE
    WHEN target.disabled_at IS NOT NULL THEN target.disabled_at
    WHEN target.failures + 1 >= %(failures_max)s::integer
        AND target.failed_at <= clock_timestamp() - %(apart_ms)s::bigint * interval '1 millisecond'
        THEN clock_timestamp()
END
RETURNING target.failures, target.disabled_at, target.disabled_at >= now() AS now_disabled;
