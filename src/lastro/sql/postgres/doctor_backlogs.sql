-- Work that waits, as ages: a count can't tell a long queue from one that stands still.

-- name: tail
-- The accounts with entries not folded in, and since when the oldest of each waits.
-- locks: none   returns: 0 … rows_max rows
WITH RECURSIVE hop AS (
    (
        SELECT tail.account_id, tail.transfer_id, 1 AS hops
        FROM lastro.tail AS tail
        ORDER BY tail.account_id, tail.transfer_id
        LIMIT 1
    )
    UNION ALL
    SELECT next.account_id, next.transfer_id, hop.hops + 1
    FROM hop
    CROSS JOIN LATERAL (
        SELECT tail.account_id, tail.transfer_id
        FROM lastro.tail AS tail
        WHERE tail.account_id > hop.account_id
        ORDER BY tail.account_id, tail.transfer_id
        LIMIT 1
    ) AS next
    WHERE hop.hops < %(rows_max)s
)

SELECT
    account.name AS account,
    account.currency,
    greatest(0, extract(EPOCH FROM clock_timestamp() - coalesce(credit.recorded_at, debit.recorded_at)))
    ::double precision AS age_s
FROM hop
INNER JOIN lastro.account AS account ON hop.account_id = account.id
LEFT JOIN lastro.transfer AS credit ON hop.account_id = credit.credit_id AND hop.transfer_id = credit.id
LEFT JOIN lastro.transfer AS debit ON hop.account_id = debit.debit_id AND hop.transfer_id = debit.id
ORDER BY age_s DESC NULLS LAST;

-- name: settlement
-- The results not settled through, market by market, the oldest first, and how many bets of each are done.
-- locks: none   returns: 0 … rows_max rows
SELECT
    market.name AS market,
    result.version,
    result.bets,
    greatest(0, extract(EPOCH FROM clock_timestamp() - result.opened_at))::double precision AS age_s
FROM (
    SELECT
        open_result.market_id,
        open_result.version,
        open_result.bets,
        open_result.opened_at
    FROM lastro.open_result AS open_result
    ORDER BY open_result.opened_at
    LIMIT %(rows_max)s
) AS result
INNER JOIN lastro.market AS market ON result.market_id = market.id
ORDER BY result.opened_at;

-- name: outbox
-- The oldest event of each topic among the scanned_max oldest events.
-- locks: none   returns: 1 row a topic
SELECT
    waiting.topic,
    count(*) AS events,
    max(greatest(0, extract(EPOCH FROM clock_timestamp() - waiting.opened_at)))::double precision AS age_s
FROM (
    SELECT outbox.topic, outbox.opened_at
    FROM lastro.outbox AS outbox
    ORDER BY outbox.id
    LIMIT %(scanned_max)s
) AS waiting
GROUP BY waiting.topic
ORDER BY age_s DESC;

-- name: holds
-- Holds past their deadline that nobody has expired, counted up to scanned_max.
-- locks: none   returns: 1 row
SELECT
    count(*) AS holds,
    coalesce(max(extract(EPOCH FROM clock_timestamp() - due.due_at)), 0)::double precision AS age_s
FROM (
    SELECT open_hold.due_at
    FROM lastro.open_hold AS open_hold
    WHERE NOT open_hold.listed AND open_hold.due_at <= now()
    ORDER BY open_hold.due_at
    LIMIT %(scanned_max)s
) AS due;

-- name: imports
-- The oldest file of each status among the scanned_max oldest that are to be merged.
-- locks: none   returns: 1 row a status
SELECT
    waiting.status,
    count(*) AS files,
    max(greatest(0, extract(EPOCH FROM clock_timestamp() - waiting.opened_at)))::double precision AS age_s
FROM (
    SELECT open_import.status, open_import.opened_at
    FROM lastro.open_import AS open_import
    ORDER BY open_import.opened_at
    LIMIT %(scanned_max)s
) AS waiting
GROUP BY waiting.status
ORDER BY age_s DESC;

-- name: incidents
-- Drift that nobody has explained, the newest first.
-- locks: none   returns: 0 … rows_max rows
SELECT
    incident.id,
    account.name AS account,
    account.currency,
    incident.rule,
    incident.expected::text AS expected,
    incident.found::text AS found,
    incident.opened_at
FROM lastro.incident AS incident
LEFT JOIN lastro.account AS account ON incident.account_id = account.id
WHERE incident.explained_at IS NULL
ORDER BY incident.id DESC
LIMIT %(rows_max)s;
