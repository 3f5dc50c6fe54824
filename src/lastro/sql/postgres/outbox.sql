-- The outbox: events that are published once what they tell is committed.

-- name: emit
-- Write events in the transaction of what they tell. One that is there already is left as it is.
-- locks: the events' ids   returns: nothing
INSERT INTO lastro.outbox (event_id, topic, ordering_key, payload, opened_at)
SELECT
    emitted.event_id,
    emitted.topic,
    emitted.ordering_key,
    emitted.payload::jsonb,
    coalesce(%(now)s::timestamptz, now())
FROM unnest(
    %(event_ids)s::text[], %(topics)s::text[], %(ordering_keys)s::text[], %(payloads)s::text[]
) AS emitted (event_id, topic, ordering_key, payload)
ORDER BY emitted.event_id
ON CONFLICT (event_id) DO NOTHING;
