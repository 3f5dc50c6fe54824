-- Capturing a hold. An INSERT can't stand in a WITH here, so that doing it at once would be several statements all the
-- same: the locked way does it. No row says so.

-- name: capture_to_direct
-- Nothing: no row sends the plan the locked way.
-- locks: none   returns: 0 rows
SELECT
    NULL AS id,
    NULL AS occurred_at,
    NULL AS recorded_at,
    NULL AS debit_before,
    NULL AS debit_after,
    NULL AS credit_before,
    NULL AS credit_after,
    NULL AS amount,
    NULL AS given_back,
    NULL AS left_over,
    NULL AS captured,
    NULL AS released,
    NULL AS guard_ends_at
FROM dual
WHERE 1 = 0;

-- name: capture_to_unlocked
-- Nothing: no row sends the plan the locked way.
-- locks: none   returns: 0 rows
SELECT
    NULL AS id,
    NULL AS occurred_at,
    NULL AS recorded_at,
    NULL AS debit_before,
    NULL AS debit_after,
    NULL AS credit_before,
    NULL AS credit_after,
    NULL AS amount,
    NULL AS given_back,
    NULL AS left_over,
    NULL AS captured,
    NULL AS released,
    NULL AS guard_ends_at
FROM dual
WHERE 1 = 0;
