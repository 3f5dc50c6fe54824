-- Reconciling: which accounts moved, and whether what is stored of them is what their history says. Whatever is
-- compared is read by one statement, in one snapshot. Sums go in two halves of 32 bits, for sum() fails where a partial
-- sum leaves 64; the running sum of an account is a balance it once had, and one writer at a time never left the range.

-- name: state
-- How far reconciliation has come.
-- locks: none   returns: 1 row
SELECT
    reconciliation.checked_id,
    reconciliation.settled_id,
    reconciliation.candidate_id,
    reconciliation.waits_for
FROM lastro_reconciliation AS reconciliation;

-- name: reached
-- The newest transfer. Ids are given out in the order of the commits.
-- locks: none   returns: 1 row
SELECT coalesce(max(transfer.id), 0) AS last_id
FROM lastro_transfer AS transfer;

-- name: note_candidate
-- Note up to where everything is settled once certain transactions have ended.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_reconciliation
SET candidate_id = %(candidate_id)s, waits_for = %(waits_for)s
WHERE only_row = 1;

-- name: settle
-- Those transactions have ended.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_reconciliation
SET settled_id = max(settled_id, %(candidate_id)s), candidate_id = NULL, waits_for = NULL
WHERE only_row = 1;

-- name: finish
-- A complete round has counted everything up to a transfer.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_reconciliation
SET checked_id = max(checked_id, %(checked_id)s), finished_at = %(now)s
WHERE only_row = 1;

-- name: prefer_indexes
-- What another planner has to be told.
-- locks: none   returns: 1 row
SELECT 'off' AS sequential_scans;

-- name: moved
-- Which of the next accounts are to be compared: their base row isn't the one that was compared last, they have a
-- transfer that no complete round has counted, or something in the tail, or had then, holds that don't add up, or drift
-- that isn't gone. What stands in the tail or is held without a base row belongs to the page too.
-- locks: none   returns: 1 row: the accounts, how many were looked at, and up to which
WITH page AS MATERIALIZED (
    SELECT
        base.account_id,
        base.keeping,
        base.held,
        coalesce(
            base.amount = known.amount AND base.held = known.held AND base.payments = known.payments
            AND base.changed_at = known.changed_at AND NOT known.tailed, 0
        ) AS known
    FROM lastro_base AS base
    LEFT JOIN lastro_reconciled AS known ON base.account_id = known.account_id
    WHERE base.account_id > %(after_id)s
    ORDER BY base.account_id
    LIMIT %(accounts_max)s
),

reach AS MATERIALIZED (
    SELECT
        count(*) AS scanned,
        CASE WHEN count(*) < %(accounts_max)s THEN %(id_max)s ELSE max(page.account_id) END AS last_id
    FROM page
),

held AS MATERIALIZED (
    SELECT
        open_hold.account_id,
        (sum(open_hold.left_over >> 32) + (sum(open_hold.left_over & 4294967295) >> 32)) * 4294967296
        + (sum(open_hold.left_over & 4294967295) & 4294967295) AS amount
    FROM lastro_open_hold AS open_hold
    WHERE
        open_hold.account_id > %(after_id)s
        AND open_hold.account_id <= (SELECT reach.last_id FROM reach)
    GROUP BY open_hold.account_id
),

moved AS MATERIALIZED (
    SELECT page.account_id
    FROM page
    LEFT JOIN held ON page.account_id = held.account_id
    WHERE
        %(full_pass)s
        OR NOT page.known
        OR page.held <> coalesce(held.amount, 0)
        OR (
            page.keeping <> 'summed'
            AND (
                EXISTS (
                    SELECT 1 FROM lastro_transfer AS debited
                    WHERE debited.debit_id = page.account_id AND debited.id > %(checked_id)s
                )
                OR EXISTS (
                    SELECT 1 FROM lastro_transfer AS credited
                    WHERE credited.credit_id = page.account_id AND credited.id > %(checked_id)s
                )
            )
        )
    UNION
    SELECT tail.account_id
    FROM lastro_tail AS tail
    WHERE tail.account_id > %(after_id)s AND tail.account_id <= (SELECT reach.last_id FROM reach)
    UNION
    SELECT held.account_id
    FROM held
    WHERE NOT EXISTS (SELECT 1 FROM lastro_base AS base WHERE base.account_id = held.account_id)
    UNION
    SELECT incident.account_id
    FROM lastro_incident AS incident
    WHERE
        incident.cleared_at IS NULL
        AND incident.account_id > %(after_id)s
        AND incident.account_id <= (SELECT reach.last_id FROM reach)
    UNION
    SELECT account.id AS account_id
    FROM lastro_account AS account
    WHERE %(full_pass)s AND account.id > %(after_id)s AND account.id <= (SELECT reach.last_id FROM reach)
)

SELECT
    reach.scanned,
    reach.last_id,
    (SELECT json_group_array(listed.account_id) FROM (SELECT moved.account_id FROM moved ORDER BY 1) AS listed) AS ids
FROM reach;

-- name: compare
-- What is stored of some accounts, and what their history and their open holds say, all in one snapshot. The history is
-- added up from where it was when both agreed last. Of an account kept direct each entry must start from the sum of
-- those before it and end with its own. A balance that is kept summed is its history, and differs by nothing.
-- locks: none   returns: 1 row an account
WITH asked AS MATERIALIZED (
    SELECT
        wanted.value AS account_id,
        account.id IS NOT NULL AS named,
        base.keeping,
        base.amount,
        base.held,
        base.payments,
        base.changed_at,
        known.id_floor AS agreed_id,
        CASE WHEN known.history_amount IS NULL OR %(full_pass)s THEN 0 ELSE known.id_floor END AS id_floor,
        CASE WHEN known.history_amount IS NULL OR %(full_pass)s THEN 0 ELSE known.history_amount END AS start_amount
    FROM json_each(%(account_ids)s) AS wanted
    LEFT JOIN lastro_base AS base ON wanted.value = base.account_id
    LEFT JOIN lastro_account AS account ON wanted.value = account.id
    LEFT JOIN lastro_reconciled AS known ON wanted.value = known.account_id
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
    CROSS JOIN lastro_transfer AS debited
    WHERE debited.debit_id = asked.account_id AND debited.id > asked.id_floor AND asked.keeping <> 'summed'
    UNION ALL
    SELECT
        asked.account_id,
        asked.start_amount,
        credited.id,
        credited.amount,
        credited.credit_before AS balance_before,
        credited.credit_after AS balance_after
    FROM asked
    CROSS JOIN lastro_transfer AS credited
    WHERE credited.credit_id = asked.account_id AND credited.id > asked.id_floor AND asked.keeping <> 'summed'
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

chained AS MATERIALIZED (
    SELECT
        link.account_id,
        (sum(link.amount >> 32) + (sum(link.amount & 4294967295) >> 32)) * 4294967296
        + (sum(link.amount & 4294967295) & 4294967295) AS amount,
        (
            sum(link.amount >> 32) FILTER (WHERE link.id <= %(settled_id)s)
            + (sum(link.amount & 4294967295) FILTER (WHERE link.id <= %(settled_id)s) >> 32)
        ) * 4294967296
        + (sum(link.amount & 4294967295) FILTER (WHERE link.id <= %(settled_id)s) & 4294967295) AS settled_amount,
        min(link.id) FILTER (
            WHERE
                (link.balance_before IS NOT NULL OR link.balance_after IS NOT NULL)
                AND (
                    link.balance_before IS NOT link.running - link.amount OR link.balance_after IS NOT link.running
                )
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
    max(asked.id_floor, %(settled_id)s) AS id_floor,
    asked.amount + CASE asked.keeping
        WHEN 'hot' THEN coalesce((
            SELECT
                (sum(tail.amount >> 32) + (sum(tail.amount & 4294967295) >> 32)) * 4294967296
                + (sum(tail.amount & 4294967295) & 4294967295)
            FROM lastro_tail AS tail
            WHERE tail.account_id = asked.account_id
        ), 0)
        ELSE 0
    END AS stored,
    CASE asked.keeping WHEN 'summed' THEN 0 ELSE asked.start_amount + coalesce(chained.amount, 0) END AS history,
    asked.start_amount + coalesce(chained.settled_amount, 0) AS settled_history,
    chained.broken_id,
    (
        SELECT
            count(*) FILTER (
                WHERE
                    asked.keeping IS NOT 'hot'
                    OR NOT EXISTS (
                        SELECT 1 FROM lastro_transfer AS named
                        WHERE named.id = tail.transfer_id AND asked.account_id IN (named.debit_id, named.credit_id)
                    )
            )
        FROM lastro_tail AS tail
        WHERE tail.account_id = asked.account_id
    ) AS strays,
    (SELECT count(*) FROM lastro_tail AS tail WHERE tail.account_id = asked.account_id) > 0 AS tailed,
    coalesce((
        SELECT
            (sum(open_hold.left_over >> 32) + (sum(open_hold.left_over & 4294967295) >> 32)) * 4294967296
            + (sum(open_hold.left_over & 4294967295) & 4294967295)
        FROM lastro_open_hold AS open_hold
        WHERE open_hold.account_id = asked.account_id
    ), 0) AS held_open,
    (
        SELECT count(*) FROM lastro_incident AS incident
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
    CASE entry.debit_id WHEN %(account_id)s THEN -entry.amount ELSE entry.amount END AS amount,
    CASE entry.debit_id WHEN %(account_id)s THEN entry.debit_before ELSE entry.credit_before END AS balance_before,
    CASE entry.debit_id WHEN %(account_id)s THEN entry.debit_after ELSE entry.credit_after END AS balance_after,
    coalesce((
        SELECT
            (sum(side.amount >> 32) + (sum(side.amount & 4294967295) >> 32)) * 4294967296
            + (sum(side.amount & 4294967295) & 4294967295)
        FROM (
            SELECT credited.amount FROM lastro_transfer AS credited
            WHERE credited.credit_id = %(account_id)s AND credited.id < %(transfer_id)s
            UNION ALL
            SELECT -debited.amount AS amount FROM lastro_transfer AS debited
            WHERE debited.debit_id = %(account_id)s AND debited.id < %(transfer_id)s
        ) AS side
    ), 0) AS history_before
FROM lastro_transfer AS entry
WHERE entry.id = %(transfer_id)s AND %(account_id)s IN (entry.debit_id, entry.credit_id);

-- name: note
-- Note how these accounts were when they agreed, for the next look to start from.
-- locks: none that isn't held already   returns: nothing
WITH seen_account_id AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS account_id
    FROM json_each(%(account_ids)s) AS given
),

seen_amount AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS amount
    FROM json_each(%(amounts)s) AS given
),

seen_held AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS held
    FROM json_each(%(helds)s) AS given
),

seen_payments AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS payments
    FROM json_each(%(payments)s) AS given
),

seen_changed_at AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS changed_at
    FROM json_each(%(changed_at)s) AS given
),

seen_id_floor AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS id_floor
    FROM json_each(%(id_floors)s) AS given
),

seen_history_amount AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS history_amount
    FROM json_each(%(history_amounts)s) AS given
),

seen_tailed AS MATERIALIZED (
    SELECT
        given.key AS place,
        given.value AS tailed
    FROM json_each(%(tailed)s) AS given
)

INSERT INTO lastro_reconciled (account_id, amount, held, payments, changed_at, id_floor, history_amount, tailed)
SELECT
    seen_account_id.account_id,
    seen_amount.amount,
    seen_held.held,
    seen_payments.payments,
    seen_changed_at.changed_at,
    seen_id_floor.id_floor,
    seen_history_amount.history_amount,
    seen_tailed.tailed
FROM seen_account_id
INNER JOIN seen_amount ON seen_account_id.place = seen_amount.place
INNER JOIN seen_held ON seen_account_id.place = seen_held.place
INNER JOIN seen_payments ON seen_account_id.place = seen_payments.place
INNER JOIN seen_changed_at ON seen_account_id.place = seen_changed_at.place
INNER JOIN seen_id_floor ON seen_account_id.place = seen_id_floor.place
INNER JOIN seen_history_amount ON seen_account_id.place = seen_history_amount.place
INNER JOIN seen_tailed ON seen_account_id.place = seen_tailed.place
WHERE true
ON CONFLICT (account_id) DO UPDATE SET
amount = excluded.amount,
held = excluded.held,
payments = excluded.payments,
changed_at = excluded.changed_at,
id_floor = excluded.id_floor,
history_amount = excluded.history_amount,
tailed = excluded.tailed;
