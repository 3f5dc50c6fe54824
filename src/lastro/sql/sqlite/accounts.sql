-- Accounts: opening, finding, listing, closing.

-- name: open
-- Insert an account and its base row together, or nothing where the name is taken in that currency. The id is random.
-- locks: none   returns: 0 or 1 row
INSERT INTO lastro_account (id, name, currency, opened_at, metadata)
VALUES (random() & 9223372036854775807, %(name)s, %(currency)s, %(now)s, %(metadata)s)
ON CONFLICT (name, currency) DO NOTHING
RETURNING id AS account_id;

INSERT INTO lastro_base (account_id, keeping, floor, changed_at)
SELECT
    account.id,
    %(keeping)s,
    %(floor)s,
    account.opened_at
FROM lastro_account AS account
WHERE account.name = %(name)s AND account.currency = %(currency)s;

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
    account.metadata
FROM lastro_account AS account
INNER JOIN lastro_base AS base ON account.id = base.account_id
WHERE account.name = %(name)s AND account.currency = %(currency)s;

-- name: list
-- A page of accounts in the order of name and currency (bytewise).
-- locks: none   returns: 0 … rows_max rows
SELECT
    account.name,
    account.currency,
    base.keeping,
    base.floor,
    account.opened_at,
    account.closed_at,
    account.metadata
FROM lastro_account AS account
INNER JOIN lastro_base AS base ON account.id = base.account_id
WHERE
    (account.name, account.currency) > (%(after_name)s, %(after_currency)s)
    AND (%(prefix)s IS NULL OR substr(account.name, 1, length(%(prefix)s)) = %(prefix)s)
ORDER BY account.name, account.currency
LIMIT %(rows_max)s;

-- name: find
-- What postings must know of these accounts.
-- locks: none   returns: 0 or 1 row for each account asked for
WITH wanted_name AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS name
    FROM json_each(%(names)s) AS given
),

wanted_currency AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS currency
    FROM json_each(%(currencies)s) AS given
)

SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor
FROM wanted_name
INNER JOIN wanted_currency ON wanted_name.place = wanted_currency.place
INNER JOIN lastro_account AS account
    ON wanted_name.name = account.name AND wanted_currency.currency = account.currency
INNER JOIN lastro_base AS base ON account.id = base.account_id;

-- name: currencies_of
-- The currencies in which an account of this name was opened.
-- locks: none   returns: 1 row a currency
SELECT account.currency
FROM lastro_account AS account
WHERE account.name = %(name)s
ORDER BY account.currency;

-- name: lock
-- Read an account's terms. The transaction holds the write lock of the whole database, so they stay.
-- locks: none that isn't held already   returns: 0 or 1 row
SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor,
    base.turns
FROM lastro_account AS account
INNER JOIN lastro_base AS base ON account.id = base.account_id
WHERE account.name = %(name)s AND account.currency = %(currency)s;

-- name: close
-- Close an account.
-- locks: none that isn't held already   returns: 1 row
UPDATE lastro_base
SET state = 'closed', changed_at = %(now)s
WHERE account_id = %(account_id)s;

UPDATE lastro_account
SET closed_at = max(%(now)s, opened_at)
WHERE id = %(account_id)s
RETURNING id;
