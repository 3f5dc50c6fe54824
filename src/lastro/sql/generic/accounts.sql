-- Accounts: opening, finding, listing, closing. Names are found by their digests: see the schema.

-- name: open
-- Insert an account and its base row together, or nothing where the name is taken in that currency. The id is random.
-- In a race the uniqueness error of the account reaches the caller.
-- locks: none that another posting waits for   returns: nothing
SELECT lone.version_number
FROM lastro_version lone
WHERE
    lone.version_number = 1
    AND NOT EXISTS (SELECT 1 FROM lastro_account taken WHERE taken.digest = %(account_digest)s);

INSERT INTO lastro_account (id, digest, name_digest, name, currency, opened_at, metadata)
VALUES (
    %(fresh_id)s, %(account_digest)s, %(name_digest)s, %(name)s, %(currency)s, %(now)s, %(metadata)s
);

INSERT INTO lastro_base (
    account_id, keeping, state, floor, amount, held, payments, turns, locks_taken, last_id, changed_at
)
VALUES (%(fresh_id)s, %(keeping)s, 'open', %(floor)s, 0, 0, 0, 0, 0, 0, %(now)s);

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
FROM lastro_account account
INNER JOIN lastro_base base ON account.id = base.account_id
WHERE account.digest = %(account_digest)s;

-- name: list
-- A page of accounts in the database's own order of name and currency; the digest tells those apart that it takes for
-- equal.
-- locks: none   returns: 0 … rows_max rows
SELECT
    account.name,
    account.currency,
    base.keeping,
    base.floor,
    account.opened_at,
    account.closed_at,
    account.metadata,
    account.digest AS digest
FROM lastro_account account
INNER JOIN lastro_base base ON account.id = base.account_id
WHERE
    (
        account.name > %(after_name)s
        OR (account.name = %(after_name)s AND account.currency > %(after_currency)s)
        OR (
            account.name = %(after_name)s AND account.currency = %(after_currency)s
            AND account.digest > %(after_digest)s
        )
    )
    AND account.name LIKE %(prefix_pattern)s ESCAPE '!'
ORDER BY name, currency, digest
FETCH FIRST %(rows_max)s ROWS ONLY;

-- name: find
-- What postings must know of these accounts, one after the other.
-- locks: none   returns: 0 or 1 row for each account asked for
SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor
FROM lastro_account account
INNER JOIN lastro_base base ON account.id = base.account_id
WHERE account.digest = %(each_account_digests)s;

-- name: currencies_of
-- The currencies in which an account of this name was opened.
-- locks: none   returns: 1 row a currency
SELECT account.currency
FROM lastro_account account
WHERE account.name_digest = %(name_digest)s
ORDER BY account.currency;

-- name: lock
-- Lock an account's base row and read its terms.
-- locks: the base row   returns: 0 or 1 row
SELECT account.id AS account_id
FROM lastro_account account
WHERE account.digest = %(account_digest)s;

UPDATE lastro_base
SET locks_taken = locks_taken + 1
WHERE account_id = %(account_id)s;

SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor,
    base.turns
FROM lastro_account account
INNER JOIN lastro_base base ON account.id = base.account_id
WHERE account.id = %(account_id)s;

-- name: close
-- Close an account.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_base
SET state = 'closed', changed_at = %(now)s
WHERE account_id = %(account_id)s;

UPDATE lastro_account
SET closed_at = CASE WHEN opened_at > %(now)s THEN opened_at ELSE CAST(%(now)s AS bigint) END
WHERE id = %(account_id)s;
