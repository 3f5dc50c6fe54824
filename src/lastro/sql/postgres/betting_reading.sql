-- Reading bets: one by its key, the open ones, the overdue and the stuck, and what became of them.

-- name: find
-- A bet and how it stands, in one snapshot.
-- locks: none   returns: 0 or 1 row
SELECT
    standing.key,
    standing.account,
    standing.currency,
    standing.stake,
    standing.potential_return,
    standing.state,
    standing.version,
    standing.returned,
    standing.outcomes,
    standing.placed_at,
    standing.settle_by,
    standing.settled_at,
    standing.actor,
    standing.metadata::text AS metadata,
    standing.bet_id
FROM lastro.submission AS submission
INNER JOIN lastro.bet_standing AS standing ON submission.bet_id = standing.bet_id
WHERE submission.key = %(key)s::text;

-- name: legs
-- The legs of bets.
-- locks: none   returns: 1 row a leg, in their order
SELECT
    leg.bet_id,
    leg.number,
    market.name AS market,
    selection.name AS selection,
    leg.odds
FROM lastro.bet_leg AS leg
INNER JOIN lastro.market AS market ON leg.market_id = market.id
INNER JOIN lastro.selection AS selection ON leg.selection_id = selection.id
WHERE leg.bet_id = ANY(%(bet_ids)s::bigint[])
ORDER BY leg.bet_id, leg.number;

-- name: open_of_account
-- A page of an account's bets whose stake is still set aside, in the order of placing.
-- locks: none   returns: 0 … rows_max rows
SELECT
    standing.key,
    standing.account,
    standing.currency,
    standing.stake,
    standing.potential_return,
    standing.state,
    standing.version,
    standing.returned,
    standing.outcomes,
    standing.placed_at,
    standing.settle_by,
    standing.settled_at,
    standing.actor,
    standing.metadata::text AS metadata,
    standing.bet_id
FROM lastro.account AS account
INNER JOIN lastro.open_hold AS open_hold ON account.id = open_hold.account_id
INNER JOIN lastro.hold AS hold ON open_hold.hold_id = hold.id AND hold.owner = 'betting'
INNER JOIN lastro.submission AS submission ON hold.key = 'bet:' || submission.key
INNER JOIN lastro.bet_standing AS standing ON submission.bet_id = standing.bet_id
WHERE
    account.name = %(account)s::text AND account.currency = %(currency)s::text
    AND standing.bet_id > %(after_id)s::bigint
ORDER BY standing.bet_id
LIMIT %(rows_max)s;

-- name: open_of_market
-- A page of the bets that wait for a market's result, in the order of placing.
-- locks: none   returns: 0 … rows_max rows
SELECT
    standing.key,
    standing.account,
    standing.currency,
    standing.stake,
    standing.potential_return,
    standing.state,
    standing.version,
    standing.returned,
    standing.outcomes,
    standing.placed_at,
    standing.settle_by,
    standing.settled_at,
    standing.actor,
    standing.metadata::text AS metadata,
    standing.bet_id
FROM lastro.open_bet AS open_bet
INNER JOIN lastro.bet_standing AS standing ON open_bet.bet_id = standing.bet_id
WHERE open_bet.market_id = %(market_id)s::bigint AND open_bet.bet_id > %(after_id)s::bigint
ORDER BY open_bet.bet_id
LIMIT %(rows_max)s;

-- name: overdue
-- A page of the bets past their deadline whose stake is still set aside, the longest overdue first.
-- locks: none   returns: 0 … rows_max rows
SELECT
    standing.key,
    standing.account,
    standing.currency,
    standing.stake,
    standing.potential_return,
    standing.state,
    standing.version,
    standing.returned,
    standing.outcomes,
    standing.placed_at,
    standing.settle_by,
    standing.settled_at,
    standing.actor,
    standing.metadata::text AS metadata,
    standing.bet_id
FROM lastro.open_hold AS open_hold
INNER JOIN lastro.hold AS hold ON open_hold.hold_id = hold.id AND hold.owner = 'betting'
INNER JOIN lastro.submission AS submission ON hold.key = 'bet:' || submission.key
INNER JOIN lastro.bet_standing AS standing ON submission.bet_id = standing.bet_id
WHERE open_hold.listed AND open_hold.due_at <= coalesce(%(now)s::timestamptz, now())
ORDER BY open_hold.due_at, open_hold.hold_id
LIMIT %(rows_max)s;

-- name: stuck
-- A page of the bets that could not be settled, each with its reason, the longest stuck first.
-- locks: none   returns: 0 … rows_max rows
SELECT
    bet.key,
    market.name AS market,
    stuck.code,
    stuck.message,
    stuck.opened_at
FROM lastro.stuck_bet AS stuck
INNER JOIN lastro.bet AS bet ON stuck.bet_id = bet.id
INNER JOIN lastro.market AS market ON stuck.market_id = market.id
ORDER BY stuck.opened_at, stuck.bet_id
LIMIT %(rows_max)s;

-- name: events
-- What became of a bet, in its order.
-- locks: none   returns: 1 row an event
SELECT
    event.number,
    event.kind,
    event.version,
    event.shortfall,
    event.reason,
    event.recorded_at
FROM lastro.bet_event AS event
WHERE event.bet_id = %(bet_id)s::bigint
ORDER BY event.number;

-- name: backlog
-- What is still to be settled: the results, and since when the oldest of them waits.
-- locks: none   returns: 1 row
SELECT
    count(*) AS results,
    min(open_result.opened_at) AS oldest_at,
    coalesce(%(now)s::timestamptz, now()) AS now
FROM lastro.open_result AS open_result;
