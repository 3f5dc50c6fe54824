-- Erasing a member. Nothing of the history is touched: it names accounts by their ids.

-- name: accounts
-- The accounts of this name, in whatever currency. Nobody opens another while the member's row is held.
-- locks: none   returns: 1 row an account
SELECT
    account.id,
    account.currency
FROM lastro.account AS account
WHERE account.name = %(name)s::text
ORDER BY account.id;

-- name: erase
-- Put a pseudonym in the place of a member's name, drop what was noted of its accounts, close them, and drop what is
-- left in their lots. Closed, so that whoever still believes that the name is theirs can't post to them.
-- locks: none that isn't held already, but for accounts that were closed   returns: 1 row: how many accounts there were
WITH renamed AS (
    UPDATE lastro.account
    SET
        name = %(pseudonym)s::text,
        metadata = NULL,
        closed_at = coalesce(account.closed_at, greatest(coalesce(%(now)s::timestamptz, now()), account.opened_at))
    WHERE account.name = %(name)s::text
    RETURNING account.id
),

closed AS (
    UPDATE lastro.base
    SET state = 'closed', changed_at = coalesce(%(now)s::timestamptz, now())
    FROM renamed
    WHERE base.account_id = renamed.id
),

dropped AS (
    DELETE FROM lastro.open_lot
    USING renamed
    WHERE open_lot.account_id = renamed.id
),

erased AS (
    UPDATE lastro.points_member
    SET name = %(pseudonym)s::text, erased_at = coalesce(%(now)s::timestamptz, now())
    WHERE points_member.name = %(name)s::text
)

SELECT count(*) AS accounts
FROM renamed;
