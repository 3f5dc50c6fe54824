-- Markets: opening, changing and reading them; what their bets come to; who may not bet.

-- name: open
-- Open a market; nothing where its name is taken.
-- locks: the market's name   returns: 0 or 1 row
INSERT INTO lastro.market (
    id, name, currency, state, closes_at, settle_by, stake_min, stake_max, liability_max, opened_at, changed_at
)
VALUES (
    nextval('lastro.market_id'), %(market)s::text, %(currency)s::text, 'open', %(closes_at)s::timestamptz,
    %(settle_by)s::timestamptz, %(stake_min)s::bigint, %(stake_max)s::bigint, %(liability_max)s::bigint,
    coalesce(%(now)s::timestamptz, now()), coalesce(%(now)s::timestamptz, now())
)
ON CONFLICT (name) DO NOTHING
RETURNING id;

-- name: lock
-- Queue behind whoever changes this market. Placements don't come this way.
-- locks: the market's row   returns: 0 or 1 row
SELECT
    market.id,
    market.state
FROM lastro.market AS market
WHERE market.name = %(market)s::text
FOR NO KEY UPDATE;

-- name: read
-- A market and its terms.
-- locks: none   returns: 0 or 1 row
SELECT
    market.id,
    market.name,
    market.currency,
    market.state,
    market.closes_at,
    market.settle_by,
    market.stake_min,
    market.stake_max,
    market.liability_max,
    market.opened_at,
    (
        SELECT max(result.version) FROM lastro.market_result AS result WHERE result.market_id = market.id
    ) AS result_version
FROM lastro.market AS market
WHERE market.name = %(market)s::text;

-- name: list
-- A page of markets, in the order of their names, of one state or of all.
-- locks: none   returns: 0 … rows_max rows
SELECT
    market.id,
    market.name,
    market.currency,
    market.state,
    market.closes_at,
    market.settle_by,
    market.stake_min,
    market.stake_max,
    market.liability_max,
    market.opened_at,
    (
        SELECT max(result.version) FROM lastro.market_result AS result WHERE result.market_id = market.id
    ) AS result_version
FROM lastro.market AS market
WHERE market.name > %(after)s::text AND (%(state)s::text IS NULL OR market.state = %(state)s::text)
ORDER BY market.name
LIMIT %(rows_max)s;

-- name: selections
-- The selections of markets, in the order in which they were offered.
-- locks: none   returns: 1 row a selection
SELECT
    selection.market_id,
    selection.id,
    selection.name,
    selection.odds,
    selection.state
FROM lastro.selection AS selection
WHERE selection.market_id = ANY(%(market_ids)s::bigint[])
ORDER BY selection.market_id, selection.id;

-- name: offer
-- Offer odds: selections that are new with their slices of exposure, the others at their new odds. The market's row is
-- ours.
-- locks: none that isn't held already   returns: 1 row for each selection that is new
WITH offered AS MATERIALIZED (
    SELECT
        asked.name,
        asked.odds
    FROM unnest(%(names)s::text[], %(odds)s::integer[]) AS asked (name, odds)
),

changed AS (
    UPDATE lastro.selection
    SET odds = offered.odds, state = 'open', changed_at = coalesce(%(now)s::timestamptz, now())
    FROM offered
    WHERE
        selection.market_id = %(market_id)s::bigint AND selection.name = offered.name
        AND (selection.odds <> offered.odds OR selection.state <> 'open')
),

added AS (
    INSERT INTO lastro.selection (id, market_id, name, odds, state, changed_at)
    SELECT
        nextval('lastro.selection_id'),
        %(market_id)s::bigint,
        offered.name,
        offered.odds,
        'open',
        coalesce(%(now)s::timestamptz, now())
    FROM offered
    ON CONFLICT (market_id, name) DO NOTHING
    RETURNING id
),

sliced AS (
    INSERT INTO lastro.exposure (market_id, selection_id, slice, bets, stakes, returns)
    SELECT
        %(market_id)s::bigint,
        added.id,
        slice.number,
        0,
        0,
        0
    FROM added
    CROSS JOIN generate_series(0, %(slices)s::integer - 1) AS slice (number)
)

SELECT added.id FROM added;

-- name: withdraw
-- Take no more bets on one selection. The market's row is ours.
-- locks: the selection's row   returns: 0 or 1 row
UPDATE lastro.selection
SET state = 'suspended', changed_at = coalesce(%(now)s::timestamptz, now())
WHERE selection.market_id = %(market_id)s::bigint AND selection.name = %(selection)s::text
RETURNING id;

-- name: change_state
-- Suspend, open again, close, or note as settled a market whose row is ours.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.market
SET state = %(state)s::text, changed_at = coalesce(%(now)s::timestamptz, now())
WHERE market.id = %(market_id)s::bigint;

-- name: exposure
-- What the bets on a market's selections come to: the sums of their slices.
-- locks: none   returns: 1 row a selection
SELECT
    selection.name AS selection,
    selection.odds,
    selection.state,
    sum(exposure.bets)::bigint AS bets,
    sum(exposure.stakes) AS stakes,
    sum(exposure.returns) AS returns
FROM lastro.selection AS selection
INNER JOIN lastro.exposure AS exposure
    ON selection.market_id = exposure.market_id AND selection.id = exposure.selection_id
WHERE selection.market_id = %(market_id)s::bigint
GROUP BY selection.id, selection.name, selection.odds, selection.state
ORDER BY selection.id;

-- name: bar
-- Let an account bet no more.
-- locks: the account's bar   returns: nothing
INSERT INTO lastro.barred_account (account, reason, actor, barred_at)
VALUES (%(account)s::text, %(reason)s::text, %(actor)s::text, coalesce(%(now)s::timestamptz, now()))
ON CONFLICT (account) DO NOTHING;

-- name: let_in
-- Let an account bet again.
-- locks: the account's bar   returns: 0 or 1 row
DELETE FROM lastro.barred_account
WHERE barred_account.account = %(account)s::text
RETURNING account;
