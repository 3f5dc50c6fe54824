-- Auditing bets: rules as in auditing.sql.

-- name: bet_entries
-- Rule: each settlement of a bet has the entries of its version, once: the stake and the return, of these amounts and
-- on the bet's account, and the reversals of the version before. Nothing else was posted as the sportsbook's for a bet,
-- but what somebody reversed.
-- locks: none   returns: 1 row an entry that is missing, too many or another one
WITH settled AS (
    SELECT
        settlement.bet_id,
        settlement.version,
        settlement.returned,
        settlement.is_void,
        lag(settlement.returned) OVER running AS returned_before,
        coalesce(lag(settlement.is_void) OVER running, true) AS nothing_before,
        bet.account_id,
        bet.stake
    FROM lastro.bet_settlement AS settlement
    INNER JOIN lastro.bet AS bet ON settlement.bet_id = bet.id
    WINDOW running AS (PARTITION BY settlement.bet_id ORDER BY settlement.version)
),

owed AS (
    SELECT
        format('bet:%%s:%%s:%%s', settled.bet_id, part.name, settled.version) AS key,
        settled.account_id,
        part.amount
    FROM settled
    CROSS JOIN LATERAL (
        VALUES
        ('stake', CASE WHEN NOT settled.is_void THEN -settled.stake END),
        ('return', CASE WHEN NOT settled.is_void THEN nullif(settled.returned, 0) END),
        ('stake_reversed', CASE WHEN NOT settled.nothing_before THEN settled.stake END),
        ('return_reversed', CASE WHEN NOT settled.nothing_before THEN -nullif(settled.returned_before, 0) END)
    ) AS part (name, amount)
    WHERE part.amount IS NOT NULL
),

posted AS (
    SELECT
        transfer.id,
        transfer.key,
        transfer.debit_id,
        transfer.credit_id,
        transfer.amount
    FROM lastro.transfer AS transfer
    WHERE transfer.source = 'betting' AND transfer.cause ~ '^bet:[0-9]+$'
)

SELECT
    format('entry %%s', coalesce(owed.key, posted.key)) AS subject,
    coalesce(owed.amount || ' on account ' || owed.account_id, 'none') AS expected,
    coalesce(
        posted.amount || ' from account ' || posted.debit_id || ' to ' || posted.credit_id, 'none'
    ) AS found
FROM owed
FULL JOIN posted ON owed.key = posted.key
WHERE
    (
        owed.key IS NULL
        AND posted.amount > (
            SELECT coalesce(sum(undone.amount), 0)
            FROM lastro.reversal AS undone
            WHERE undone.original_id = posted.id
        )
    )
    OR (posted.key IS NULL AND %(whole_history)s::boolean)
    OR posted.amount <> abs(owed.amount)
    OR CASE WHEN owed.amount < 0 THEN posted.debit_id ELSE posted.credit_id END <> owed.account_id
ORDER BY 1
LIMIT %(rows_max)s;

-- name: bet_versions
-- Rule: the settlements of a bet are versions 1, 2, 3 …, and each has its event, once: settled or voided the first one,
-- corrected the others.
-- locks: none   returns: 1 row a version that doesn't
WITH numbered AS (
    SELECT
        settlement.bet_id,
        settlement.version,
        row_number() OVER (PARTITION BY settlement.bet_id ORDER BY settlement.version) AS place
    FROM lastro.bet_settlement AS settlement
),

told AS (
    SELECT
        event.bet_id,
        event.version,
        count(*) AS events,
        bool_and((event.version = 1) = (event.kind <> 'corrected')) AS by_its_name
    FROM lastro.bet_event AS event
    WHERE event.kind IN ('settled', 'voided', 'corrected')
    GROUP BY event.bet_id, event.version
)

SELECT
    format(
        'settlement %%s of bet %%s', coalesce(numbered.version, told.version), coalesce(numbered.bet_id, told.bet_id)
    ) AS subject,
    coalesce('version ' || numbered.place || ' with an event', 'none') AS expected,
    format(
        'version %%s with %%s events%%s', coalesce(numbered.version::text, 'none'), coalesce(told.events, 0),
        CASE WHEN told.by_its_name THEN '' ELSE ' by their names' END
    ) AS found
FROM numbered
FULL JOIN told ON numbered.bet_id = told.bet_id AND numbered.version = told.version
WHERE
    numbered.version IS DISTINCT FROM numbered.place
    OR numbered.bet_id IS NULL
    OR told.events IS DISTINCT FROM 1
    OR NOT told.by_its_name
ORDER BY coalesce(numbered.bet_id, told.bet_id), coalesce(numbered.version, told.version)
LIMIT %(rows_max)s;

-- name: open_bets
-- Rule: a bet that is not settled has its open hold, of its stake on its account, and an open hold of the sportsbook's
-- has its bet; and each such bet is to be settled: it waits for a market, or is stuck.
-- locks: none   returns: 1 row a bet or hold without the other, or a bet that nobody would settle
WITH open AS (
    SELECT
        bet.id,
        bet.key,
        bet.account_id,
        bet.stake,
        (
            EXISTS (SELECT FROM lastro.open_bet AS open_bet WHERE open_bet.bet_id = bet.id)
            OR EXISTS (SELECT FROM lastro.stuck_bet AS stuck WHERE stuck.bet_id = bet.id)
        ) AS is_queued
    FROM lastro.bet AS bet
    WHERE NOT EXISTS (SELECT FROM lastro.bet_settlement AS settlement WHERE settlement.bet_id = bet.id)
),

held AS (
    SELECT
        hold.key,
        open_hold.account_id,
        open_hold.left_over
    FROM lastro.open_hold AS open_hold
    INNER JOIN lastro.hold AS hold ON open_hold.hold_id = hold.id
    WHERE hold.owner = 'betting'
)

SELECT
    format('bet %%s', coalesce(open.key, held.key)) AS subject,
    coalesce(open.stake || ' held on account ' || open.account_id || ', to be settled', 'no open hold') AS expected,
    coalesce(held.left_over || ' held on account ' || held.account_id, 'no open hold')
    || CASE WHEN open.is_queued THEN ', to be settled' ELSE ', not to be settled' END AS found
FROM open
FULL JOIN held ON held.key = 'bet:' || open.key
WHERE
    open.id IS NULL
    OR held.key IS NULL
    OR held.left_over <> open.stake
    OR held.account_id <> open.account_id
    OR NOT open.is_queued
ORDER BY 1
LIMIT %(rows_max)s;

-- name: exposures
-- Rule: the slices of a selection's exposure add up to the bets that have a leg on it.
-- locks: none   returns: 1 row a selection that differs
WITH placed AS (
    SELECT
        leg.market_id,
        leg.selection_id,
        count(*) AS bets,
        sum(bet.stake) AS stakes,
        sum(bet.potential_return) AS returns
    FROM lastro.bet_leg AS leg
    INNER JOIN lastro.bet AS bet ON leg.bet_id = bet.id
    GROUP BY leg.market_id, leg.selection_id
),

sliced AS (
    SELECT
        exposure.market_id,
        exposure.selection_id,
        sum(exposure.bets) AS bets,
        sum(exposure.stakes) AS stakes,
        sum(exposure.returns) AS returns
    FROM lastro.exposure AS exposure
    GROUP BY exposure.market_id, exposure.selection_id
)

SELECT
    format(
        'exposure of selection %%s of market %%s', coalesce(placed.selection_id, sliced.selection_id),
        coalesce(placed.market_id, sliced.market_id)
    ) AS subject,
    format(
        '%%s bets, stakes %%s, returns %%s', coalesce(placed.bets, 0), coalesce(placed.stakes, 0),
        coalesce(placed.returns, 0)
    ) AS expected,
    format(
        '%%s bets, stakes %%s, returns %%s', coalesce(sliced.bets, 0), coalesce(sliced.stakes, 0),
        coalesce(sliced.returns, 0)
    ) AS found
FROM placed
FULL JOIN sliced ON placed.market_id = sliced.market_id AND placed.selection_id = sliced.selection_id
WHERE
    coalesce(placed.bets, 0) <> coalesce(sliced.bets, 0)
    OR coalesce(placed.stakes, 0) <> coalesce(sliced.stakes, 0)
    OR coalesce(placed.returns, 0) <> coalesce(sliced.returns, 0)
ORDER BY coalesce(placed.market_id, sliced.market_id), coalesce(placed.selection_id, sliced.selection_id)
LIMIT %(rows_max)s;
