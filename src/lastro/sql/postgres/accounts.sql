-- Accounts: opening, finding, listing, closing.

-- name: open
-- Insert an account and its base row together, or nothing where the name is taken in that currency. The id is random.
-- locks: none that another posting waits for   returns: 0 or 1 row
WITH opened AS (
    INSERT INTO lastro.account (id, name, currency, opened_at, metadata)
    SELECT
        hashtextextended(gen_random_uuid()::text, 0) & 9223372036854775807,
        %(name)s::text,
        %(currency)s::text,
        coalesce(%(now)s::timestamptz, now()),
        %(metadata)s::jsonb
    ON CONFLICT (name, currency) DO NOTHING
    RETURNING id, opened_at
)

INSERT INTO lastro.base (account_id, keeping, floor, changed_at)
SELECT
    opened.id,
    %(keeping)s::text,
    %(floor)s::bigint,
    opened.opened_at
FROM opened
RETURNING account_id;

-- name: get
-- One account as its owner sees it.
-- locks: none   returns: 0 or 1 row
SELECT
    account.name,
    account.currency,
    base.keeping,
    base.floor,
    account.opened_at,
    account.closed_at,
    account.metadata::text AS metadata
FROM lastro.account AS account
INNER JOIN lastro.base AS base ON account.id = base.account_id
WHERE account.name = %(name)s::text AND account.currency = %(currency)s::text;

-- name: list
-- A page of accounts in the order of name and currency (bytewise, so that the order is the same everywhere).
-- locks: none   returns: 0 … rows_max rows
SELECT
    account.name,
    account.currency,
    base.keeping,
    base.floor,
    account.opened_at,
    account.closed_at,
    account.metadata::text AS metadata
FROM lastro.account AS account
INNER JOIN lastro.base AS base ON account.id = base.account_id
WHERE
    (account.name, account.currency) > (%(after_name)s::text, %(after_currency)s::text)
    AND (%(prefix)s::text IS NULL OR starts_with(account.name, %(prefix)s::text))
ORDER BY account.name, account.currency
LIMIT %(rows_max)s;

-- name: find
-- What postings must know of these accounts.
-- locks: none   returns: 0 or 1 row for each account asked for
SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor
FROM unnest(%(names)s::text[], %(currencies)s::text[]) AS wanted (name, currency)
INNER JOIN lastro.account AS account ON wanted.name = account.name AND wanted.currency = account.currency
INNER JOIN lastro.base AS base ON account.id = base.account_id;

-- name: currencies_of
-- The currencies in which an account of this name was opened.
-- locks: none   returns: 1 row a currency
SELECT account.currency
FROM lastro.account AS account
WHERE account.name = %(name)s::text
ORDER BY account.currency;

-- name: lock
-- Queue behind whoever writes this account, and read its terms.
-- locks: the account's base row   returns: 0 or 1 row
SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor,
    base.turns
FROM lastro.account AS account
INNER JOIN lastro.base AS base ON account.id = base.account_id
WHERE account.name = %(name)s::text AND account.currency = %(currency)s::text
FOR NO KEY UPDATE OF base;

-- name: close
-- Close an account whose base row this transaction holds.
-- locks: none that isn't held already   returns: 1 row
WITH closed AS (
    UPDATE lastro.base
    SET state = 'closed', changed_at = coalesce(%(now)s::timestamptz, now())
    WHERE account_id = %(account_id)s::bigint
    RETURNING account_id, changed_at
)

UPDATE lastro.account
SET closed_at = greatest(closed.changed_at, account.opened_at)
FROM closed
WHERE account.id = closed.account_id
RETURNING account.id;
