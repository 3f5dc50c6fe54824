-- Closed periods: the moment before which nothing may have occurred that is still to be posted.

-- name: bound
-- Up to which moment the books are closed; NULL where nothing is.
-- locks: none   returns: 1 row
SELECT closed.closed_until AS until_at
FROM lastro_closed_period AS closed;

-- name: hold
-- Nobody else writes: the transaction holds the database's one write lock.
-- locks: none that isn't held already   returns: 1 row
SELECT 1 AS held;

-- name: stands
-- What is closed now, by which closing, and what time it is by the ledger's clock and by the database's own.
-- locks: none that isn't held already   returns: 1 row
SELECT
    closed.closed_until AS until_at,
    closed.closing_id,
    %(now)s AS moment_at,
    CAST((julianday('now') - 2440587.5) * 86400000000 AS integer) AS clock_at
FROM lastro_closed_period AS closed;

-- name: find
-- The closing or reopening of that key.
-- locks: none   returns: 0 or 1 row
SELECT
    closing.id,
    closing.key,
    closing.closed_until AS until_at,
    closing.reopens,
    closing.reason,
    closing.actor,
    closing.recorded_at
FROM lastro_period_closing AS closing
WHERE closing.key = %(key)s;

-- name: list
-- Closings and reopenings, the newest first: the first one is in force.
-- locks: none   returns: up to rows_max rows
SELECT
    closing.id,
    closing.key,
    closing.closed_until AS until_at,
    closing.reopens,
    closing.reason,
    closing.actor,
    closing.recorded_at
FROM lastro_period_closing AS closing
ORDER BY closing.id DESC
LIMIT %(rows_max)s;

-- name: note
-- Note a closing or a reopening.
-- locks: none that isn't held already   returns: 1 row: its id
INSERT INTO lastro_period_closing (key, closed_until, reopens, reason, actor, recorded_at)
VALUES (%(key)s, %(until)s, %(reopens)s, %(reason)s, %(actor)s, %(now)s)
RETURNING id;

-- name: move_bound
-- Let the one row say what was noted.
-- locks: the row of what is closed   returns: nothing
UPDATE lastro_closed_period
SET
    closed_until = %(until)s,
    closing_id = %(closing_id)s
WHERE only_row = 1;

-- name: compose_guard
-- Nothing to make: the trigger is there from the first day.
-- locks: none   returns: 1 row
SELECT '' AS script;

-- name: under_way
-- Transactions that may still post into the period that was closed: none, for the closing held the one write lock.
-- locks: none   returns: no row
SELECT
    '' AS "transaction",
    0 AS pid,
    '' AS application,
    0 AS age_s
WHERE 1 = 0;
