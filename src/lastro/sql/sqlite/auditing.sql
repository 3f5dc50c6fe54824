-- Auditing: what must hold of a ledger at rest, each rule a query that returns the rows that break it. Each rule reads
-- one snapshot, so that no posting is seen by half; two rules may see two. Nothing here locks. Sums go in two halves of
-- 32 bits, for sum() fails where a partial sum leaves 64.

-- name: currency_sums
-- Rule: what all accounts of one currency have posted adds up to nothing, for a transfer only moves money.
-- locks: none   returns: 1 row a currency that doesn't add up
SELECT
    halves.currency AS subject,
    '0' AS expected,
    printf('%%d * 2^32 + %%d', halves.high, halves.low) AS found
FROM (
    SELECT
        balance.currency,
        sum(balance.posted >> 32) + (sum(balance.posted & 4294967295) >> 32) AS high,
        sum(balance.posted & 4294967295) & 4294967295 AS low
    FROM lastro_balance AS balance
    GROUP BY balance.currency
) AS halves
WHERE halves.high <> 0 OR halves.low <> 0
ORDER BY halves.currency
LIMIT %(rows_max)s;

-- name: entry_sums
-- Rule: the entries of one currency add up to nothing, and every transfer shows both its entries in one currency.
-- locks: none   returns: 1 row a currency that doesn't add up
SELECT
    sums.currency AS subject,
    '0 from as many debits as credits' AS expected,
    printf('%%d * 2^32 + %%d from %%d debits and %%d credits', sums.high, sums.low, sums.debits, sums.credits) AS found
FROM (
    SELECT
        signed.currency,
        sum(signed.amount >> 32) + (sum(signed.amount & 4294967295) >> 32) AS high,
        sum(signed.amount & 4294967295) & 4294967295 AS low,
        count(*) FILTER (WHERE signed.side = 'debit') AS debits,
        count(*) FILTER (WHERE signed.side = 'credit') AS credits
    FROM (
        SELECT
            entry.currency,
            entry.side,
            CASE entry.side WHEN 'debit' THEN -entry.amount ELSE entry.amount END AS amount
        FROM lastro_entry AS entry
    ) AS signed
    GROUP BY signed.currency
) AS sums
WHERE sums.high <> 0 OR sums.low <> 0 OR sums.debits <> sums.credits
ORDER BY sums.currency
LIMIT %(rows_max)s;

-- name: balances
-- Rule: an account's balance is the sum of its whole history, however it is kept.
-- locks: none   returns: 1 row an account that differs
WITH history AS (
    SELECT
        side.account_id,
        (sum(side.amount >> 32) + (sum(side.amount & 4294967295) >> 32)) * 4294967296
        + (sum(side.amount & 4294967295) & 4294967295) AS amount
    FROM (
        SELECT transfer.debit_id AS account_id, -transfer.amount AS amount FROM lastro_transfer AS transfer
        UNION ALL
        SELECT transfer.credit_id AS account_id, transfer.amount FROM lastro_transfer AS transfer
    ) AS side
    GROUP BY side.account_id
)

SELECT
    printf('%%s %%s (kept %%s)', balance.account, balance.currency, balance.keeping) AS subject,
    printf('%%s', coalesce(history.amount, 0)) AS expected,
    printf('%%s', balance.posted) AS found
FROM lastro_balance AS balance
LEFT JOIN history ON balance.account_id = history.account_id
WHERE balance.posted <> coalesce(history.amount, 0)
ORDER BY balance.account, balance.currency
LIMIT %(rows_max)s;

-- name: account_rows
-- Rule: each account has a base row, each base row an account, and each transfer two accounts.
-- locks: none   returns: 1 row for each one without the other
SELECT
    lonely.subject,
    lonely.expected,
    'none' AS found
FROM (
    SELECT printf('account %%s %%s', account.name, account.currency) AS subject, 'a base row' AS expected
    FROM lastro_account AS account
    WHERE NOT EXISTS (SELECT 1 FROM lastro_base AS base WHERE base.account_id = account.id)
    UNION ALL
    SELECT printf('base row %%d', base.account_id) AS subject, 'an account' AS expected
    FROM lastro_base AS base
    WHERE NOT EXISTS (SELECT 1 FROM lastro_account AS account WHERE account.id = base.account_id)
    UNION ALL
    SELECT printf('transfer %%s', transfer.key) AS subject, 'two accounts of one currency' AS expected
    FROM lastro_transfer AS transfer
    LEFT JOIN lastro_account AS debit ON transfer.debit_id = debit.id
    LEFT JOIN lastro_account AS credit ON transfer.credit_id = credit.id
    WHERE debit.currency IS NULL OR debit.currency IS NOT credit.currency
) AS lonely
ORDER BY lonely.subject
LIMIT %(rows_max)s;

-- name: chains
-- Rule: an entry that says the balance before itself says the sum of the entries before it. What an account had before
-- its oldest entry is taken from the first entry that says a balance, and must be nothing where the history is whole.
-- locks: none   returns: 1 row an entry at which a chain breaks
WITH side AS (
    SELECT
        debit_id AS account_id, id, key, -amount AS amount, debit_before AS balance_before
    FROM lastro_transfer
    UNION ALL
    SELECT
        credit_id AS account_id, id, key, amount, credit_before AS balance_before
    FROM lastro_transfer
),

running AS (
    SELECT
        side.account_id,
        side.id,
        side.key,
        side.balance_before,
        sum(side.amount) OVER (PARTITION BY side.account_id ORDER BY side.id) - side.amount AS amount_before
    FROM side
),

offsets AS (
    SELECT
        running.account_id,
        running.id,
        running.key,
        running.balance_before,
        running.amount_before,
        CASE
            WHEN %(whole_history)s THEN 0
            ELSE first_value(running.balance_before - running.amount_before)
                OVER (PARTITION BY running.account_id ORDER BY running.id)
        END AS carried
    FROM running
    WHERE running.balance_before IS NOT NULL
)

SELECT
    printf('balance of %%s before transfer %%s', account.name, offsets.key) AS subject,
    printf('%%s', offsets.amount_before + offsets.carried) AS expected,
    printf('%%s', offsets.balance_before) AS found
FROM offsets
INNER JOIN lastro_account AS account ON offsets.account_id = account.id
WHERE offsets.balance_before <> offsets.amount_before + offsets.carried
ORDER BY offsets.id
LIMIT %(rows_max)s;

-- name: last_balances
-- Rule: the newest entry of an account kept direct, where it says a balance, says the one that the account has.
-- locks: none   returns: 1 row an account that differs
SELECT
    printf('%%s %%s', account.name, account.currency) AS subject,
    printf('%%s', CASE newest.debit_id WHEN base.account_id THEN newest.debit_after ELSE newest.credit_after END)
        AS expected,
    printf('%%s', base.amount) AS found
FROM lastro_base AS base
INNER JOIN lastro_account AS account ON base.account_id = account.id
INNER JOIN lastro_transfer AS newest
    ON
        newest.id = max(
            coalesce((SELECT max(debit.id) FROM lastro_transfer AS debit WHERE debit.debit_id = base.account_id), 0),
            coalesce((SELECT max(credit.id) FROM lastro_transfer AS credit WHERE credit.credit_id = base.account_id), 0)
        )
WHERE
    base.keeping = 'direct'
    AND CASE newest.debit_id WHEN base.account_id THEN newest.debit_after ELSE newest.credit_after END <> base.amount
ORDER BY account.name, account.currency
LIMIT %(rows_max)s;

-- name: tails
-- Rule: what is in the tail belongs to an account kept hot, and to a transfer in which that account stands. The amount
-- isn't compared: a batch writes one row an account for all its transfers, and `balances` compares the sum.
-- locks: none   returns: 1 row a tail row that doesn't
SELECT
    printf('tail row of account %%d, transfer %%d', tail.account_id, tail.transfer_id) AS subject,
    'a hot account that stands in that transfer' AS expected,
    printf(
        'account kept %%s, transfer %%s', coalesce(base.keeping, 'nowhere'), coalesce(transfer.key, 'unknown')
    ) AS found
FROM lastro_tail AS tail
LEFT JOIN lastro_base AS base ON tail.account_id = base.account_id
LEFT JOIN lastro_transfer AS transfer
    ON tail.transfer_id = transfer.id AND tail.account_id IN (transfer.debit_id, transfer.credit_id)
WHERE
    base.keeping IS NOT 'hot'
    OR (transfer.id IS NULL AND %(whole_history)s)
ORDER BY tail.account_id, tail.transfer_id
LIMIT %(rows_max)s;

-- name: keys
-- Rule: each transfer is found by its key; an index that has lost a row would let its key post again. The amount is
-- asked for so that the table itself is read, for the index would find all that is in it.
-- locks: none   returns: 1 row a transfer that isn't found
SELECT
    printf('key %%s', transfer.key) AS subject,
    printf('transfer %%d', transfer.id) AS expected,
    'none' AS found
FROM lastro_transfer AS transfer
WHERE
    transfer.amount <> 0
    AND NOT EXISTS (
        SELECT 1 FROM lastro_transfer AS named
        WHERE named.key = transfer.key AND named.id = transfer.id
    )
ORDER BY transfer.id
LIMIT %(rows_max)s;

-- name: reversals
-- Rule: the reversed parts of a transfer stand end to end, within its amount, each with a transfer that says what it
-- reverses and how much.
-- locks: none   returns: 1 row a part that doesn't
WITH part AS (
    SELECT
        reversal.original_id,
        reversal.transfer_id,
        reversal.already,
        reversal.amount,
        reversal.original_amount,
        coalesce(
            sum(reversal.amount) OVER (
                PARTITION BY reversal.original_id ORDER BY reversal.already
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0
        ) AS reversed_before
    FROM lastro_reversal AS reversal
)

SELECT
    printf('part of transfer %%d reversed by transfer %%d', part.original_id, part.transfer_id) AS subject,
    printf(
        '%%s of %%s after %%s, by %%s %%s -> %%s reversing %%s',
        part.amount, original.amount, part.reversed_before,
        part.amount, original.credit_id, original.debit_id, original.key
    ) AS expected,
    printf(
        '%%s of %%s after %%s, by %%s %%s -> %%s reversing %%s',
        part.amount, part.original_amount, part.already,
        undoing.amount, undoing.debit_id, undoing.credit_id, undoing.reverses
    ) AS found
FROM part
LEFT JOIN lastro_transfer AS original ON part.original_id = original.id
LEFT JOIN lastro_transfer AS undoing ON part.transfer_id = undoing.id
WHERE
    part.already <> part.reversed_before
    OR (
        (%(whole_history)s OR (original.id IS NOT NULL AND undoing.id IS NOT NULL))
        AND (
            part.original_amount, part.amount, original.key, original.credit_id, original.debit_id
        ) IS NOT (
            original.amount, undoing.amount, undoing.reverses, undoing.debit_id, undoing.credit_id
        )
    )
ORDER BY part.original_id, part.already
LIMIT %(rows_max)s;

-- name: lot_sums
-- Rule: of an open account that ever had a lot, the open lots add up to what is posted, or to nothing while it owes.
-- locks: none   returns: 1 row an account that differs
SELECT
    printf('lots of %%s %%s', balance.account, balance.currency) AS subject,
    CAST(max(balance.posted, 0) AS text) AS expected,
    CAST(coalesce(held.points, 0) AS text) AS found
FROM (SELECT lot.account_id FROM lastro_lot AS lot GROUP BY lot.account_id) AS member
INNER JOIN lastro_balance AS balance ON member.account_id = balance.account_id
LEFT JOIN (
    SELECT
        open_lot.account_id,
        sum(open_lot.left_over) AS points
    FROM lastro_open_lot AS open_lot
    GROUP BY open_lot.account_id
) AS held ON member.account_id = held.account_id
WHERE balance.state <> 'closed' AND coalesce(held.points, 0) <> max(balance.posted, 0)
ORDER BY balance.account, balance.currency
LIMIT %(rows_max)s;

-- name: lots
-- Rule: what is left of a lot is its amount less its uses, under the terms it always had; and each open lot is one.
-- locks: none   returns: 1 row a lot that differs
WITH used AS (
    SELECT
        lot_use.lot_transfer_id,
        lot_use.lot_part,
        sum(lot_use.amount) AS amount
    FROM lastro_lot_use AS lot_use
    GROUP BY lot_use.lot_transfer_id, lot_use.lot_part
)

SELECT
    differing.subject,
    differing.expected,
    differing.found
FROM (
    SELECT
        printf('lot %%s.%%s', lot.transfer_id, lot.part) AS subject,
        printf('%%s left, earned %%s, until %%s', lot.amount - coalesce(used.amount, 0), lot.earned_at, lot.expires_at)
            AS expected,
        printf(
            '%%s left, earned %%s, until %%s', coalesce(open_lot.left_over, 0), open_lot.earned_at, open_lot.expires_at
        ) AS found
    FROM lastro_lot AS lot
    INNER JOIN lastro_base AS base ON lot.account_id = base.account_id AND base.state <> 'closed'
    LEFT JOIN used ON lot.transfer_id = used.lot_transfer_id AND lot.part = used.lot_part
    LEFT JOIN lastro_open_lot AS open_lot
        ON
            lot.account_id = open_lot.account_id AND lot.transfer_id = open_lot.transfer_id
            AND lot.part = open_lot.part
    WHERE
        lot.amount - coalesce(used.amount, 0) <> coalesce(open_lot.left_over, 0)
        OR (
            open_lot.part IS NOT NULL
            AND (lot.earned_at, lot.expires_at) IS NOT (open_lot.earned_at, open_lot.expires_at)
        )
    UNION ALL
    SELECT
        printf('open lot %%s.%%s', open_lot.transfer_id, open_lot.part) AS subject,
        'a lot of that account' AS expected,
        'none' AS found
    FROM lastro_open_lot AS open_lot
    WHERE NOT EXISTS (
        SELECT 1 FROM lastro_lot AS lot
        WHERE
            lot.transfer_id = open_lot.transfer_id AND lot.part = open_lot.part
            AND lot.account_id = open_lot.account_id
    )
) AS differing
ORDER BY differing.subject
LIMIT %(rows_max)s;
