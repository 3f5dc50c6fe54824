-- Settling: what is due, one batch of it in a transaction, and the bets that nobody settled in time.

-- name: due
-- The markets with results to settle, the longest waiting first.
-- locks: none   returns: 0 … rows_max rows
SELECT open_result.market_id
FROM lastro.open_result AS open_result
WHERE open_result.market_id <> ALL(%(seen_ids)s::bigint[])
GROUP BY open_result.market_id
ORDER BY min(open_result.opened_at), open_result.market_id
LIMIT %(rows_max)s;

-- name: queue_late
-- Queue the markets again that have a result and bets that it didn't reach: committed late, or tried again.
-- The markets with open bets are found by jumps through the index, not by reading every bet.
-- locks: the rows of the queue   returns: 1 row a market
WITH RECURSIVE jump (market_id) AS (
    (
        SELECT open_bet.market_id
        FROM lastro.open_bet AS open_bet
        ORDER BY open_bet.market_id
        LIMIT 1
    )
    UNION ALL
    SELECT following.market_id
    FROM jump
    CROSS JOIN LATERAL (
        SELECT open_bet.market_id
        FROM lastro.open_bet AS open_bet
        WHERE open_bet.market_id > jump.market_id
        ORDER BY open_bet.market_id
        LIMIT 1
    ) AS following
)

INSERT INTO lastro.open_result (market_id, version, walked_to, opened_at)
SELECT
    jump.market_id,
    newest.version,
    NULL,
    coalesce(%(now)s::timestamptz, now())
FROM jump
CROSS JOIN LATERAL (
    SELECT result.version
    FROM lastro.market_result AS result
    WHERE result.market_id = jump.market_id
    ORDER BY result.version DESC
    LIMIT 1
) AS newest
WHERE NOT EXISTS (
    SELECT FROM lastro.open_result AS queued WHERE queued.market_id = jump.market_id
)
ORDER BY jump.market_id
ON CONFLICT (market_id, version) DO NOTHING
RETURNING market_id;

-- name: claim
-- Take a market's oldest result, unless somebody has it in hand: one settler a market at a time, versions in order.
-- locks: the row of the queue, waiting for nobody   returns: 0 or 1 row
SELECT
    open_result.market_id,
    open_result.version,
    open_result.walked_to,
    open_result.opened_at
FROM lastro.open_result AS open_result
WHERE
    open_result.market_id = %(market_id)s::bigint
    AND NOT EXISTS (
        SELECT FROM lastro.open_result AS older
        WHERE older.market_id = open_result.market_id AND older.version < open_result.version
    )
FOR NO KEY UPDATE SKIP LOCKED;

-- name: open_bets
-- The next bets of a market that its result has not reached.
-- locks: none   returns: 0 … rows_max rows
SELECT open_bet.bet_id
FROM lastro.open_bet AS open_bet
WHERE open_bet.market_id = %(market_id)s::bigint
ORDER BY open_bet.bet_id
LIMIT %(rows_max)s;

-- name: settled_bets
-- The next bets of a market that a correction has to look at, without those that it couldn't correct.
-- locks: none   returns: 0 … rows_max rows
SELECT leg.bet_id
FROM lastro.bet_leg AS leg
WHERE
    leg.market_id = %(market_id)s::bigint AND leg.bet_id > %(walked_to)s::bigint
    AND NOT EXISTS (
        SELECT FROM lastro.stuck_bet AS stuck WHERE stuck.bet_id = leg.bet_id AND stuck.market_id = leg.market_id
    )
ORDER BY leg.bet_id
LIMIT %(rows_max)s;

-- name: lock_bets
-- Queue behind the settlers of other markets that these bets have legs in. What they know of results is read by
-- following statements only.
-- locks: the bets' rows, in the order of their ids   returns: 1 row a bet
SELECT bet.id
FROM lastro.bet AS bet
WHERE bet.id = ANY(%(bet_ids)s::bigint[])
ORDER BY bet.id
FOR NO KEY UPDATE;

-- name: read_bets
-- The bets of a batch whose rows we hold: their legs, how they were settled last, and their hold.
-- locks: none   returns: 1 row a leg, in order
SELECT
    bet.id AS bet_id,
    bet.key,
    bet.stake,
    bet.return_max,
    bet.placed_at,
    bet.account_id,
    account.name AS account,
    account.currency,
    leg.market_id,
    leg.selection_id,
    leg.odds,
    open_bet.bet_id IS NOT NULL AS is_open,
    settlement.version,
    settlement.returned,
    settlement.is_void,
    settlement.outcomes,
    hold.id AS hold_id,
    voided.reason AS void_reason
FROM unnest(%(bet_ids)s::bigint[]) AS asked (bet_id)
INNER JOIN lastro.bet AS bet ON asked.bet_id = bet.id
INNER JOIN lastro.account AS account ON bet.account_id = account.id
INNER JOIN lastro.bet_leg AS leg ON bet.id = leg.bet_id
LEFT JOIN lastro.open_bet AS open_bet ON open_bet.market_id = %(market_id)s::bigint AND bet.id = open_bet.bet_id
LEFT JOIN lastro.voided_bet AS voided ON bet.id = voided.bet_id
LEFT JOIN LATERAL (
    SELECT
        newest.version,
        newest.returned,
        newest.is_void,
        newest.outcomes
    FROM lastro.bet_settlement AS newest
    WHERE newest.bet_id = bet.id
    ORDER BY newest.version DESC
    LIMIT 1
) AS settlement ON true
LEFT JOIN LATERAL (
    SELECT placed.id
    FROM lastro.hold AS placed
    WHERE placed.key = 'bet:' || bet.key
    LIMIT 1
) AS hold ON true
ORDER BY bet.id, leg.number;

-- name: results
-- The newest results of markets, in a snapshot taken after the bets were locked.
-- locks: none   returns: 1 row for each market that has one
SELECT
    newest.market_id,
    newest.version,
    newest.outcomes::text AS outcomes,
    newest.decided_at
FROM unnest(%(market_ids)s::bigint[]) AS asked (market_id)
CROSS JOIN LATERAL (
    SELECT
        result.market_id,
        result.version,
        result.outcomes,
        result.decided_at
    FROM lastro.market_result AS result
    WHERE result.market_id = asked.market_id
    ORDER BY result.version DESC
    LIMIT 1
) AS newest;

-- name: write
-- Note how bets were settled, and take the rows away that say they are to be: of a bet that is settled all of them, of
-- one that still waits for other markets this market's.
-- locks: none that isn't held already   returns: 1 row a settlement
WITH settled AS MATERIALIZED (
    SELECT
        given.bet_id,
        given.version,
        given.returned,
        given.is_void,
        given.outcomes,
        given.kind,
        given.reason
    FROM unnest(
        %(bet_ids)s::bigint[], %(versions)s::integer[], %(returneds)s::bigint[], %(voids)s::boolean[],
        %(outcomes)s::text[], %(kinds)s::text[], %(reasons)s::text[]
    ) AS given (bet_id, version, returned, is_void, outcomes, kind, reason)
),

noted AS (
    INSERT INTO lastro.bet_event (bet_id, number, kind, version, reason, recorded_at)
    SELECT
        settled.bet_id,
        1 + coalesce((SELECT max(event.number) FROM lastro.bet_event AS event WHERE event.bet_id = settled.bet_id), 0),
        settled.kind,
        settled.version,
        settled.reason,
        coalesce(%(now)s::timestamptz, now())
    FROM settled
    WHERE settled.kind <> 'corrected'
),

reached AS (
    DELETE FROM lastro.open_bet
    WHERE
        (open_bet.market_id, open_bet.bet_id) IN (
            SELECT
                given.market_id,
                given.bet_id
            FROM unnest(%(reached_markets)s::bigint[], %(reached_bets)s::bigint[]) AS given (market_id, bet_id)
        )
),

loose AS (
    DELETE FROM lastro.stuck_bet
    USING settled
    WHERE stuck_bet.bet_id = settled.bet_id
)

INSERT INTO lastro.bet_settlement (bet_id, version, returned, is_void, outcomes, recorded_at)
SELECT
    settled.bet_id,
    settled.version,
    settled.returned,
    settled.is_void,
    settled.outcomes,
    coalesce(%(now)s::timestamptz, now())
FROM settled
RETURNING bet_id;

-- name: note_corrected
-- Note corrections, and how far below its floor each one's account is by now.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro.bet_event (bet_id, number, kind, version, shortfall, reason, recorded_at)
SELECT
    given.bet_id,
    1 + coalesce((SELECT max(event.number) FROM lastro.bet_event AS event WHERE event.bet_id = given.bet_id), 0),
    'corrected',
    given.version,
    given.shortfall,
    given.reason,
    coalesce(%(now)s::timestamptz, now())
FROM unnest(
    %(bet_ids)s::bigint[], %(versions)s::integer[], %(shortfalls)s::bigint[], %(reasons)s::text[]
) AS given (bet_id, version, shortfall, reason);

-- name: note_reversals
-- Note which transfers the reversals of a correction undo, each whole; nothing for one that somebody else has undone.
-- locks: the reversals' parts   returns: 1 row a reversal noted
INSERT INTO lastro.reversal (original_id, already, amount, original_amount, transfer_id)
SELECT
    given.original_id,
    0,
    given.amount,
    given.amount,
    given.transfer_id
FROM unnest(
    %(original_ids)s::bigint[], %(amounts)s::bigint[], %(transfer_ids)s::bigint[]
) AS given (original_id, amount, transfer_id)
ORDER BY given.original_id
ON CONFLICT (original_id, already) DO NOTHING
RETURNING original_id;

-- name: go_on
-- Note how far the market's result was settled; its row of the queue goes when it is through.
-- locks: none that isn't held already   returns: nothing
WITH through AS (
    DELETE FROM lastro.open_result
    WHERE
        open_result.market_id = %(market_id)s::bigint AND open_result.version = %(version)s::integer
        AND %(is_through)s::boolean
)

UPDATE lastro.open_result
SET walked_to = %(walked_to)s::bigint, bets = open_result.bets + %(bets)s::bigint
WHERE
    open_result.market_id = %(market_id)s::bigint AND open_result.version = %(version)s::integer
    AND NOT %(is_through)s::boolean;

-- name: set_aside
-- Put a bet out of the settler's way, with the reason why it could not be settled; nothing is noted of one that was
-- voided since. Its row and its market's are ours.
-- locks: the bet's row of the queue   returns: nothing
WITH aside AS (
    DELETE FROM lastro.open_bet
    WHERE open_bet.market_id = %(market_id)s::bigint AND open_bet.bet_id = %(bet_id)s::bigint
),

stuck AS (
    INSERT INTO lastro.stuck_bet (bet_id, market_id, code, message, opened_at)
    SELECT
        %(bet_id)s::bigint,
        %(market_id)s::bigint,
        %(code)s::text,
        %(message)s::text,
        coalesce(%(now)s::timestamptz, now())
    WHERE NOT EXISTS (SELECT FROM lastro.voided_bet AS voided WHERE voided.bet_id = %(bet_id)s::bigint)
    ON CONFLICT (bet_id, market_id) DO NOTHING
)

INSERT INTO lastro.bet_event (bet_id, number, kind, reason, recorded_at)
SELECT
    %(bet_id)s::bigint,
    1 + coalesce(max(event.number), 0),
    'stuck',
    %(message)s::text,
    coalesce(%(now)s::timestamptz, now())
FROM lastro.bet_event AS event
WHERE event.bet_id = %(bet_id)s::bigint
HAVING NOT EXISTS (SELECT FROM lastro.voided_bet AS voided WHERE voided.bet_id = %(bet_id)s::bigint);

-- name: try_again
-- Give the bets that could not be settled back to the settler, of one key or all of them.
-- locks: the rows of the stuck bets   returns: 1 row a bet and market
WITH chosen AS MATERIALIZED (
    SELECT
        stuck.bet_id,
        stuck.market_id
    FROM lastro.stuck_bet AS stuck
    INNER JOIN lastro.bet AS bet ON stuck.bet_id = bet.id
    WHERE %(key)s::text IS NULL OR bet.key = %(key)s::text
    ORDER BY stuck.bet_id, stuck.market_id
    LIMIT %(rows_max)s
),

loose AS (
    DELETE FROM lastro.stuck_bet
    USING chosen
    WHERE stuck_bet.bet_id = chosen.bet_id AND stuck_bet.market_id = chosen.market_id
    RETURNING stuck_bet.bet_id, stuck_bet.market_id
)

INSERT INTO lastro.open_bet (market_id, bet_id)
SELECT
    loose.market_id,
    loose.bet_id
FROM loose
ON CONFLICT (market_id, bet_id) DO NOTHING
RETURNING bet_id, market_id;

-- name: void_bet
-- Note that a person voids a bet, whose row is ours, and let go of it where it could not be settled; nothing where it
-- was voided before.
-- locks: none that isn't held already   returns: 0 or 1 row
WITH loose AS (
    DELETE FROM lastro.stuck_bet
    WHERE stuck_bet.bet_id = %(bet_id)s::bigint
)

INSERT INTO lastro.voided_bet (bet_id, reason, actor, recorded_at)
VALUES (
    %(bet_id)s::bigint, %(reason)s::text, %(actor)s::text, coalesce(%(now)s::timestamptz, now())
)
ON CONFLICT (bet_id) DO NOTHING
RETURNING bet_id;

-- name: overdue_unnoted
-- Bets past their deadline whose stake is still set aside, of which nobody has noted it yet.
-- locks: none   returns: 0 … rows_max rows
SELECT submission.bet_id
FROM lastro.open_hold AS open_hold
INNER JOIN lastro.hold AS hold ON open_hold.hold_id = hold.id AND hold.owner = 'betting'
INNER JOIN lastro.submission AS submission ON hold.key = 'bet:' || submission.key
WHERE
    open_hold.listed AND open_hold.due_at <= coalesce(%(now)s::timestamptz, now())
    AND submission.bet_id IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM lastro.bet_event AS event
        WHERE event.bet_id = submission.bet_id AND event.kind = 'overdue'
    )
ORDER BY open_hold.due_at, open_hold.hold_id
LIMIT %(rows_max)s;

-- name: note_overdue
-- Note of bets whose rows we hold that they are overdue, once of each that is not settled by now.
-- locks: none that isn't held already   returns: 1 row a bet
INSERT INTO lastro.bet_event (bet_id, number, kind, recorded_at)
SELECT
    late.bet_id,
    1 + coalesce((SELECT max(event.number) FROM lastro.bet_event AS event WHERE event.bet_id = late.bet_id), 0),
    'overdue',
    coalesce(%(now)s::timestamptz, now())
FROM unnest(%(bet_ids)s::bigint[]) AS late (bet_id)
WHERE
    NOT EXISTS (
        SELECT FROM lastro.bet_event AS event WHERE event.bet_id = late.bet_id AND event.kind = 'overdue'
    )
    AND NOT EXISTS (
        SELECT FROM lastro.bet_settlement AS settlement WHERE settlement.bet_id = late.bet_id
    )
RETURNING bet_id;
