-- Matching: the lines of a merged sheet and the transfers they may be of, laid side by side, and what came of them. The
-- sheet's names stand in the places of `its_table`, `its_reference` and so on. Nothing here writes to the ledger.

-- name: begin
-- A number for a run.
-- locks: none   returns: 1 row
SELECT nextval('lastro.match_run_id') AS run_id;

-- name: take
-- Lay the lines and the transfers of a period and its surroundings side by side, both as of one moment. A transfer
-- between two of the accounts moves nothing in or out, and is counted only. What is longer than any reference of the
-- ledger is none.
-- locks: none   returns: 1 row
WITH looked_at AS MATERIALIZED (
    SELECT
        account.id,
        account.currency
    FROM lastro.account AS account
    WHERE
        account.name = ANY(%(names)s::text[])
        OR EXISTS (
            SELECT 1
            FROM unnest(%(beginnings)s::text[]) AS beginning (characters)
            WHERE starts_with(account.name, beginning.characters)
        )
),

moved AS MATERIALIZED (
    SELECT
        transfer.id,
        transfer.key,
        coalesce(
            CASE %(by)s::text
                WHEN 'cause' THEN transfer.cause WHEN 'source' THEN transfer.source COLLATE "C" ELSE transfer.key
            END,
            ''
        ) AS reference,
        coalesce(debited.currency, credited.currency) AS currency,
        timezone(%(zone)s::text, transfer.occurred_at)::date AS on_date,
        CASE WHEN (credited.id IS NOT NULL) = %(credits)s::boolean THEN transfer.amount ELSE -transfer.amount END
            AS amount,
        debited.id IS NOT NULL AND credited.id IS NOT NULL AS is_internal
    FROM lastro.transfer AS transfer
    LEFT JOIN looked_at AS debited ON transfer.debit_id = debited.id
    LEFT JOIN looked_at AS credited ON transfer.credit_id = credited.id
    WHERE
        transfer.occurred_at >= timezone(%(zone)s::text, %(first_on)s::date::timestamp)
        AND transfer.occurred_at < timezone(%(zone)s::text, %(end_on)s::date::timestamp)
        AND (cardinality(%(kinds)s::text[]) = 0 OR transfer.kind = ANY(%(kinds)s::text[]))
        AND (debited.id IS NOT NULL OR credited.id IS NOT NULL)
),

taken AS (
    INSERT INTO lastro.match_waiting (
        run_id, currency, reference, is_line, place, id, on_date, amount, is_inside
    )
    SELECT
        %(run_id)s::bigint,
        moved.currency,
        moved.reference,
        false,
        moved.id,
        moved.key,
        moved.on_date,
        moved.amount,
        moved.on_date >= %(since_on)s::date AND moved.on_date < %(until_on)s::date
    FROM moved
    WHERE NOT moved.is_internal
    UNION ALL
    SELECT
        %(run_id)s::bigint,
        coalesce(line.its_currency, ''),
        CASE
            WHEN length(line.its_reference) <= %(reference_characters_max)s::integer
                THEN %(before)s::text || line.its_reference || %(behind)s::text
            ELSE ''
        END,
        true,
        line.line_id,
        concat_ws(' / ', line.its_key),
        line.its_date,
        line.its_amount,
        line.its_date >= %(since_on)s::date AND line.its_date < %(until_on)s::date
    FROM lastro.its_table AS line
    WHERE
        line.its_date >= %(first_on)s::date AND line.its_date < %(end_on)s::date
        AND line.its_amount IS NOT NULL
    RETURNING is_line, is_inside
)

SELECT
    count(CASE WHEN taken.is_line AND taken.is_inside THEN 1 END) AS lines,
    count(CASE WHEN NOT taken.is_line AND taken.is_inside THEN 1 END) AS transfers,
    (
        SELECT count(*)
        FROM moved
        WHERE moved.is_internal AND moved.on_date >= %(since_on)s::date AND moved.on_date < %(until_on)s::date
    ) AS internal
FROM taken;

-- name: page
-- The next items to judge, in the order of their references, behind one of them.
-- locks: none   returns: 0 … rows_max rows
SELECT
    waiting.currency,
    waiting.reference,
    waiting.is_line,
    waiting.place,
    waiting.id,
    waiting.on_date,
    waiting.amount,
    waiting.is_inside
FROM lastro.match_waiting AS waiting
WHERE
    waiting.run_id = %(run_id)s::bigint
    AND (waiting.currency, waiting.reference, waiting.is_line, waiting.place)
    > (%(currency)s::text, %(reference)s::text, %(is_line)s::boolean, %(place)s::bigint)
ORDER BY waiting.run_id, waiting.currency, waiting.reference, waiting.is_line, waiting.place
LIMIT %(rows_max)s::bigint;

-- name: put_groups
-- What was found.
-- locks: none   returns: nothing
COPY lastro.match_group (run_id, number, outcome, currency, reference, difference, cut_short) FROM STDIN;

-- name: put_items
-- The lines and the transfers of what was found.
-- locks: none   returns: nothing
COPY lastro.match_item (run_id, group_number, is_line, place, id, on_date, amount, is_inside) FROM STDIN;

-- name: clear
-- Nothing of a run is left to judge.
-- locks: what only this run has   returns: nothing
DELETE FROM lastro.match_waiting AS waiting WHERE waiting.run_id = %(run_id)s::bigint;

-- name: note
-- Write down a run, which has ended.
-- locks: none   returns: 1 row
INSERT INTO lastro.match_run (
    run_id, spec_name, period, account, spec, lines, transfers, internal, matched, amount_differs, missing_in_ledger,
    missing_in_statement, cut_short, actor, recorded_at
)
VALUES (
    %(run_id)s::bigint, %(spec_name)s::text, %(period)s::text, %(account)s::text, %(spec)s::jsonb, %(lines)s::bigint,
    %(transfers)s::bigint, %(internal)s::bigint, %(matched)s::bigint, %(amount_differs)s::bigint,
    %(missing_in_ledger)s::bigint, %(missing_in_statement)s::bigint, %(cut_short)s::bigint, %(actor)s::text,
    coalesce(%(now)s::timestamptz, now())
)
RETURNING recorded_at;

-- name: run
-- One run.
-- locks: none   returns: 0 or 1 row
SELECT
    run.run_id,
    run.spec_name,
    run.period,
    run.account,
    run.lines,
    run.transfers,
    run.internal,
    run.matched,
    run.amount_differs,
    run.missing_in_ledger,
    run.missing_in_statement,
    run.cut_short,
    run.actor,
    run.recorded_at
FROM lastro.match_run AS run
WHERE run.run_id = %(run_id)s::bigint;

-- name: runs
-- A page of runs, the newest first: of a spec, of a period, or all.
-- locks: none   returns: 0 … rows_max rows
SELECT
    run.run_id,
    run.spec_name,
    run.period,
    run.account,
    run.lines,
    run.transfers,
    run.internal,
    run.matched,
    run.amount_differs,
    run.missing_in_ledger,
    run.missing_in_statement,
    run.cut_short,
    run.actor,
    run.recorded_at
FROM lastro.match_run AS run
WHERE
    (%(spec_name)s::text IS NULL OR run.spec_name = %(spec_name)s::text)
    AND (%(period)s::text IS NULL OR run.period = %(period)s::text)
    AND (%(before)s::bigint IS NULL OR run.run_id < %(before)s::bigint)
ORDER BY run.run_id DESC
LIMIT %(rows_max)s::bigint;

-- name: groups
-- A page of a run's groups, in their order: those that differ, or all.
-- locks: none   returns: 0 … rows_max rows
SELECT
    found.number,
    found.outcome,
    found.reference,
    found.currency,
    found.difference,
    found.cut_short
FROM lastro.match_group AS found
WHERE
    found.run_id = %(run_id)s::bigint AND found.number > %(after)s::integer
    AND (%(matched)s::boolean OR found.outcome <> 'matched')
ORDER BY found.number
LIMIT %(rows_max)s::bigint;

-- name: items
-- The items of some groups, in their order.
-- locks: none   returns: 1 row an item
SELECT
    item.group_number,
    item.is_line,
    item.place,
    item.id,
    item.on_date,
    item.amount,
    item.is_inside
FROM lastro.match_item AS item
WHERE item.run_id = %(run_id)s::bigint AND item.group_number = ANY(%(numbers)s::integer[])
ORDER BY item.group_number, item.is_line, item.on_date, item.id, item.place;
