-- Reconciling: which accounts moved, and whether what is stored of them is what their history says. Nothing here locks
-- what a posting waits for, and whatever is compared is read by one statement, in one snapshot.

-- name: state
-- How far reconciliation has come.
-- locks: none   returns: 1 row
SELECT
    reconciliation.checked_id,
    reconciliation.settled_id,
    reconciliation.candidate_id,
    reconciliation.waits_for
FROM lastro.reconciliation AS reconciliation;

-- name: reached
-- A transfer up to which all ids have been given out. Who was given one of them has ended, or is open in a following
-- statement.
-- locks: none   returns: 1 row
SELECT CASE WHEN sequence.is_called THEN sequence.last_value ELSE 0 END AS last_id
FROM lastro.transfer_id AS sequence;

-- name: note_candidate
-- Note up to where everything is settled once certain transactions have ended.
-- locks: the row of reconciliation   returns: nothing
UPDATE lastro.reconciliation
SET candidate_id = %(candidate_id)s::bigint, waits_for = %(waits_for)s::text
WHERE only_row;

-- name: settle
-- Those transactions have ended.
-- locks: the row of reconciliation   returns: nothing
UPDATE lastro.reconciliation
SET settled_id = greatest(settled_id, %(candidate_id)s::bigint), candidate_id = NULL, waits_for = NULL
WHERE only_row;

-- name: finish
-- A complete round has counted everything up to a transfer.
-- locks: the row of reconciliation   returns: nothing
UPDATE lastro.reconciliation
SET
    checked_id = greatest(checked_id, %(checked_id)s::bigint),
    finished_at = coalesce(%(now)s::timestamptz, now())
WHERE only_row;

-- name: prefer_indexes
-- For the statements of this transaction: find accounts and their entries by the indexes that are there for it. Where
-- most transfers have one debit side, the planner takes any account for that one and would rather read all of history.
-- locks: none   returns: 1 row
SELECT set_config('enable_seqscan', 'off', true) AS sequential_scans;

-- name: moved
-- Which of the next accounts are to be compared: their base row isn't the one that was compared last, they have a
-- transfer that no complete round has counted, or something in the tail, or had then, holds that don't add up, or drift
-- that isn't gone. A transfer is looked for account by account, in the two indexes of the history: the LIMITs keep the
-- planner from reading all of it, and the upper bound keeps it out of the partitions that are ahead of need. What
-- stands in the tail or is held without a base row belongs to the page too.
-- locks: none   returns: 1 row: the accounts, how many were looked at, and up to which
WITH page AS MATERIALIZED (
    SELECT
        base.account_id,
        base.keeping,
        base.held,
        coalesce(
            base.amount = known.amount AND base.held = known.held AND base.payments = known.payments
            AND base.changed_at = known.changed_at AND NOT known.tailed, false
        ) AS known
    FROM lastro.base AS base
    LEFT JOIN lastro.reconciled AS known ON base.account_id = known.account_id
    WHERE base.account_id > %(after_id)s::bigint
    ORDER BY base.account_id
    LIMIT %(accounts_max)s
),

reach AS MATERIALIZED (
    SELECT
        count(*) AS scanned,
        CASE WHEN count(*) < %(accounts_max)s THEN %(id_max)s::bigint ELSE max(page.account_id) END AS last_id
    FROM page
),

held AS MATERIALIZED (
    SELECT
        open_hold.account_id,
        sum(open_hold.left_over) AS amount
    FROM lastro.open_hold AS open_hold
    WHERE
        open_hold.account_id > %(after_id)s::bigint
        AND open_hold.account_id <= (SELECT reach.last_id FROM reach)
    GROUP BY open_hold.account_id
),

moved AS (
    SELECT page.account_id
    FROM page
    LEFT JOIN held ON page.account_id = held.account_id
    WHERE
        %(full_pass)s::boolean
        OR NOT page.known
        OR page.held <> coalesce(held.amount, 0)
        OR (
            page.keeping <> 'summed'
            AND (
                (
                    SELECT 1 AS one FROM lastro.transfer AS debited
                    WHERE debited.debit_id = page.account_id AND debited.id > %(checked_id)s::bigint
                    AND debited.id <= %(newest_id)s::bigint
                    LIMIT 1
                ) IS NOT NULL
                OR (
                    SELECT 1 AS one FROM lastro.transfer AS credited
                    WHERE credited.credit_id = page.account_id AND credited.id > %(checked_id)s::bigint
                    AND credited.id <= %(newest_id)s::bigint
                    LIMIT 1
                ) IS NOT NULL
            )
        )
    UNION
    SELECT tail.account_id
    FROM lastro.tail AS tail
    WHERE
        tail.account_id > %(after_id)s::bigint
        AND tail.account_id <= (SELECT reach.last_id FROM reach)
    UNION
    SELECT held.account_id
    FROM held
    WHERE NOT EXISTS (SELECT FROM lastro.base AS base WHERE base.account_id = held.account_id)
    UNION
    SELECT incident.account_id
    FROM lastro.incident AS incident
    WHERE
        incident.cleared_at IS NULL
        AND incident.account_id > %(after_id)s::bigint
        AND incident.account_id <= (SELECT reach.last_id FROM reach)
    UNION
    SELECT account.id AS account_id
    FROM lastro.account AS account
    WHERE
        %(full_pass)s::boolean
        AND account.id > %(after_id)s::bigint
        AND account.id <= (SELECT reach.last_id FROM reach)
)

SELECT
    reach.scanned,
    reach.last_id,
    (SELECT coalesce(array_agg(moved.account_id ORDER BY moved.account_id), '{}') FROM moved) AS ids
FROM reach;

-- name: compare
-- What is stored of some accounts, and what their history and their open holds say, all in one snapshot. The history is
-- added up from where it was when both agreed last; a full pass starts with what retired partitions took out of it. Of
-- an account kept direct each entry must start from the sum of those before it and end with its own, where nothing was
-- retired from above it. A balance that is kept summed is its history, and may differ only by what was carried over.
-- locks: none   returns: 1 row an account
WITH asked AS MATERIALIZED (
    SELECT
        wanted.account_id,
        account.id IS NOT NULL AS named,
        base.keeping,
        base.amount,
        base.held,
        base.payments,
        base.changed_at,
        known.id_floor AS agreed_id,
        coalesce(carried.amount, 0) AS carried_amount,
        carried.id_ceiling AS carried_id,
        CASE WHEN known.history_amount IS NULL OR %(full_pass)s::boolean THEN 0 ELSE known.id_floor END AS id_floor,
        CASE
            WHEN known.history_amount IS NULL OR %(full_pass)s::boolean THEN coalesce(carried.amount, 0)
            ELSE known.history_amount
        END AS start_amount
    FROM unnest(%(account_ids)s::bigint[]) AS wanted (account_id)
    LEFT JOIN lastro.base AS base ON wanted.account_id = base.account_id
    LEFT JOIN lastro.account AS account ON wanted.account_id = account.id
    LEFT JOIN lastro.reconciled AS known ON wanted.account_id = known.account_id
    LEFT JOIN lastro.carried_over AS carried ON wanted.account_id = carried.account_id
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
    greatest(asked.id_floor, %(settled_id)s::bigint) AS id_floor,
    asked.amount + CASE asked.keeping WHEN 'hot' THEN tailed.amount ELSE 0 END AS stored,
    CASE asked.keeping
        WHEN 'summed' THEN asked.carried_amount
        ELSE asked.start_amount + coalesce(chained.amount, added.amount, 0)
    END AS history,
    asked.start_amount + coalesce(chained.settled_amount, added.settled_amount, 0) AS settled_history,
    chained.broken_id,
    tailed.strays,
    tailed.entries > 0 AS tailed,
    (
        SELECT coalesce(sum(open_hold.left_over), 0) FROM lastro.open_hold AS open_hold
        WHERE open_hold.account_id = asked.account_id
    ) AS held_open,
    (
        SELECT count(*) FROM lastro.incident AS incident
        WHERE
            incident.account_id = asked.account_id
            AND (incident.cleared_at IS NULL OR incident.explained_at IS NULL)
    ) AS incidents
FROM asked
CROSS JOIN LATERAL (
    SELECT
        coalesce(sum(tail.amount), 0) AS amount,
        count(*) AS entries,
        count(*) FILTER (
            WHERE
                asked.keeping IS DISTINCT FROM 'hot'
                OR NOT (
                    coalesce(tail.transfer_id <= asked.carried_id, false)
                    OR EXISTS (
                        SELECT FROM lastro.transfer AS credited
                        WHERE credited.credit_id = asked.account_id AND credited.id = tail.transfer_id
                    )
                    OR EXISTS (
                        SELECT FROM lastro.transfer AS debited
                        WHERE debited.debit_id = asked.account_id AND debited.id = tail.transfer_id
                    )
                )
        ) AS strays
    FROM lastro.tail AS tail
    WHERE tail.account_id = asked.account_id
) AS tailed
CROSS JOIN LATERAL (
    SELECT
        sum(link.amount) AS amount,
        sum(link.amount) FILTER (WHERE link.id <= %(settled_id)s::bigint) AS settled_amount,
        min(link.id) FILTER (WHERE link.broken) AS broken_id
    FROM (
        SELECT
            side.id,
            side.amount,
            (side.balance_before IS NOT NULL OR side.balance_after IS NOT NULL)
            AND side.id > coalesce(asked.carried_id, 0)
            AND (
                side.balance_before IS DISTINCT FROM asked.start_amount + sum(side.amount) OVER running - side.amount
                OR side.balance_after IS DISTINCT FROM asked.start_amount + sum(side.amount) OVER running
            ) AS broken
        FROM (
            SELECT
                debited.id,
                -debited.amount AS amount,
                debited.debit_before AS balance_before,
                debited.debit_after AS balance_after
            FROM lastro.transfer AS debited
            WHERE
                debited.debit_id = asked.account_id AND debited.id > asked.id_floor
                AND (asked.keeping = 'direct' OR (asked.keeping = 'hot' AND %(full_pass)s::boolean))
            UNION ALL
            SELECT
                credited.id,
                credited.amount,
                credited.credit_before AS balance_before,
                credited.credit_after AS balance_after
            FROM lastro.transfer AS credited
            WHERE
                credited.credit_id = asked.account_id AND credited.id > asked.id_floor
                AND (asked.keeping = 'direct' OR (asked.keeping = 'hot' AND %(full_pass)s::boolean))
        ) AS side
        WINDOW running AS (ORDER BY side.id)
    ) AS link
) AS chained
CROSS JOIN LATERAL (
    SELECT
        sum(side.amount) AS amount,
        sum(side.amount) FILTER (WHERE side.id <= %(settled_id)s::bigint) AS settled_amount
    FROM (
        SELECT
            debited.id,
            -debited.amount AS amount
        FROM lastro.transfer AS debited
        WHERE
            debited.debit_id = asked.account_id AND debited.id > asked.id_floor
            AND asked.keeping = 'hot' AND NOT %(full_pass)s::boolean
        UNION ALL
        SELECT
            credited.id,
            credited.amount
        FROM lastro.transfer AS credited
        WHERE
            credited.credit_id = asked.account_id AND credited.id > asked.id_floor
            AND asked.keeping = 'hot' AND NOT %(full_pass)s::boolean
    ) AS side
) AS added
ORDER BY asked.account_id;

-- name: link
-- An entry, and what its account had before it by its history.
-- locks: none   returns: 0 or 1 row
SELECT
    side.amount,
    side.balance_before,
    side.balance_after,
    coalesce((
        SELECT carried.amount FROM lastro.carried_over AS carried
        WHERE carried.account_id = %(account_id)s::bigint
    ), 0)
    + coalesce((
        SELECT sum(credited.amount) FROM lastro.transfer AS credited
        WHERE credited.credit_id = %(account_id)s::bigint AND credited.id < %(transfer_id)s::bigint
    ), 0)
    - coalesce((
        SELECT sum(debited.amount) FROM lastro.transfer AS debited
        WHERE debited.debit_id = %(account_id)s::bigint AND debited.id < %(transfer_id)s::bigint
    ), 0) AS history_before
FROM (
    SELECT
        -debited.amount AS amount,
        debited.debit_before AS balance_before,
        debited.debit_after AS balance_after
    FROM lastro.transfer AS debited
    WHERE debited.debit_id = %(account_id)s::bigint AND debited.id = %(transfer_id)s::bigint
    UNION ALL
    SELECT
        credited.amount,
        credited.credit_before AS balance_before,
        credited.credit_after AS balance_after
    FROM lastro.transfer AS credited
    WHERE credited.credit_id = %(account_id)s::bigint AND credited.id = %(transfer_id)s::bigint
) AS side;

-- name: note
-- Note how these accounts were when they agreed, for the next look to start from.
-- locks: the accounts' rows of reconciled, in account order   returns: nothing
INSERT INTO lastro.reconciled (account_id, amount, held, payments, changed_at, id_floor, history_amount, tailed)
SELECT
    seen.account_id,
    seen.amount,
    seen.held,
    seen.payments,
    seen.changed_at,
    seen.id_floor,
    seen.history_amount,
    seen.tailed
FROM unnest(
    %(account_ids)s::bigint[], %(amounts)s::bigint[], %(helds)s::bigint[], %(payments)s::bigint[],
    %(changed_at)s::timestamptz[], %(id_floors)s::bigint[], %(history_amounts)s::bigint[],
    %(tailed)s::boolean[]
) AS seen (account_id, amount, held, payments, changed_at, id_floor, history_amount, tailed)
ON CONFLICT (account_id) DO UPDATE SET
amount = excluded.amount,
held = excluded.held,
payments = excluded.payments,
changed_at = excluded.changed_at,
id_floor = excluded.id_floor,
history_amount = excluded.history_amount,
tailed = excluded.tailed;
