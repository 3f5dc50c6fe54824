-- Erasing a member. Nothing of the history is touched: it names accounts by their ids.

-- name: accounts
-- The accounts of this name, in whatever currency. Nobody opens another while the member's row is held.
-- locks: none   returns: 1 row an account
SELECT
    account.id,
    account.currency
FROM lastro_account AS account
WHERE account.name = %(name)s
ORDER BY account.id;

-- name: erase
-- Put a pseudonym in the place of a member's name, drop what was noted of its accounts, close them, and drop what is
-- left in their lots. Closed, so that whoever still believes that the name is theirs can't post to them.
-- locks: none that isn't held already   returns: 1 row: how many accounts there were
UPDATE lastro_account
SET
    name = %(pseudonym)s,
    metadata = NULL,
    closed_at = coalesce(closed_at, max(%(now)s, opened_at))
WHERE name = %(name)s;

UPDATE lastro_base
SET state = 'closed', changed_at = %(now)s
WHERE account_id IN (SELECT account.id FROM lastro_account AS account WHERE account.name = %(pseudonym)s);

DELETE FROM lastro_open_lot
WHERE account_id IN (SELECT account.id FROM lastro_account AS account WHERE account.name = %(pseudonym)s);

UPDATE lastro_points_member
SET name = %(pseudonym)s, erased_at = %(now)s
WHERE name = %(name)s;

SELECT count(*) AS accounts
FROM lastro_account AS account
WHERE account.name = %(pseudonym)s;
