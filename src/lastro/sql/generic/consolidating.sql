-- Folding the tail into the base amounts: there is no tail, for no account is kept hot.

-- name: accounts_with_tail
-- Accounts that have something to fold in: none.
-- locks: none   returns: no row
SELECT base.account_id
FROM lastro_base base
WHERE 1 = 0;

-- name: fold
-- Fold a bounded batch of one account's tail.
-- locks: none   returns: nothing
-- refused: an account kept hot needs the tail and the locks of a store of its own; keep it direct or summed here
