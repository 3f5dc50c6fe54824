-- Auditing: what must hold of a ledger at rest, each rule a query that returns the rows that break it. Each rule reads
-- one snapshot, so that no posting is seen by half; two rules may see two. Nothing here locks.

-- name: currency_sums
-- Rule: what all accounts of one currency have posted adds up to nothing, for a transfer only moves money.
-- locks: none   returns: 1 row a currency that doesn't add up
SELECT
    balance.currency AS subject,
    '0' AS expected,
    CAST(sum(balance.posted) AS char) AS found
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
    concat(sums.amount, ' from ', sums.debits, ' debits and ', sums.credits, ' credits') AS found
FROM (
    SELECT
        entry.currency,
        sum(CASE entry.side WHEN 'debit' THEN -entry.amount ELSE entry.amount END) AS amount,
        sum(CASE entry.side WHEN 'debit' THEN 1 ELSE 0 END) AS debits,
        sum(CASE entry.side WHEN 'credit' THEN 1 ELSE 0 END) AS credits
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
    concat(balance.account, ' ', balance.currency, ' (kept ', balance.keeping, ')') AS subject,
    CAST(coalesce(history.amount, 0) AS char) AS expected,
    CAST(balance.posted AS char) AS found
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
    SELECT concat('account ', account.name, ' ', account.currency) AS subject, 'a base row' AS expected
    FROM lastro.account AS account
    WHERE NOT EXISTS (SELECT 1 FROM lastro.base AS base WHERE base.account_id = account.id)
    UNION ALL
    SELECT concat('base row ', base.account_id) AS subject, 'an account' AS expected
    FROM lastro.base AS base
    WHERE NOT EXISTS (SELECT 1 FROM lastro.account AS account WHERE account.id = base.account_id)
    UNION ALL
    SELECT concat('transfer ', transfer.`key`) AS subject, 'two accounts of one currency' AS expected
    FROM lastro.transfer AS transfer
    LEFT JOIN lastro.account AS debit ON transfer.debit_id = debit.id
    LEFT JOIN lastro.account AS credit ON transfer.credit_id = credit.id
    WHERE debit.currency IS NULL OR NOT debit.currency <=> credit.currency
) AS lonely
ORDER BY lonely.subject
LIMIT %(rows_max)s;

-- name: chains
-- Rule: an entry that says the balance before itself says the sum of the entries before it. What an account had before
-- its oldest entry (carried over from retired history) is taken from the first entry that says a balance, and must be
-- nothing where the history is whole.
-- locks: none   returns: 1 row an entry at which a chain breaks
WITH side AS (
    SELECT debit_id AS account_id, id, `key`, -amount AS amount, debit_before AS balance_before
    FROM lastro.transfer
    UNION ALL
    SELECT credit_id AS account_id, id, `key`, amount, credit_before AS balance_before
    FROM lastro.transfer
),

running AS (
    SELECT
        side.account_id,
        side.id,
        side.`key`,
        CAST(side.balance_before AS decimal(30, 0)) AS balance_before,
        sum(side.amount) OVER (PARTITION BY side.account_id ORDER BY side.id) - side.amount AS amount_before
    FROM side
),

offsets AS (
    SELECT
        running.account_id,
        running.id,
        running.`key`,
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
    concat('balance of ', account.name, ' before transfer ', offsets.`key`) AS subject,
    CAST(offsets.amount_before + offsets.carried AS char) AS expected,
    CAST(offsets.balance_before AS char) AS found
FROM offsets
INNER JOIN lastro.account AS account ON offsets.account_id = account.id
WHERE offsets.balance_before <> offsets.amount_before + offsets.carried
ORDER BY offsets.id
LIMIT %(rows_max)s;

-- name: last_balances
-- Rule: the newest entry of an account kept direct, where it says a balance, says the one that the account has.
-- locks: none   returns: 1 row an account that differs
WITH newest AS (
    SELECT
        base.account_id,
        base.amount,
        (
            SELECT max(transfer.id) FROM lastro.transfer AS transfer WHERE transfer.debit_id = base.account_id
        ) AS debit,
        (
            SELECT max(transfer.id) FROM lastro.transfer AS transfer WHERE transfer.credit_id = base.account_id
        ) AS credit
    FROM lastro.base AS base
    WHERE base.keeping = 'direct'
)

SELECT
    concat(account.name, ' ', account.currency) AS subject,
    CAST(
        CASE WHEN transfer.debit_id = newest.account_id THEN transfer.debit_after ELSE transfer.credit_after END AS char
    ) AS expected,
    CAST(newest.amount AS char) AS found
FROM newest
INNER JOIN lastro.account AS account ON newest.account_id = account.id
INNER JOIN lastro.transfer AS transfer
    ON
        transfer.id = greatest(coalesce(newest.debit, 0), coalesce(newest.credit, 0))
        AND newest.account_id IN (transfer.debit_id, transfer.credit_id)
WHERE
    CASE WHEN transfer.debit_id = newest.account_id THEN transfer.debit_after ELSE transfer.credit_after END
    <> newest.amount
ORDER BY account.name, account.currency
LIMIT %(rows_max)s;

-- name: tails
-- Rule: what is in the tail belongs to an account kept hot, and to a transfer in which that account stands. The amount
-- isn't compared: a batch writes one row an account for all its transfers, and `balances` compares the sum.
-- locks: none   returns: 1 row a tail row that doesn't
SELECT
    concat('tail row of account ', tail.account_id, ', transfer ', tail.transfer_id) AS subject,
    'a hot account that stands in that transfer' AS expected,
    concat(
        'account kept ', coalesce(base.keeping, 'nowhere'),
        ', transfer ', coalesce(debited.`key`, credited.`key`, 'unknown')
    ) AS found
FROM lastro.tail AS tail
LEFT JOIN lastro.base AS base ON tail.account_id = base.account_id
LEFT JOIN lastro.transfer AS debited ON tail.account_id = debited.debit_id AND tail.transfer_id = debited.id
LEFT JOIN lastro.transfer AS credited ON tail.account_id = credited.credit_id AND tail.transfer_id = credited.id
WHERE
    NOT base.keeping <=> 'hot'
    OR (debited.id IS NULL AND credited.id IS NULL AND %(whole_history)s)
ORDER BY tail.account_id, tail.transfer_id
LIMIT %(rows_max)s;

-- name: keys
-- Rule: each transfer has its key's row and each key's row its transfer; a retired transfer leaves its key behind. A
-- placeholder that was never taken back is a row without its transfer as well.
-- locks: none   returns: 1 row for each one without the other
SELECT
    lonely.subject,
    lonely.expected,
    lonely.found
FROM (
    SELECT
        concat('key ', transfer.`key`) AS subject,
        'the row of a key' AS expected,
        concat('transfer ', transfer.id) AS found
    FROM lastro.transfer AS transfer
    LEFT JOIN lastro.transfer_key AS named
        ON
            transfer.`key` = named.`key` AND transfer.id = named.transfer_id AND transfer.debit_id = named.debit_id
    WHERE named.debit_id IS NULL
    UNION ALL
    SELECT
        concat('key ', coalesce(named.`key`, 'of nothing')) AS subject,
        concat('transfer ', named.transfer_id) AS expected,
        'none' AS found
    FROM lastro.transfer_key AS named
    LEFT JOIN lastro.transfer AS transfer
        ON named.debit_id = transfer.debit_id AND named.transfer_id = transfer.id AND named.`key` = transfer.`key`
    WHERE transfer.id IS NULL AND (%(whole_history)s OR named.debit_id < 0)
) AS lonely
ORDER BY lonely.subject
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
    concat('part of transfer ', part.original_id, ' reversed by transfer ', part.transfer_id) AS subject,
    concat_ws(
        ' ', part.amount, 'of', original.amount, 'after', part.reversed_before, 'by', part.amount,
        original.credit_id, '->', original.debit_id, 'reversing', original.`key`
    ) AS expected,
    concat_ws(
        ' ', part.amount, 'of', part.original_amount, 'after', part.already, 'by', undoing.amount,
        undoing.debit_id, '->', undoing.credit_id, 'reversing', undoing.reverses
    ) AS found
FROM part
LEFT JOIN lastro.transfer_key AS original_key ON part.original_id = original_key.transfer_id
LEFT JOIN lastro.transfer AS original
    ON original_key.debit_id = original.debit_id AND part.original_id = original.id
LEFT JOIN lastro.transfer_key AS undoing_key ON part.transfer_id = undoing_key.transfer_id
LEFT JOIN lastro.transfer AS undoing ON undoing_key.debit_id = undoing.debit_id AND part.transfer_id = undoing.id
WHERE
    part.already <> part.reversed_before
    OR (
        (%(whole_history)s OR (original.id IS NOT NULL AND undoing.id IS NOT NULL))
        AND NOT (
            part.original_amount <=> original.amount AND part.amount <=> undoing.amount
            AND original.`key` <=> undoing.reverses AND original.credit_id <=> undoing.debit_id
            AND original.debit_id <=> undoing.credit_id
        )
    )
ORDER BY part.original_id, part.already
LIMIT %(rows_max)s;

-- name: lot_sums
-- Rule: of an open account that ever had a lot, the open lots add up to what is posted, or to nothing while it owes.
-- locks: none   returns: 1 row an account that differs
SELECT
    concat('lots of ', balance.account, ' ', balance.currency) AS subject,
    CAST(greatest(balance.posted, 0) AS char) AS expected,
    CAST(coalesce(held.points, 0) AS char) AS found
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
        concat('lot ', lot.transfer_id, '.', lot.part) AS subject,
        concat_ws(
            ' ', lot.amount - coalesce(used.amount, 0), 'left, earned', lot.earned_at, 'until', lot.expires_at
        ) AS expected,
        concat_ws(
            ' ', coalesce(open_lot.left_over, 0), 'left, earned', open_lot.earned_at, 'until', open_lot.expires_at
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
            AND NOT (lot.earned_at <=> open_lot.earned_at AND lot.expires_at <=> open_lot.expires_at)
        )
    UNION ALL
    SELECT
        concat('open lot ', open_lot.transfer_id, '.', open_lot.part) AS subject,
        'a lot of that account' AS expected,
        'none' AS found
    FROM lastro.open_lot AS open_lot
    WHERE NOT EXISTS (
        SELECT 1 FROM lastro.lot AS lot
        WHERE
            lot.transfer_id = open_lot.transfer_id AND lot.part = open_lot.part
            AND lot.account_id = open_lot.account_id
    )
) AS differing
ORDER BY differing.subject
LIMIT %(rows_max)s;
