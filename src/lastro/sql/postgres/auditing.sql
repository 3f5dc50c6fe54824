-- Auditing: what must hold of a ledger at rest, each rule a query that returns the rows that break it. Each rule reads
-- one snapshot, so that no posting is seen by half; two rules may see two. Nothing here locks.

-- name: currency_sums
-- Rule: what all accounts of one currency have posted adds up to nothing, for a transfer only moves money.
-- locks: none   returns: 1 row a currency that doesn't add up
SELECT
    balance.currency AS subject,
    '0' AS expected,
    sum(balance.posted)::text AS found
FROM lastro.balance AS balance
GROUP BY balance.currency
HAVING sum(balance.posted) <> 0
ORDER BY balance.currency
LIMIT %(rows_max)s;

-- name: entry_sums
-- Rule: the entries of one currency add up to nothing, and every transfer shows both its entries in one currency.
-- locks: none   returns: 1 row a currency that doesn't add up
SELECT
    sums.currency AS subject,
    '0 from as many debits as credits' AS expected,
    format('%%s from %%s debits and %%s credits', sums.amount, sums.debits, sums.credits) AS found
FROM (
    SELECT
        entry.currency,
        sum(CASE entry.side WHEN 'debit' THEN -entry.amount ELSE entry.amount END) AS amount,
        count(*) FILTER (WHERE entry.side = 'debit') AS debits,
        count(*) FILTER (WHERE entry.side = 'credit') AS credits
    FROM lastro.entry AS entry
    GROUP BY entry.currency
) AS sums
WHERE sums.amount <> 0 OR sums.debits <> sums.credits
ORDER BY sums.currency
LIMIT %(rows_max)s;

-- name: balances
-- Rule: an account's balance is the sum of its whole history, however it is kept.
-- locks: none   returns: 1 row an account that differs
WITH history AS (
    SELECT
        side.account_id,
        sum(side.amount) AS amount
    FROM (
        SELECT transfer.debit_id AS account_id, -transfer.amount AS amount FROM lastro.transfer AS transfer
        UNION ALL
        SELECT transfer.credit_id AS account_id, transfer.amount FROM lastro.transfer AS transfer
    ) AS side
    GROUP BY side.account_id
)

SELECT
    format('%%s %%s (kept %%s)', balance.account, balance.currency, balance.keeping) AS subject,
    coalesce(history.amount, 0)::text AS expected,
    balance.posted::text AS found
FROM lastro.balance AS balance
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
    SELECT format('account %%s %%s', account.name, account.currency) AS subject, 'a base row' AS expected
    FROM lastro.account AS account
    WHERE NOT EXISTS (SELECT FROM lastro.base AS base WHERE base.account_id = account.id)
    UNION ALL
    SELECT format('base row %%s', base.account_id) AS subject, 'an account' AS expected
    FROM lastro.base AS base
    WHERE NOT EXISTS (SELECT FROM lastro.account AS account WHERE account.id = base.account_id)
    UNION ALL
    SELECT format('transfer %%s', transfer.key) AS subject, 'two accounts of one currency' AS expected
    FROM lastro.transfer AS transfer
    LEFT JOIN lastro.account AS debit ON transfer.debit_id = debit.id
    LEFT JOIN lastro.account AS credit ON transfer.credit_id = credit.id
    WHERE debit.currency IS NULL OR debit.currency IS DISTINCT FROM credit.currency
) AS lonely
ORDER BY lonely.subject
LIMIT %(rows_max)s;

-- name: chains
-- Rule: an entry that says the balance before itself says the sum of the entries before it. What an account had before
-- its oldest entry (carried over from retired history) is taken from the first entry that says a balance, and must be
-- nothing where the history is whole.
-- locks: none   returns: 1 row an entry at which a chain breaks
WITH side AS (
    SELECT debit_id AS account_id, id, key, -amount AS amount, debit_before AS balance_before
    FROM lastro.transfer
    UNION ALL
    SELECT credit_id AS account_id, id, key, amount, credit_before AS balance_before
    FROM lastro.transfer
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
            WHEN %(whole_history)s::boolean THEN 0
            ELSE first_value(running.balance_before - running.amount_before)
                OVER (PARTITION BY running.account_id ORDER BY running.id)
        END AS carried
    FROM running
    WHERE running.balance_before IS NOT NULL
)

SELECT
    format('balance of %%s before transfer %%s', account.name, offsets.key) AS subject,
    (offsets.amount_before + offsets.carried)::text AS expected,
    offsets.balance_before::text AS found
FROM offsets
INNER JOIN lastro.account AS account ON offsets.account_id = account.id
WHERE offsets.balance_before <> offsets.amount_before + offsets.carried
ORDER BY offsets.id
LIMIT %(rows_max)s;

-- name: last_balances
-- Rule: the newest entry of an account kept direct, where it says a balance, says the one that the account has.
-- locks: none   returns: 1 row an account that differs
SELECT
    format('%%s %%s', account.name, account.currency) AS subject,
    newest.balance_after::text AS expected,
    base.amount::text AS found
FROM lastro.base AS base
INNER JOIN lastro.account AS account ON base.account_id = account.id
CROSS JOIN LATERAL (
    SELECT either.balance_after
    FROM (
        (
            SELECT transfer.id, transfer.debit_after AS balance_after
            FROM lastro.transfer AS transfer
            WHERE transfer.debit_id = base.account_id
            ORDER BY transfer.id DESC
            LIMIT 1
        )
        UNION ALL
        (
            SELECT transfer.id, transfer.credit_after AS balance_after
            FROM lastro.transfer AS transfer
            WHERE transfer.credit_id = base.account_id
            ORDER BY transfer.id DESC
            LIMIT 1
        )
    ) AS either
    ORDER BY either.id DESC
    LIMIT 1
) AS newest
WHERE base.keeping = 'direct' AND newest.balance_after <> base.amount
ORDER BY account.name, account.currency
LIMIT %(rows_max)s;

-- name: tails
-- Rule: what is in the tail belongs to an account kept hot, and to a transfer in which that account stands. The amount
-- isn't compared: a batch writes one row an account for all its transfers, and `balances` compares the sum.
-- locks: none   returns: 1 row a tail row that doesn't
SELECT
    format('tail row of account %%s, transfer %%s', tail.account_id, tail.transfer_id) AS subject,
    'a hot account that stands in that transfer' AS expected,
    format(
        'account kept %%s, transfer %%s', coalesce(base.keeping, 'nowhere'), coalesce(transfer.key, 'unknown')
    ) AS found
FROM lastro.tail AS tail
LEFT JOIN lastro.base AS base ON tail.account_id = base.account_id
LEFT JOIN lastro.transfer AS transfer
    ON tail.transfer_id = transfer.id AND tail.account_id IN (transfer.debit_id, transfer.credit_id)
WHERE
    base.keeping IS DISTINCT FROM 'hot'
    OR (transfer.id IS NULL AND %(whole_history)s::boolean)
ORDER BY tail.account_id, tail.transfer_id
LIMIT %(rows_max)s;

-- name: keys
-- Rule: each transfer has its key's row and each key's row its transfer; a retired transfer leaves its key behind.
-- locks: none   returns: 1 row for each one without the other
SELECT
    format('key %%s', coalesce(named.key, transfer.key)) AS subject,
    coalesce('transfer ' || named.transfer_id, 'the row of a key') AS expected,
    coalesce('transfer ' || transfer.id, 'none') AS found
FROM lastro.transfer_key AS named
FULL JOIN lastro.transfer AS transfer
    ON
        named.key = transfer.key AND named.transfer_id = transfer.id AND named.debit_id = transfer.debit_id
WHERE named.key IS NULL OR (transfer.id IS NULL AND %(whole_history)s::boolean)
ORDER BY 1
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
    FROM lastro.reversal AS reversal
)

SELECT
    format('part of transfer %%s reversed by transfer %%s', part.original_id, part.transfer_id) AS subject,
    format(
        '%%s of %%s after %%s, by %%s %%s -> %%s reversing %%s',
        part.amount, original.amount, part.reversed_before,
        part.amount, original.credit_id, original.debit_id, original.key
    ) AS expected,
    format(
        '%%s of %%s after %%s, by %%s %%s -> %%s reversing %%s',
        part.amount, part.original_amount, part.already,
        undoing.amount, undoing.debit_id, undoing.credit_id, undoing.reverses
    ) AS found
FROM part
LEFT JOIN lastro.transfer AS original ON part.original_id = original.id
LEFT JOIN lastro.transfer AS undoing ON part.transfer_id = undoing.id
WHERE
    part.already <> part.reversed_before
    OR (
        (%(whole_history)s::boolean OR (original.id IS NOT NULL AND undoing.id IS NOT NULL))
        AND (
            part.original_amount, part.amount, original.key, original.credit_id, original.debit_id
        ) IS DISTINCT FROM (
            original.amount, undoing.amount, undoing.reverses, undoing.debit_id, undoing.credit_id
        )
    )
ORDER BY part.original_id, part.already
LIMIT %(rows_max)s;

-- name: lot_sums
-- Rule: of an open account that ever had a lot, the open lots add up to what is posted, or to nothing while it owes.
-- locks: none   returns: 1 row an account that differs
SELECT
    format('lots of %%s %%s', balance.account, balance.currency) AS subject,
    greatest(balance.posted, 0)::text AS expected,
    coalesce(held.points, 0)::text AS found
FROM (SELECT lot.account_id FROM lastro.lot AS lot GROUP BY lot.account_id) AS member
INNER JOIN lastro.balance AS balance ON member.account_id = balance.account_id
LEFT JOIN (
    SELECT
        open_lot.account_id,
        sum(open_lot.left_over) AS points
    FROM lastro.open_lot AS open_lot
    GROUP BY open_lot.account_id
) AS held ON member.account_id = held.account_id
WHERE balance.state <> 'closed' AND coalesce(held.points, 0) <> greatest(balance.posted, 0)
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
    FROM lastro.lot_use AS lot_use
    GROUP BY lot_use.lot_transfer_id, lot_use.lot_part
)

SELECT
    differing.subject,
    differing.expected,
    differing.found
FROM (
    SELECT
        format('lot %%s.%%s', lot.transfer_id, lot.part) AS subject,
        format('%%s left, earned %%s, until %%s', lot.amount - coalesce(used.amount, 0), lot.earned_at, lot.expires_at)
            AS expected,
        format(
            '%%s left, earned %%s, until %%s', coalesce(open_lot.left_over, 0), open_lot.earned_at, open_lot.expires_at
        ) AS found
    FROM lastro.lot AS lot
    INNER JOIN lastro.base AS base ON lot.account_id = base.account_id AND base.state <> 'closed'
    LEFT JOIN used ON lot.transfer_id = used.lot_transfer_id AND lot.part = used.lot_part
    LEFT JOIN lastro.open_lot AS open_lot
        ON
            lot.account_id = open_lot.account_id AND lot.transfer_id = open_lot.transfer_id
            AND lot.part = open_lot.part
    WHERE
        lot.amount - coalesce(used.amount, 0) <> coalesce(open_lot.left_over, 0)
        OR (
            open_lot.part IS NOT NULL
            AND (lot.earned_at, lot.expires_at) IS DISTINCT FROM (open_lot.earned_at, open_lot.expires_at)
        )
    UNION ALL
    SELECT
        format('open lot %%s.%%s', open_lot.transfer_id, open_lot.part) AS subject,
        'a lot of that account' AS expected,
        'none' AS found
    FROM lastro.open_lot AS open_lot
    WHERE NOT EXISTS (
        SELECT FROM lastro.lot AS lot
        WHERE
            lot.transfer_id = open_lot.transfer_id AND lot.part = open_lot.part
            AND lot.account_id = open_lot.account_id
    )
) AS differing
ORDER BY differing.subject
LIMIT %(rows_max)s;
