-- Finding, listing and guarding holds.

-- name: identify
-- What a key set aside: what never changes of a hold, read before its account is locked.
-- locks: none   returns: 0 or 1 row
SELECT
    hold.id AS hold_id,
    hold.account_id,
    hold.`key`,
    account.name AS account,
    account.currency,
    hold.amount,
    hold.owner,
    hold.group_name,
    hold.capture_max,
    hold.listed,
    hold.placed_at,
    hold.expires_at,
    hold.cause,
    hold.source,
    hold.actor,
    CAST(hold.metadata AS binary) AS metadata
FROM lastro.hold AS hold FORCE INDEX (hold_key_once)
STRAIGHT_JOIN lastro.account AS account FORCE INDEX (primary) ON hold.account_id = account.id
WHERE hold.`key` = %(key)s /* current */;

-- name: find
-- A hold and how it stands. In a caller's transaction it reads with locks, as the caller's snapshot may be older; what
-- it reads changes only under its account's base row.
-- locks: none, or in a caller's transaction the hold and its events   returns: 0 or 1 row
SELECT
    hold.`key`,
    account.name AS account,
    account.currency,
    hold.amount,
    coalesce((
        SELECT sum(event.amount) FROM lastro.hold_event AS event FORCE INDEX (primary)
        WHERE event.hold_id = hold.id AND event.kind = 'captured' /* current */
    ), 0) AS captured,
    coalesce((
        SELECT sum(event.amount) FROM lastro.hold_event AS event FORCE INDEX (primary)
        WHERE event.hold_id = hold.id AND event.kind = 'released' /* current */
    ), 0) AS released,
    coalesce((
        SELECT sum(event.amount) FROM lastro.hold_event AS event FORCE INDEX (primary)
        WHERE event.hold_id = hold.id AND event.kind = 'expired' /* current */
    ), 0) AS expired,
    coalesce(open_hold.left_over, 0) AS left_over,
    CASE
        WHEN open_hold.hold_id IS NOT NULL THEN 'open'
        WHEN EXISTS (
            SELECT 1 FROM lastro.hold_event AS event FORCE INDEX (primary)
            WHERE event.hold_id = hold.id AND event.kind = 'expired' /* current */
        ) THEN 'expired'
        WHEN EXISTS (
            SELECT 1 FROM lastro.hold_event AS event FORCE INDEX (primary)
            WHERE event.hold_id = hold.id AND event.kind = 'captured' /* current */
        ) THEN 'captured'
        ELSE 'released'
    END AS state,
    hold.owner,
    hold.group_name,
    hold.capture_max,
    hold.listed,
    hold.placed_at,
    hold.expires_at,
    open_hold.guard_ends_at,
    (
        SELECT max(event.recorded_at) FROM lastro.hold_event AS event FORCE INDEX (primary)
        WHERE event.hold_id = hold.id AND event.left_after = 0 /* current */
    ) AS ended_at,
    hold.cause,
    hold.source,
    hold.actor,
    CAST(hold.metadata AS binary) AS metadata,
    hold.id AS hold_id
FROM lastro.hold AS hold FORCE INDEX (hold_key_once)
STRAIGHT_JOIN lastro.account AS account FORCE INDEX (primary) ON hold.account_id = account.id
LEFT JOIN lastro.open_hold AS open_hold FORCE INDEX (primary) ON hold.id = open_hold.hold_id
WHERE hold.`key` = %(key)s /* current */;

-- name: list
-- A page of an account's open holds, in the order of placing.
-- locks: none   returns: 0 … rows_max rows
SELECT
    standing.`key`,
    standing.account,
    standing.currency,
    standing.amount,
    standing.captured,
    standing.released,
    standing.expired,
    standing.left_over,
    standing.state,
    standing.owner,
    standing.group_name,
    standing.capture_max,
    standing.listed,
    standing.placed_at,
    standing.expires_at,
    standing.guard_ends_at,
    standing.ended_at,
    standing.cause,
    standing.source,
    standing.actor,
    CAST(standing.metadata AS binary) AS metadata,
    standing.hold_id
FROM (
    SELECT open_hold.hold_id
    FROM lastro.open_hold AS open_hold
    WHERE
        open_hold.account_id = (
            SELECT account.id FROM lastro.account AS account
            WHERE account.name = %(name)s AND account.currency = %(currency)s
        )
        AND open_hold.hold_id > coalesce(
            (SELECT earlier.id FROM lastro.hold AS earlier WHERE earlier.`key` = %(after)s), 0
        )
    ORDER BY open_hold.hold_id
    LIMIT %(rows_max)s
) AS page
INNER JOIN lastro.hold_standing AS standing ON page.hold_id = standing.hold_id
ORDER BY page.hold_id;

-- name: overdue
-- A page of the open holds past their deadline that stand in their owner's list: the longest overdue first.
-- locks: none   returns: 0 … rows_max rows
SELECT
    standing.`key`,
    standing.account,
    standing.currency,
    standing.amount,
    standing.captured,
    standing.released,
    standing.expired,
    standing.left_over,
    standing.state,
    standing.owner,
    standing.group_name,
    standing.capture_max,
    standing.listed,
    standing.placed_at,
    standing.expires_at,
    standing.guard_ends_at,
    standing.ended_at,
    standing.cause,
    standing.source,
    standing.actor,
    CAST(standing.metadata AS binary) AS metadata,
    standing.hold_id
FROM (
    SELECT
        open_hold.hold_id,
        open_hold.due_at
    FROM lastro.open_hold AS open_hold
    INNER JOIN lastro.hold AS hold ON open_hold.hold_id = hold.id
    WHERE
        open_hold.listed AND open_hold.due_at <= coalesce(%(now)s, utc_timestamp(6))
        AND (%(owner)s IS NULL OR hold.owner = %(owner)s)
        AND (open_hold.due_at, open_hold.hold_id) > (
            coalesce(
                (SELECT earlier.expires_at FROM lastro.hold AS earlier WHERE earlier.`key` = %(after)s),
                CAST('1000-01-01' AS datetime(6))
            ),
            coalesce((SELECT earlier.id FROM lastro.hold AS earlier WHERE earlier.`key` = %(after)s), 0)
        )
    ORDER BY open_hold.due_at, open_hold.hold_id
    LIMIT %(rows_max)s
) AS page
INNER JOIN lastro.hold_standing AS standing ON page.hold_id = standing.hold_id
ORDER BY page.due_at, page.hold_id;

-- name: group
-- The holds of a group, in the order of placing: what never changes of them.
-- locks: none   returns: 0 … rows_max rows
SELECT
    hold.id AS hold_id,
    hold.account_id,
    hold.`key`,
    account.name AS account,
    account.currency,
    hold.amount,
    hold.owner,
    hold.group_name,
    hold.capture_max,
    hold.listed,
    hold.placed_at,
    hold.expires_at,
    hold.cause,
    hold.source,
    hold.actor,
    CAST(hold.metadata AS binary) AS metadata
FROM lastro.hold AS hold FORCE INDEX (hold_group)
STRAIGHT_JOIN lastro.account AS account FORCE INDEX (primary) ON hold.account_id = account.id
WHERE hold.group_name = %(group_name)s
ORDER BY hold.id
LIMIT %(rows_max)s
/* current */;

-- name: events
-- What became of a hold, in its order. A capture's key is that of its transfer, where its partition is still there.
-- locks: none   returns: 1 row an event
SELECT
    event.number,
    event.kind,
    event.amount,
    event.left_after,
    event.transfer_id,
    coalesce(event.`key`, CASE event.kind WHEN 'captured' THEN transfer.`key` END) AS `key`,
    event.recorded_at,
    event.cause,
    event.source,
    event.actor
FROM lastro.hold_event AS event FORCE INDEX (primary)
STRAIGHT_JOIN lastro.hold AS hold FORCE INDEX (primary) ON event.hold_id = hold.id
LEFT JOIN lastro.transfer AS transfer FORCE INDEX (primary)
    ON hold.account_id = transfer.debit_id AND event.transfer_id = transfer.id
WHERE event.hold_id = %(hold_id)s
ORDER BY event.number
/* current */;

-- name: find_release
-- The release that holds this key.
-- locks: none   returns: 0 or 1 row
SELECT
    hold.`key` AS hold_key,
    hold.group_name,
    event.amount,
    event.cause,
    event.source
FROM lastro.hold_event AS event FORCE INDEX (hold_event_key_once)
STRAIGHT_JOIN lastro.hold AS hold FORCE INDEX (primary) ON event.hold_id = hold.id
WHERE event.`key` = %(key)s /* current */;

-- name: open
-- What is left of these holds, where they are still open. Their accounts' base rows are ours.
-- locks: the rows of open_hold, in the order of the holds   returns: 1 row an open hold
SELECT
    open_hold.hold_id,
    open_hold.account_id,
    open_hold.left_over,
    open_hold.captured,
    open_hold.released,
    open_hold.events,
    open_hold.listed,
    open_hold.due_at,
    open_hold.guard_ends_at
FROM json_table(%(hold_ids)s, '$[*]' COLUMNS (hold_id bigint PATH '$')) AS asked
STRAIGHT_JOIN lastro.open_hold AS open_hold FORCE INDEX (primary) ON asked.hold_id = open_hold.hold_id
ORDER BY asked.hold_id
FOR UPDATE;

-- name: guard
-- Let the expirer come no earlier than a moment, or, without one, at the deadline.
-- locks: none that isn't held already   returns: 1 row
UPDATE lastro.open_hold
SET
    guard_ends_at = %(until)s,
    due_at = greatest(
        (SELECT hold.expires_at FROM lastro.hold AS hold WHERE hold.id = open_hold.hold_id),
        coalesce(%(until)s, CAST('1000-01-01' AS datetime(6)))
    )
WHERE hold_id = %(hold_id)s;
SELECT open_hold.due_at
FROM lastro.open_hold AS open_hold
WHERE open_hold.hold_id = %(hold_id)s;
