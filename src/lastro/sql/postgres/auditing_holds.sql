-- Auditing holds: rules as in auditing.sql.

-- name: held
-- Rule: what an account holds is the sum of what is left of its open holds.
-- locks: none   returns: 1 row an account that differs
SELECT
    format('held on %%s %%s', account.name, account.currency) AS subject,
    coalesce(sums.amount, 0)::text AS expected,
    base.held::text AS found
FROM lastro.base AS base
INNER JOIN lastro.account AS account ON base.account_id = account.id
LEFT JOIN (
    SELECT
        open_hold.account_id,
        sum(open_hold.left_over) AS amount
    FROM lastro.open_hold AS open_hold
    GROUP BY open_hold.account_id
) AS sums ON base.account_id = sums.account_id
WHERE base.held <> coalesce(sums.amount, 0)
ORDER BY account.name, account.currency
LIMIT %(rows_max)s;

-- name: holds
-- Rule: what was captured, released and expired of a hold and what is left of it add up to it, and the row of an open
-- hold says what its events say. More is captured than taken only where the hold allows it.
-- locks: none   returns: 1 row a hold that doesn't
WITH noted AS (
    SELECT
        event.hold_id,
        count(*) AS events,
        sum(event.taken) AS taken,
        sum(CASE event.kind WHEN 'captured' THEN event.amount ELSE 0 END) AS captured,
        sum(CASE event.kind WHEN 'released' THEN event.amount ELSE 0 END) AS released
    FROM lastro.hold_event AS event
    GROUP BY event.hold_id
),

named AS (
    SELECT hold.id AS hold_id FROM lastro.hold AS hold
    UNION
    SELECT open_hold.hold_id FROM lastro.open_hold AS open_hold
    UNION
    SELECT noted.hold_id FROM noted
)

SELECT
    format('hold %%s', coalesce(hold.key, named.hold_id::text)) AS subject,
    format(
        '%%s in all, %%s',
        hold.amount, CASE WHEN coalesce(noted.taken, 0) < hold.amount THEN 'open' ELSE 'ended' END
    ) AS expected,
    format(
        '%%s taken by %%s events, %%s left, %%s captured', coalesce(noted.taken, 0), coalesce(noted.events, 0),
        coalesce(open_hold.left_over, 0), coalesce(noted.captured, 0)
    ) AS found
FROM named
LEFT JOIN lastro.hold AS hold ON named.hold_id = hold.id
LEFT JOIN noted ON named.hold_id = noted.hold_id
LEFT JOIN lastro.open_hold AS open_hold ON named.hold_id = open_hold.hold_id
WHERE
    hold.id IS NULL
    OR hold.amount <> coalesce(noted.taken, 0) + coalesce(open_hold.left_over, 0)
    OR coalesce(noted.captured, 0) > coalesce(hold.capture_max, hold.amount)
    OR (
        open_hold.hold_id IS NOT NULL
        AND (
            open_hold.account_id <> hold.account_id OR open_hold.listed <> hold.listed
            OR open_hold.events <> coalesce(noted.events, 0)
            OR open_hold.captured <> coalesce(noted.captured, 0)
            OR open_hold.released <> coalesce(noted.released, 0)
        )
    )
ORDER BY named.hold_id
LIMIT %(rows_max)s;

-- name: hold_events
-- Rule: the events of a hold stand end to end, numbered from one, and each capture has its transfer: that amount, out
-- of the hold's account.
-- locks: none   returns: 1 row an event that doesn't
WITH running AS (
    SELECT
        event.hold_id,
        event.number,
        event.kind,
        event.amount,
        event.left_before,
        event.transfer_id,
        hold.key,
        hold.account_id,
        row_number() OVER (PARTITION BY event.hold_id ORDER BY event.number) AS place,
        hold.amount - coalesce(
            sum(event.taken) OVER (
                PARTITION BY event.hold_id ORDER BY event.number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0
        ) AS should_be_left
    FROM lastro.hold_event AS event
    INNER JOIN lastro.hold AS hold ON event.hold_id = hold.id
)

SELECT
    format('event %%s of hold %%s', running.number, running.key) AS subject,
    format('number %%s after %%s left', running.place, running.should_be_left) AS expected,
    format(
        'number %%s after %%s left, %%s %%s by a transfer of %%s', running.number, running.left_before, running.kind,
        running.amount, coalesce(transfer.amount::text, 'nothing')
    ) AS found
FROM running
LEFT JOIN lastro.transfer AS transfer
    ON running.account_id = transfer.debit_id AND running.transfer_id = transfer.id
WHERE
    running.number <> running.place
    OR running.left_before <> running.should_be_left
    OR (
        running.kind = 'captured'
        AND ((transfer.id IS NULL AND %(whole_history)s::boolean) OR transfer.amount <> running.amount)
    )
ORDER BY running.hold_id, running.number
LIMIT %(rows_max)s;
