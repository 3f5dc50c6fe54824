-- Reconciling: which accounts moved, and whether what is stored of them is what their history says. Nothing here locks
-- what a posting waits for, and whatever is compared is read by one statement, in one snapshot.

-- name: state
-- How far reconciliation has come.
-- locks: none   returns: 1 row
SELECT
    reconciliation.checked_id,
    reconciliation.settled_id,
    reconciliation.candidate_id,
    CAST(reconciliation.waits_for AS binary) AS waits_for
FROM lastro.reconciliation AS reconciliation;

-- name: reached
-- The highest id that was committed. Ids are given out in order: who was given a lower one has ended, or is open in a
-- following statement.
-- locks: none   returns: 1 row
SELECT coalesce(max(named.transfer_id), 0) AS last_id
FROM lastro.transfer_key AS named;

-- name: note_candidate
-- Note up to where everything is settled once certain transactions have ended.
-- locks: the row of reconciliation   returns: nothing
UPDATE lastro.reconciliation
SET candidate_id = %(candidate_id)s, waits_for = CONVERT(%(waits_for)s USING utf8mb4)
WHERE only_row = 1;

-- name: settle
-- Those transactions have ended.
-- locks: the row of reconciliation   returns: nothing
UPDATE lastro.reconciliation
SET settled_id = greatest(settled_id, %(candidate_id)s), candidate_id = NULL, waits_for = NULL
WHERE only_row = 1;

-- name: finish
-- A complete round has counted everything up to a transfer.
-- locks: the row of reconciliation   returns: nothing
UPDATE lastro.reconciliation
SET
    checked_id = greatest(checked_id, %(checked_id)s),
    finished_at = coalesce(%(now)s, utc_timestamp(6))
WHERE only_row = 1;

-- name: prefer_indexes
-- What another planner has to be told; here the statements name their indexes.
-- locks: none   returns: 1 row
SELECT 'off' AS sequential_scans;

-- name: moved
-- Which of the next accounts are to be compared: their base row isn't the one that was compared last, they have a
-- transfer that no complete round has counted, or something in the tail, or had then, holds that don't add up, or drift
-- that isn't gone. What stands in the tail or is held without a base row belongs to the page too.
-- locks: none   returns: 1 row: the accounts, how many were looked at, and up to which
WITH page AS (
    SELECT
        base.account_id,
        base.keeping,
        base.held,
        coalesce(
            base.amount = known.amount AND base.held = known.held AND base.payments = known.payments
            AND base.changed_at = known.changed_at AND known.tailed = 0, 0
        ) AS known
    FROM lastro.base AS base FORCE INDEX (primary)
    LEFT JOIN lastro.reconciled AS known ON base.account_id = known.account_id
    WHERE base.account_id > %(after_id)s
    ORDER BY base.account_id
    LIMIT %(accounts_max)s
),

reach AS (
    SELECT
        count(*) AS scanned,
        CASE WHEN count(*) < %(accounts_max)s THEN %(id_max)s ELSE max(page.account_id) END AS last_id
    FROM page
),

held AS (
    SELECT
        open_hold.account_id,
        sum(open_hold.left_over) AS amount
    FROM lastro.open_hold AS open_hold
    WHERE
        open_hold.account_id > %(after_id)s
        AND open_hold.account_id <= (SELECT reach.last_id FROM reach)
    GROUP BY open_hold.account_id
),

moved AS (
    SELECT page.account_id
    FROM page
    LEFT JOIN held ON page.account_id = held.account_id
    WHERE
        %(full_pass)s = 1
        OR page.known = 0
        OR page.held <> coalesce(held.amount, 0)
        OR (
            page.keeping <> 'summed'
            AND (
                (
                    SELECT 1 FROM lastro.transfer AS debited FORCE INDEX (primary)
                    WHERE debited.debit_id = page.account_id AND debited.id > %(checked_id)s
                    LIMIT 1
                ) IS NOT NULL
                OR (
                    SELECT 1 FROM lastro.transfer AS credited FORCE INDEX (transfer_credit)
                    WHERE credited.credit_id = page.account_id AND credited.id > %(checked_id)s
                    LIMIT 1
                ) IS NOT NULL
            )
        )
    UNION
    SELECT tail.account_id
    FROM lastro.tail AS tail
    WHERE tail.account_id > %(after_id)s AND tail.account_id <= (SELECT reach.last_id FROM reach)
    UNION
    SELECT held.account_id
    FROM held
    WHERE NOT EXISTS (SELECT 1 FROM lastro.base AS base WHERE base.account_id = held.account_id)
    UNION
    SELECT incident.account_id
    FROM lastro.incident AS incident
    WHERE
        incident.cleared_at IS NULL
        AND incident.account_id > %(after_id)s
        AND incident.account_id <= (SELECT reach.last_id FROM reach)
    UNION
    SELECT account.id AS account_id
    FROM lastro.account AS account
    WHERE
        %(full_pass)s = 1
        AND account.id > %(after_id)s
        AND account.id <= (SELECT reach.last_id FROM reach)
)

SELECT
    reach.scanned,
    reach.last_id,
    (SELECT coalesce(JSON_ARRAYAGG(moved.account_id), '[]') FROM moved) AS ids
FROM reach;

-- name: compare
-- What is stored of some accounts, and what their history and their open holds say, all in one snapshot. The history is
-- added up from where it was when both agreed last. Of an account kept direct each entry must start from the sum of
-- those before it and end with its own. A balance that is kept summed is its history, and differs by nothing.
-- locks: none   returns: 1 row an account
WITH asked AS (
    SELECT
        wanted.account_id,
        account.id IS NOT NULL AS named,
        base.keeping,
        base.amount,
        base.held,
        base.payments,
        base.changed_at,
        known.id_floor AS agreed_id,
        CASE WHEN known.history_amount IS NULL OR %(full_pass)s = 1 THEN 0 ELSE known.id_floor END AS id_floor,
        CAST(
            CASE WHEN known.history_amount IS NULL OR %(full_pass)s = 1 THEN 0 ELSE known.history_amount END
            AS decimal(38, 0)
        ) AS start_amount
    FROM json_table(%(account_ids)s, '$[*]' COLUMNS (account_id bigint PATH '$')) AS wanted
    LEFT JOIN lastro.base AS base ON wanted.account_id = base.account_id
    LEFT JOIN lastro.account AS account ON wanted.account_id = account.id
    LEFT JOIN lastro.reconciled AS known ON wanted.account_id = known.account_id
),

side AS (
    SELECT
        asked.account_id,
        asked.start_amount,
        debited.id,
        -debited.amount AS amount,
        debited.debit_before AS balance_before,
        debited.debit_after AS balance_after
    FROM asked
    STRAIGHT_JOIN lastro.transfer AS debited FORCE INDEX (primary)
        ON asked.account_id = debited.debit_id AND debited.id > asked.id_floor
    WHERE asked.keeping <> 'summed'
    UNION ALL
    SELECT
        asked.account_id,
        asked.start_amount,
        credited.id,
        credited.amount,
        credited.credit_before AS balance_before,
        credited.credit_after AS balance_after
    FROM asked
    STRAIGHT_JOIN lastro.transfer AS credited FORCE INDEX (transfer_credit)
        ON asked.account_id = credited.credit_id AND credited.id > asked.id_floor
    WHERE asked.keeping <> 'summed'
),

link AS (
    SELECT
        side.account_id,
        side.id,
        side.amount,
        side.balance_before,
        side.balance_after,
        side.start_amount + sum(side.amount) OVER (PARTITION BY side.account_id ORDER BY side.id) AS running
    FROM side
),

chained AS (
    SELECT
        link.account_id,
        sum(link.amount) AS amount,
        sum(CASE WHEN link.id <= %(settled_id)s THEN link.amount END) AS settled_amount,
        min(
            CASE
                WHEN
                    (link.balance_before IS NOT NULL OR link.balance_after IS NOT NULL)
                    AND NOT (
                        link.balance_before <=> link.running - link.amount AND link.balance_after <=> link.running
                    )
                    THEN link.id
            END
        ) AS broken_id
    FROM link
    GROUP BY link.account_id
)

SELECT
    asked.account_id,
    asked.named,
    asked.keeping,
    asked.amount,
    asked.held,
    asked.payments,
    asked.changed_at,
    asked.agreed_id,
    greatest(asked.id_floor, %(settled_id)s) AS id_floor,
    CAST(asked.amount AS decimal(38, 0)) + CASE asked.keeping
        WHEN 'hot' THEN coalesce((
            SELECT sum(tail.amount) FROM lastro.tail AS tail WHERE tail.account_id = asked.account_id
        ), 0)
        ELSE 0
    END AS stored,
    CASE asked.keeping WHEN 'summed' THEN 0 ELSE asked.start_amount + coalesce(chained.amount, 0) END AS history,
    asked.start_amount + coalesce(chained.settled_amount, 0) AS settled_history,
    chained.broken_id,
    (
        SELECT
            count(
                CASE
                    WHEN
                        NOT asked.keeping <=> 'hot'
                        OR NOT (
                            EXISTS (
                                SELECT 1 FROM lastro.transfer AS credited FORCE INDEX (transfer_credit)
                                WHERE credited.credit_id = tail.account_id AND credited.id = tail.transfer_id
                            )
                            OR EXISTS (
                                SELECT 1 FROM lastro.transfer AS debited FORCE INDEX (primary)
                                WHERE debited.debit_id = tail.account_id AND debited.id = tail.transfer_id
                            )
                        )
                        THEN 1
                END
            )
        FROM lastro.tail AS tail
        WHERE tail.account_id = asked.account_id
    ) AS strays,
    (SELECT count(*) FROM lastro.tail AS tail WHERE tail.account_id = asked.account_id) > 0 AS tailed,
    coalesce((
        SELECT sum(open_hold.left_over) FROM lastro.open_hold AS open_hold
        WHERE open_hold.account_id = asked.account_id
    ), 0) AS held_open,
    (
        SELECT count(*) FROM lastro.incident AS incident
        WHERE
            incident.account_id = asked.account_id
            AND (incident.cleared_at IS NULL OR incident.explained_at IS NULL)
    ) AS incidents
FROM asked
LEFT JOIN chained ON asked.account_id = chained.account_id
ORDER BY asked.account_id;

-- name: link
-- An entry, and what its account had before it by its history.
-- locks: none   returns: 0 or 1 row
SELECT
    CASE side.debit_id WHEN %(account_id)s THEN -side.amount ELSE side.amount END AS amount,
    CASE side.debit_id WHEN %(account_id)s THEN side.debit_before ELSE side.credit_before END AS balance_before,
    CASE side.debit_id WHEN %(account_id)s THEN side.debit_after ELSE side.credit_after END AS balance_after,
    coalesce((
        SELECT sum(credited.amount) FROM lastro.transfer AS credited
        WHERE credited.credit_id = %(account_id)s AND credited.id < %(transfer_id)s
    ), 0)
    - coalesce((
        SELECT sum(debited.amount) FROM lastro.transfer AS debited
        WHERE debited.debit_id = %(account_id)s AND debited.id < %(transfer_id)s
    ), 0) AS history_before
FROM lastro.transfer AS side
WHERE
    side.id = %(transfer_id)s
    AND (side.debit_id = %(account_id)s OR side.credit_id = %(account_id)s);

-- name: note
-- Note how these accounts were when they agreed, for the next look to start from.
-- locks: the accounts' rows of reconciled, in account order   returns: nothing
/* each */ INSERT INTO lastro.reconciled (
    account_id, amount, held, payments, changed_at, id_floor, history_amount, tailed
)
VALUES (
    %(account_ids)s, %(amounts)s, %(helds)s, %(payments)s, %(changed_at)s, %(id_floors)s, %(history_amounts)s,
    %(tailed)s
)
ON DUPLICATE KEY UPDATE
amount = VALUES (amount),
held = VALUES (held),
payments = VALUES (payments),
changed_at = VALUES (changed_at),
id_floor = VALUES (id_floor),
history_amount = VALUES (history_amount),
tailed = VALUES (tailed);
