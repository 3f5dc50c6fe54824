-- Results of markets as they come in, and the messages that were none.

-- name: versions
-- The result of one version, if it is there, and the newest version. The market's row is ours.
-- locks: none   returns: 1 row
SELECT
    newest.version AS newest,
    result.version,
    result.outcomes::text AS outcomes,
    result.decided_at,
    coalesce(%(now)s::timestamptz, clock_timestamp()) AS now
FROM (
    SELECT coalesce(max(said.version), 0) AS version
    FROM lastro.market_result AS said
    WHERE said.market_id = %(market_id)s::bigint
) AS newest
LEFT JOIN lastro.market_result AS result
    ON result.market_id = %(market_id)s::bigint AND result.version = %(version)s::integer;

-- name: record
-- Write a result, and the row of the queue that makes its settlement due. Where there was one before it, what was
-- settled by that is gone through from the first bet on.
-- locks: none that isn't held already   returns: nothing
WITH said AS (
    INSERT INTO lastro.market_result (market_id, version, outcomes, decided_at, recorded_at, source, actor)
    VALUES (
        %(market_id)s::bigint, %(version)s::integer, %(outcomes)s::jsonb, %(decided_at)s::timestamptz,
        %(recorded_at)s::timestamptz, %(source)s::text, %(actor)s::text
    )
)

INSERT INTO lastro.open_result (market_id, version, walked_to, opened_at)
VALUES (
    %(market_id)s::bigint, %(version)s::integer, CASE WHEN %(corrects)s::boolean THEN 0 END,
    %(recorded_at)s::timestamptz
);

-- name: bury
-- Keep a message that can't be taken as a result, with the reason; once, however often one delivery comes.
-- locks: the delivery   returns: 0 or 1 row
INSERT INTO lastro.dead_letter (topic, code, reason, message, delivery, received_at)
VALUES (
    %(topic)s::text, %(code)s::text, %(reason)s::text, decode(%(message)s::text, 'hex'), %(delivery)s::text,
    coalesce(%(now)s::timestamptz, now())
)
ON CONFLICT (delivery) DO NOTHING
RETURNING id;

-- name: dead_letters
-- A page of the messages that could not be taken as results, the newest first.
-- locks: none   returns: 0 … rows_max rows
SELECT
    letter.id,
    letter.topic,
    letter.code,
    letter.reason,
    encode(letter.message, 'hex') AS message,
    letter.received_at
FROM lastro.dead_letter AS letter
ORDER BY letter.id DESC
LIMIT %(rows_max)s;
