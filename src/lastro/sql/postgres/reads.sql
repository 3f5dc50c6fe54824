-- The read model: what screens show, in a schema of its own (here `lastro` stands for that one, not for a ledger's).

-- name: apply_entries
-- Add entries that weren't there yet, and what they come to to the balances.
-- locks: the entries' keys in their order, then the balances in theirs   returns: 1 row: how many were new
WITH added AS (
    INSERT INTO lastro.read_entry (
        key, side, account, currency, amount, counter_account, kind, cause, transfer_id, occurred_at, recorded_at
    )
    SELECT
        wanted.key,
        wanted.side,
        wanted.account,
        wanted.currency,
        wanted.amount,
        wanted.counter_account,
        wanted.kind,
        wanted.cause,
        wanted.transfer_id,
        wanted.occurred_at,
        wanted.recorded_at
    FROM unnest(
        %(keys)s::text[], %(sides)s::text[], %(accounts)s::text[], %(currencies)s::text[], %(amounts)s::bigint[],
        %(counter_accounts)s::text[], %(kinds)s::text[], %(causes)s::text[], %(transfer_ids)s::bigint[],
        %(occurred_ats)s::timestamptz[], %(recorded_ats)s::timestamptz[]
    ) AS wanted (
        key, side, account, currency, amount, counter_account, kind, cause, transfer_id, occurred_at, recorded_at
    )
    ORDER BY wanted.key, wanted.side
    ON CONFLICT (key, side) DO NOTHING
    RETURNING account, currency, amount, recorded_at
),

sums AS MATERIALIZED (
    SELECT
        added.account,
        added.currency,
        sum(added.amount) AS amount,
        count(*) AS entries,
        max(added.recorded_at) AS newest_at
    FROM added
    GROUP BY added.account, added.currency
    ORDER BY added.account, added.currency
),

changed AS (
    INSERT INTO lastro.read_balance AS balance (account, currency, posted, entries, newest_at)
    SELECT
        sums.account,
        sums.currency,
        sums.amount,
        sums.entries,
        sums.newest_at
    FROM sums
    ORDER BY sums.account, sums.currency
    ON CONFLICT (account, currency) DO UPDATE SET
    posted = balance.posted + excluded.posted,
    entries = balance.entries + excluded.entries,
    newest_at = greatest(balance.newest_at, excluded.newest_at)
    RETURNING 1 AS one
)

SELECT
    (SELECT count(*) FROM added) AS added,
    (SELECT count(*) FROM changed) AS changed;

-- name: apply_bet
-- Add what became of a bet, once, and let the newest version say how it stands.
-- locks: the event's id, the bet   returns: 1 row: whether it was new
WITH added AS (
    INSERT INTO lastro.read_bet_event (event_id, bet, event, version, payload, opened_at)
    VALUES (
        %(event_id)s::text, %(bet)s::text, %(event)s::text, %(version)s::integer, %(payload)s::jsonb,
        %(opened_at)s::timestamptz
    )
    ON CONFLICT (event_id) DO NOTHING
    RETURNING opened_at
),

changed AS (
    INSERT INTO lastro.read_bet AS bet (
        bet, account, currency, state, version, stake, potential_return, returned, legs, placed_at, changed_at
    )
    SELECT
        %(bet)s::text,
        %(account)s::text,
        %(currency)s::text,
        %(event)s::text,
        %(version)s::integer,
        %(stake)s::bigint,
        %(potential_return)s::bigint,
        %(returned)s::bigint,
        %(legs)s::jsonb,
        %(placed_at)s::timestamptz,
        added.opened_at
    FROM added
    ON CONFLICT (bet) DO UPDATE SET
    state = CASE WHEN excluded.version >= bet.version THEN excluded.state ELSE bet.state END,
    returned = CASE WHEN excluded.version >= bet.version THEN excluded.returned ELSE bet.returned END,
    changed_at = CASE WHEN excluded.version >= bet.version THEN excluded.changed_at ELSE bet.changed_at END,
    version = greatest(bet.version, excluded.version),
    potential_return = coalesce(excluded.potential_return, bet.potential_return),
    legs = coalesce(excluded.legs, bet.legs),
    placed_at = coalesce(excluded.placed_at, bet.placed_at)
    RETURNING 1 AS one
)

SELECT
    (SELECT count(*) FROM added) AS added,
    (SELECT count(*) FROM changed) AS changed;

-- name: note_progress
-- Note how far it came.
-- locks: the one row, last   returns: nothing
UPDATE lastro.read_progress AS progress
SET
    events = progress.events + %(events)s::bigint,
    newest_opened_at = greatest(progress.newest_opened_at, %(newest_opened_at)s::timestamptz),
    applied_at = clock_timestamp();

-- name: standing
-- How far it came: `delay_ms` is how long the newest event had waited when it was applied.
-- locks: none   returns: 1 row
SELECT
    progress.events,
    progress.newest_opened_at,
    progress.applied_at,
    (extract(EPOCH FROM progress.applied_at - progress.newest_opened_at) * 1000)::bigint AS delay_ms
FROM lastro.read_progress AS progress;

-- name: balance
-- What is posted on an account, as far as it came.
-- locks: none   returns: 0 or 1 row
SELECT
    balance.account,
    balance.currency,
    balance.posted,
    balance.entries,
    balance.newest_at
FROM lastro.read_balance AS balance
WHERE balance.account = %(account)s::text AND balance.currency = %(currency)s::text;

-- name: entries
-- An account's entries, the newest first.
-- locks: none   returns: up to rows_max rows
SELECT
    entry.key,
    entry.side,
    entry.account,
    entry.currency,
    entry.amount,
    entry.counter_account,
    entry.kind,
    entry.cause,
    entry.transfer_id,
    entry.occurred_at,
    entry.recorded_at
FROM lastro.read_entry AS entry
WHERE
    entry.account = %(account)s::text AND entry.currency = %(currency)s::text
    AND entry.transfer_id < coalesce(%(before_id)s::bigint, 9223372036854775807)
ORDER BY entry.transfer_id DESC
LIMIT %(rows_max)s::bigint;

-- name: bets
-- An account's bets, the newest first; the open ones alone where that is asked for.
-- locks: none   returns: up to rows_max rows
SELECT
    bet.bet,
    bet.account,
    bet.currency,
    bet.state,
    bet.version,
    bet.stake,
    bet.potential_return,
    bet.returned,
    bet.legs::text AS legs,
    bet.placed_at,
    bet.changed_at
FROM lastro.read_bet AS bet
WHERE bet.account = %(account)s::text AND (NOT %(open_only)s::boolean OR bet.state = 'placed')
ORDER BY bet.placed_at DESC, bet.bet DESC
LIMIT %(rows_max)s::bigint;

-- name: clear
-- Empty the entries and balances, to be filled again. Bets stay: their events are their history.
-- locks: both tables, for a moment   returns: nothing
TRUNCATE lastro.read_entry, lastro.read_balance;
