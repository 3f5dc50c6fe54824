-- Erasing a member. Nothing of the history is touched: it names accounts by their ids.

-- name: accounts
-- The accounts of this name, in whatever currency. Nobody opens another while the member's row is held.
-- locks: none, or in a caller's transaction the accounts' rows   returns: 1 row an account
SELECT
    account.id,
    account.currency
FROM lastro.account AS account FORCE INDEX (account_name_and_currency_once)
WHERE account.name = %(name)s
ORDER BY account.id /* current */;

-- name: erase
-- Put a pseudonym in the place of a member's name, drop what was noted of its accounts, close them, and drop what is
-- left in their lots. Closed, so that whoever still believes that the name is theirs can't post to them.
-- locks: none that isn't held already, but for accounts that were closed   returns: 1 row: how many accounts there were
UPDATE lastro.account
SET
    name = %(pseudonym)s,
    metadata = NULL,
    closed_at = coalesce(closed_at, greatest(coalesce(%(now)s, utc_timestamp(6)), opened_at))
WHERE name = %(name)s;
UPDATE lastro.account AS account FORCE INDEX (account_name_and_currency_once)
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON account.id = base.account_id
SET base.state = 'closed', base.changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE account.name = %(pseudonym)s;
DELETE lastro.open_lot
FROM lastro.account AS account FORCE INDEX (account_name_and_currency_once)
STRAIGHT_JOIN lastro.open_lot FORCE INDEX (primary) ON lastro.open_lot.account_id = account.id
WHERE account.name = %(pseudonym)s;
UPDATE lastro.points_member
SET name = %(pseudonym)s, erased_at = coalesce(%(now)s, utc_timestamp(6))
WHERE name = %(name)s;
SELECT count(*) AS accounts
FROM lastro.account AS account
WHERE account.name = %(pseudonym)s;
