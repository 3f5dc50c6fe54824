-- Accounts: opening, finding, listing, closing.

-- name: open
-- Insert an account and its base row together, or nothing where the name is taken in that currency. The id is random.
-- An account that is there already is seen by the look before, so that opening it again locks nothing; nor does an
-- INSERT … SELECT read what may not be there, which would lock the gap where others open theirs.
-- locks: none that another posting waits for   returns: 0 or 1 row
SELECT
    count(*),
    CAST(conv(hex(random_bytes(8)), 16, 10) AS unsigned) >> 1,
    coalesce(%(now)s, utc_timestamp(6))
INTO @lastro_there, @lastro_id, @lastro_now
FROM lastro.account AS account
WHERE account.name = %(name)s AND account.currency = %(currency)s;
INSERT INTO lastro.account (id, name, currency, opened_at, metadata)
SELECT
    @lastro_id,
    %(name)s,
    %(currency)s,
    @lastro_now,
    %(metadata)s
FROM dual
WHERE @lastro_there = 0
ON DUPLICATE KEY UPDATE id = account.id;
SELECT count(*) INTO @lastro_opened
FROM lastro.account AS account
WHERE account.id = @lastro_id;
INSERT INTO lastro.base (account_id, keeping, floor, changed_at)
SELECT
    @lastro_id,
    %(keeping)s,
    %(floor)s,
    @lastro_now
FROM dual
WHERE @lastro_opened = 1;
SELECT base.account_id
FROM lastro.base AS base
WHERE base.account_id = @lastro_id;

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
    CAST(account.metadata AS binary) AS metadata
FROM lastro.account AS account FORCE INDEX (account_name_and_currency_once)
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON account.id = base.account_id
WHERE account.name = %(name)s AND account.currency = %(currency)s /* current */;

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
    CAST(account.metadata AS binary) AS metadata
FROM lastro.account AS account
INNER JOIN lastro.base AS base ON account.id = base.account_id
WHERE
    account.name >= %(after_name)s
    AND (account.name > %(after_name)s OR account.currency > %(after_currency)s)
    AND (%(prefix)s IS NULL OR left(account.name, length(%(prefix)s)) = %(prefix)s)
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
FROM json_table(%(names__currencies)s, '$[*]' COLUMNS (
    name varchar(340) CHARACTER SET utf8mb4 PATH '$[0]',
    currency varchar(32) CHARACTER SET utf8mb4 PATH '$[1]'
)) AS wanted
STRAIGHT_JOIN lastro.account AS account FORCE INDEX (account_name_and_currency_once)
    ON account.name = CAST(wanted.name AS binary) AND account.currency = CAST(wanted.currency AS binary)
INNER JOIN lastro.base AS base ON account.id = base.account_id;

-- name: currencies_of
-- The currencies in which an account of this name was opened.
-- locks: none   returns: 1 row a currency
SELECT account.currency
FROM lastro.account AS account
WHERE account.name = %(name)s
ORDER BY account.currency;

-- name: lock
-- Queue behind whoever writes this account, and read its terms.
-- locks: the account's base row   returns: 0 or 1 row
SELECT account.id INTO @lastro_id
FROM (SELECT 1) AS one
LEFT JOIN lastro.account AS account ON account.name = %(name)s AND account.currency = %(currency)s;
SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor,
    base.turns
FROM lastro.base AS base FORCE INDEX (primary)
STRAIGHT_JOIN lastro.account AS account FORCE INDEX (primary) ON account.id = base.account_id
WHERE base.account_id = @lastro_id
FOR UPDATE;

-- name: close
-- Close an account whose base row this transaction holds.
-- locks: none that isn't held already   returns: 1 row
UPDATE lastro.base
SET state = 'closed', changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE account_id = %(account_id)s;
UPDATE lastro.account
SET closed_at = greatest(coalesce(%(now)s, utc_timestamp(6)), opened_at)
WHERE id = %(account_id)s;
SELECT account.id
FROM lastro.account AS account
WHERE account.id = %(account_id)s;
