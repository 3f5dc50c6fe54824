-- Changing how an account is kept while others post to it: from direct to summed, under the account's lock. The way
-- back would have to wait for postings that nobody sees, and there is no portable way to ask for them.

-- name: under_way
-- Transactions that may still post by what they knew before.
-- locks: none   returns: nothing
-- refused: standard SQL can't ask which transactions are under way; an account kept summed stays so, and stays open

-- name: turn
-- From now on whoever posts to this account weighs it first.
-- locks: none   returns: nothing
-- refused: standard SQL can't ask which transactions are under way; an account kept summed stays so, and stays open

-- name: turn_back
-- Post to this account as before.
-- locks: none   returns: nothing
-- refused: standard SQL can't ask which transactions are under way; an account kept summed stays so, and stays open

-- name: set_terms
-- The new terms of an account, with the base amount that leaves its balance as it is.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_base
SET
    keeping = %(keeping)s,
    state = 'open',
    amount = %(amount)s,
    payments = payments + 1,
    changed_at = %(now)s
WHERE account_id = %(account_id)s;

-- name: has_tail
-- Whether anything of an account is still to be folded in: nothing ever is.
-- locks: none   returns: 1 row
SELECT 0 AS found
FROM lastro_version lone
WHERE lone.version_number = 1;

-- name: summed_history
-- What the history sums to for an account.
-- locks: none   returns: 1 row
SELECT
    coalesce((
        SELECT sum(credited.amount) FROM lastro_transfer credited WHERE credited.credit_id = base.account_id
    ), 0)
    - coalesce((
        SELECT sum(debited.amount) FROM lastro_transfer debited WHERE debited.debit_id = base.account_id
    ), 0) AS amount
FROM lastro_base base
WHERE base.account_id = %(account_id)s;
