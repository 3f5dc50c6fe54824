-- Posting a few transfers, as one checkout does: judge in memory, write everything at once.
--
-- For batches in which no account has to be weighed first. What isn't plain (a key that is taken, an account that isn't
-- as believed) writes nothing here and goes the way of batch.sql, which tells why. The lists are short, so that their
-- parts are taken out of them one by one.

-- name: lock
-- The terms and amounts of the accounts kept direct.
-- locks: none that isn't held already   returns: 1 row an account
SELECT
    base.account_id,
    base.keeping,
    base.state,
    base.floor,
    base.amount,
    base.held
FROM lastro_base AS base
WHERE base.account_id IN (SELECT given.value FROM json_each(%(account_ids)s) AS given)
ORDER BY base.account_id;

-- name: write
-- Write history, tail and base rows: all of it, or nothing where a key is taken or an account isn't as believed.
-- locks: none that isn't held already   returns: 0 or 1 row: the ids in the order of the keys given
WITH as_believed AS MATERIALIZED (
    SELECT
        count(*) = json_array_length(%(free_ids)s)
        AND NOT EXISTS (
            SELECT 1
            FROM json_each(%(keys)s) AS wanted
            INNER JOIN lastro_transfer AS taken ON wanted.value = taken.key
        ) AS holds
    FROM json_each(%(free_ids)s) AS free
    INNER JOIN lastro_base AS base ON free.value = base.account_id
    WHERE
        base.keeping = json_extract(%(free_keepings)s, '$[' || free.key || ']') AND base.state = 'open'
        AND (base.floor IS NULL OR NOT json_extract(%(free_debited)s, '$[' || free.key || ']'))
        AND base.amount BETWEEN -%(unlocked_base_max)s AND %(unlocked_base_max)s
)

INSERT INTO lastro_transfer (
    debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, key, kind, cause, source, actor, metadata
)
SELECT
    json_extract(%(debit_ids)s, '$[' || wanted.key || ']'),
    json_extract(%(credit_ids)s, '$[' || wanted.key || ']'),
    json_extract(%(transfer_amounts)s, '$[' || wanted.key || ']'),
    json_extract(%(debit_befores)s, '$[' || wanted.key || ']'),
    json_extract(%(debit_befores)s, '$[' || wanted.key || ']')
    - json_extract(%(transfer_amounts)s, '$[' || wanted.key || ']'),
    json_extract(%(credit_befores)s, '$[' || wanted.key || ']'),
    json_extract(%(credit_befores)s, '$[' || wanted.key || ']')
    + json_extract(%(transfer_amounts)s, '$[' || wanted.key || ']'),
    coalesce(json_extract(%(occurred_ats)s, '$[' || wanted.key || ']'), %(now)s),
    %(now)s,
    wanted.value,
    json_extract(%(kinds)s, '$[' || wanted.key || ']'),
    json_extract(%(causes)s, '$[' || wanted.key || ']'),
    json_extract(%(sources)s, '$[' || wanted.key || ']'),
    json_extract(%(actors)s, '$[' || wanted.key || ']'),
    json_extract(%(metadatas)s, '$[' || wanted.key || ']')
FROM json_each(%(keys)s) AS wanted
CROSS JOIN as_believed
WHERE as_believed.holds
ORDER BY wanted.key
RETURNING id;

INSERT INTO lastro_tail (account_id, transfer_id, amount)
SELECT
    added.value,
    transfer.id,
    json_extract(%(tailed_amounts)s, '$[' || added.key || ']')
FROM json_each(%(tailed_ids)s) AS added
INNER JOIN lastro_transfer AS transfer
    ON
        transfer.key = json_extract(
            %(keys)s, '$[' || json_extract(%(tailed_lasts)s, '$[' || added.key || ']') || ']'
        );

UPDATE lastro_base
SET
    amount = lastro_base.amount + json_extract(%(based_amounts)s, '$[' || changed.key || ']'),
    payments = lastro_base.payments + json_extract(%(payments)s, '$[' || changed.key || ']'),
    changed_at = %(now)s
FROM json_each(%(based_ids)s) AS changed
WHERE lastro_base.account_id = changed.value;

SELECT
    json_group_array(new.id) AS ids,
    %(now)s AS recorded_at
FROM (
    SELECT transfer.id
    FROM json_each(%(keys)s) AS wanted
    CROSS JOIN lastro_transfer AS transfer
    WHERE transfer.key = wanted.value
    ORDER BY wanted.key
) AS new;
