-- Placing bets: a look that locks nothing, one statement that writes the bet, and the answer kept for repetitions.

-- name: look
-- What a placement must know: the submission's stored answer, and of each leg its market, its selection and what the
-- bets on it come to. `looked_at` is the database's clock now, and not when the transaction began.
-- locks: none   returns: 1 row a leg, in the order asked
SELECT
    asked.number,
    market.id AS market_id,
    market.currency,
    market.state,
    market.closes_at,
    market.settle_by,
    market.stake_min,
    market.stake_max,
    market.liability_max,
    selection.id AS selection_id,
    selection.odds,
    selection.state AS selection_state,
    exposed.liability,
    barred.account IS NOT NULL AS is_barred,
    submission.key AS submitted,
    submission.bet_id,
    submission.refused,
    submission.message,
    submission.details,
    submission.asked,
    coalesce(%(now)s::timestamptz, clock_timestamp()) AS looked_at
FROM unnest(%(markets)s::text[], %(selections)s::text[]) WITH ORDINALITY AS asked (market, selection, number)
LEFT JOIN lastro.market AS market ON asked.market = market.name
LEFT JOIN lastro.selection AS selection ON market.id = selection.market_id AND asked.selection = selection.name
LEFT JOIN LATERAL (
    SELECT sum(exposure.returns - exposure.stakes) AS liability
    FROM lastro.exposure AS exposure
    WHERE
        market.liability_max IS NOT NULL
        AND exposure.market_id = market.id AND exposure.selection_id = selection.id
) AS exposed ON true
LEFT JOIN lastro.barred_account AS barred ON barred.account = %(account)s::text
LEFT JOIN lastro.submission AS submission ON submission.key = %(key)s::text
ORDER BY asked.number;

-- name: record
-- Write an accepted bet: the answer to its submission first, whose key decides; with it the bet, its legs, a row for
-- each market that will decide one, and a slice of each selection's exposure, in one order for all. Nothing is written,
-- and `is_free` is false, where the same submission is being placed in another transaction at this moment.
-- The wait is bounded for this transaction, unless it is bounded already.
-- locks: the submission's key (never waiting for it), a slice a leg in their order   returns: 1 row
WITH gate AS MATERIALIZED (
    SELECT
        pg_try_advisory_xact_lock(hashtextextended('lastro.submission:' || %(key)s::text, 0)) AS is_free,
        CASE current_setting('lock_timeout')
            WHEN '0' THEN set_config('lock_timeout', %(lock_timeout)s::text, true)
            ELSE 'kept'
        END AS bounded
),

answered AS (
    INSERT INTO lastro.submission (key, bet_id, asked, recorded_at)
    SELECT
        %(key)s::text,
        nextval('lastro.bet_id'),
        %(asked)s::jsonb,
        %(placed_at)s::timestamptz
    FROM gate
    WHERE gate.is_free AND gate.bounded IS NOT NULL
    ON CONFLICT (key) DO NOTHING
    RETURNING bet_id
),

placed AS (
    INSERT INTO lastro.bet (
        id, account_id, stake, potential_return, return_max, placed_at, settle_by, key, actor, metadata
    )
    SELECT
        answered.bet_id,
        %(account_id)s::bigint,
        %(stake)s::bigint,
        %(potential_return)s::bigint,
        %(return_max)s::bigint,
        %(placed_at)s::timestamptz,
        %(settle_by)s::timestamptz,
        %(key)s::text,
        %(actor)s::text,
        %(metadata)s::jsonb
    FROM answered
),

legs AS MATERIALIZED (
    SELECT
        answered.bet_id,
        leg.market_id,
        leg.selection_id,
        leg.odds,
        leg.slice,
        leg.number
    FROM answered
    CROSS JOIN unnest(
        %(market_ids)s::bigint[], %(selection_ids)s::bigint[], %(odds)s::integer[], %(slices)s::integer[]
    ) WITH ORDINALITY AS leg (market_id, selection_id, odds, slice, number)
),

described AS (
    INSERT INTO lastro.bet_leg (bet_id, number, market_id, selection_id, odds)
    SELECT
        legs.bet_id,
        legs.number,
        legs.market_id,
        legs.selection_id,
        legs.odds
    FROM legs
),

opened AS (
    INSERT INTO lastro.open_bet (market_id, bet_id)
    SELECT
        legs.market_id,
        legs.bet_id
    FROM legs
),

sliced AS MATERIALIZED (
    SELECT
        exposure.market_id,
        exposure.selection_id,
        exposure.slice
    FROM legs
    INNER JOIN lastro.exposure AS exposure
        ON
            legs.market_id = exposure.market_id AND legs.selection_id = exposure.selection_id
            AND legs.slice = exposure.slice
    ORDER BY exposure.market_id, exposure.selection_id, exposure.slice
    FOR NO KEY UPDATE OF exposure
),

exposed AS (
    UPDATE lastro.exposure
    SET
        bets = exposure.bets + 1,
        stakes = exposure.stakes + %(stake)s::bigint,
        returns = exposure.returns + %(potential_return)s::bigint
    FROM sliced
    WHERE
        exposure.market_id = sliced.market_id AND exposure.selection_id = sliced.selection_id
        AND exposure.slice = sliced.slice
)

SELECT
    gate.is_free,
    answered.bet_id
FROM gate
LEFT JOIN answered ON true;

-- name: refuse
-- Keep the refusal of a submission as its first answer; nothing where it has one.
-- locks: the submission's key   returns: 0 or 1 row
INSERT INTO lastro.submission (key, refused, message, details, asked, recorded_at)
VALUES (
    %(key)s::text, %(refused)s::text, %(message)s::text, %(details)s::jsonb, %(asked)s::jsonb,
    coalesce(%(now)s::timestamptz, clock_timestamp())
)
ON CONFLICT (key) DO NOTHING
RETURNING key;

-- name: answer
-- The first answer to a submission, in a snapshot taken after a rival's was met.
-- locks: none   returns: 0 or 1 row
SELECT
    submission.key AS submitted,
    submission.bet_id,
    submission.refused,
    submission.message,
    submission.details,
    submission.asked
FROM lastro.submission AS submission
WHERE submission.key = %(key)s::text;
