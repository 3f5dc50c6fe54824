-- Work that waits, as ages: a count can't tell a long queue from one that stands still.
-- noqa: disable=PRS

-- name: tail
-- The accounts with entries not folded in, and since when the oldest of each waits.
-- locks: none   returns: 0 … rows_max rows
/*M! SET STATEMENT max_statement_time = 0.5 FOR */ SELECT /*+ MAX_EXECUTION_TIME(500) */
    account.name AS account,
    account.currency,
    greatest(
        0, timestampdiff(MICROSECOND, coalesce(credit.recorded_at, debit.recorded_at), utc_timestamp(6))
    ) / 1e6 AS age_s
FROM (
    SELECT tail.account_id, min(tail.transfer_id) AS transfer_id
    FROM lastro.tail AS tail
    GROUP BY tail.account_id
    LIMIT %(rows_max)s
) AS oldest
INNER JOIN lastro.account AS account ON oldest.account_id = account.id
LEFT JOIN lastro.transfer AS credit ON oldest.account_id = credit.credit_id AND oldest.transfer_id = credit.id
LEFT JOIN lastro.transfer AS debit ON oldest.account_id = debit.debit_id AND oldest.transfer_id = debit.id
ORDER BY age_s DESC;

-- name: settlement
-- The results not settled through.
-- locks: none   returns: nothing
-- refused: the sportsbook needs PostgreSQL

-- name: outbox
-- The oldest event of each topic.
-- locks: none   returns: nothing
-- refused: relays claim with SKIP LOCKED inside one statement; an outbox needs PostgreSQL

-- name: holds
-- Holds past their deadline that nobody has expired, counted up to scanned_max.
-- locks: none   returns: 1 row
/*M! SET STATEMENT max_statement_time = 0.5 FOR */ SELECT /*+ MAX_EXECUTION_TIME(500) */
    count(*) AS holds,
    coalesce(max(timestampdiff(MICROSECOND, due.due_at, utc_timestamp(6))), 0) / 1e6 AS age_s
FROM (
    SELECT open_hold.due_at
    FROM lastro.open_hold AS open_hold
    WHERE open_hold.listed = 0 AND open_hold.due_at <= utc_timestamp(6)
    ORDER BY open_hold.due_at
    LIMIT %(scanned_max)s
) AS due;

-- name: imports
-- The oldest file that is to be merged.
-- locks: none   returns: nothing
-- refused: merging spreadsheets needs PostgreSQL

-- name: incidents
-- Drift that nobody has explained, the newest first.
-- locks: none   returns: 0 … rows_max rows
/*M! SET STATEMENT max_statement_time = 0.5 FOR */ SELECT /*+ MAX_EXECUTION_TIME(500) */
    incident.id,
    account.name AS account,
    account.currency,
    incident.rule,
    CAST(incident.expected AS char) AS expected,
    CAST(incident.found AS char) AS found,
    incident.opened_at
FROM lastro.incident AS incident
LEFT JOIN lastro.account AS account ON incident.account_id = account.id
WHERE incident.explained_at IS NULL
ORDER BY incident.id DESC
LIMIT %(rows_max)s;
