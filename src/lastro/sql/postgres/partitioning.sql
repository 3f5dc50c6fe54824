-- The partitions of the history. Statements that make partitions are composed here and executed by the plan: their
-- names and bounds can't be parameters.

-- name: lock
-- Let one partition keeper at a time through.
-- locks: advisory, by ledger   returns: nothing
SELECT pg_advisory_xact_lock(hashtextextended('lastro keeps partitions of ' || 'lastro.transfer'::regclass::oid, 0));

-- name: list
-- The partitions with bounds, in order.
-- locks: none   returns: 1 row a partition; the default one is left out
SELECT
    partition.relname AS name,
    (regexp_match(pg_get_expr(partition.relpartbound, partition.oid), 'FROM [(]''?(-?[0-9]+)'))[1]::bigint AS from_id,
    (regexp_match(pg_get_expr(partition.relpartbound, partition.oid), 'TO [(]''?(-?[0-9]+)'))[1]::bigint AS to_id,
    greatest(partition.reltuples, 0)::bigint AS transfers_about
FROM pg_inherits AS link
INNER JOIN pg_class AS partition ON link.inhrelid = partition.oid
WHERE link.inhparent = 'lastro.transfer'::regclass AND pg_get_expr(partition.relpartbound, partition.oid) <> 'DEFAULT'
ORDER BY 2;

-- name: reached
-- How far the ids have come, and the lowest and highest that had to go to the default partition.
-- locks: none   returns: 1 row
SELECT
    sequence.last_value AS last_id,
    (SELECT min(stray.id) FROM lastro.transfer_default AS stray) AS first_stray_id,
    (SELECT max(stray.id) FROM lastro.transfer_default AS stray) AS stray_id
FROM lastro.transfer_id AS sequence;

-- name: compose_add
-- The statements that add an empty partition. Made beside the history and then attached: posting goes on meanwhile.
-- locks: none   returns: 1 row; what it composes takes SHARE UPDATE EXCLUSIVE on transfer, ACCESS EXCLUSIVE on default
SELECT
    format(
        'CREATE TABLE lastro.%%1$I (LIKE lastro.transfer INCLUDING ALL);
         CREATE TRIGGER %%1$s_not_truncated BEFORE TRUNCATE ON lastro.%%1$I
         FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
         ALTER TABLE lastro.transfer ATTACH PARTITION lastro.%%1$I FOR VALUES FROM (%%2$s) TO (%%3$s);',
        'transfer_p' || %(from_id)s::bigint, %(from_id)s::bigint, %(to_id)s::bigint
    ) AS script;

-- name: compose_adopt
-- The statements that turn the default partition, with the rows that strayed there, into the partition it stood in for.
-- Nothing is moved. Postings wait while the rows are checked against the bounds.
-- locks: none   returns: 1 row; what it composes takes ACCESS EXCLUSIVE on transfer
SELECT
    format(
        'ALTER TABLE lastro.transfer DETACH PARTITION lastro.transfer_default;
         ALTER TABLE lastro.transfer_default RENAME TO %%1$I;
         ALTER TABLE lastro.transfer ATTACH PARTITION lastro.%%1$I FOR VALUES FROM (%%2$s) TO (%%3$s);
         CREATE TABLE lastro.transfer_default PARTITION OF lastro.transfer DEFAULT;
         CREATE TRIGGER transfer_default_not_truncated BEFORE TRUNCATE ON lastro.transfer_default
         FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();',
        'transfer_p' || %(from_id)s::bigint, %(from_id)s::bigint, %(to_id)s::bigint
    ) AS script;

-- name: compose_close
-- The statement that waits for whoever is still writing to a partition, and lets nobody write to it any more.
-- locks: none   returns: 1 row; what it composes takes SHARE on the partition
SELECT format('LOCK TABLE lastro.%%I IN SHARE MODE;', %(name)s::text) AS script;

-- name: carry_over
-- Add what a partition holds of accounts kept summed to their base amounts, before it leaves the history.
-- locks: the base rows of those accounts, in account order   returns: 1 row an account
WITH summed AS MATERIALIZED (
    SELECT base.account_id
    FROM lastro.base AS base
    WHERE base.keeping = 'summed'
    ORDER BY base.account_id
    FOR NO KEY UPDATE
),

leaving AS (
    SELECT
        side.account_id,
        sum(side.amount) AS amount
    FROM (
        SELECT debit_id AS account_id, -amount AS amount FROM lastro.transfer
        WHERE id >= %(from_id)s::bigint AND id < %(to_id)s::bigint
        UNION ALL
        SELECT credit_id AS account_id, amount FROM lastro.transfer
        WHERE id >= %(from_id)s::bigint AND id < %(to_id)s::bigint
    ) AS side
    GROUP BY side.account_id
)

UPDATE lastro.base
SET amount = base.amount + leaving.amount, changed_at = now()
FROM leaving
INNER JOIN summed ON leaving.account_id = summed.account_id
WHERE base.account_id = leaving.account_id
RETURNING base.account_id;

-- name: carry_history
-- Note what a partition takes out of each account's history, and forget how far that history was added up where the
-- partition holds entries beyond. It is the partition's own rows that leave: nobody writes to it any more. Where no
-- closing counts them, note their greatest moments too: before those nobody can tell any more what an account stood at.
-- locks: the rows of carried_over and reconciled of its accounts   returns: nothing
WITH leaving AS MATERIALIZED (
    SELECT
        side.account_id,
        sum(side.amount) AS amount,
        max(side.recorded_at) AS recorded_max_at,
        max(side.occurred_at) AS occurred_max_at
    FROM (
        SELECT debit_id AS account_id, -amount AS amount, recorded_at, occurred_at FROM lastro.transfer
        WHERE id >= %(from_id)s::bigint AND id < %(to_id)s::bigint
        UNION ALL
        SELECT credit_id AS account_id, amount, recorded_at, occurred_at FROM lastro.transfer
        WHERE id >= %(from_id)s::bigint AND id < %(to_id)s::bigint
    ) AS side
    GROUP BY side.account_id
),

forgotten AS (
    DELETE FROM lastro.reconciled
    USING leaving
    WHERE reconciled.account_id = leaving.account_id AND reconciled.id_floor < %(to_id)s::bigint - 1
)

INSERT INTO lastro.carried_over (account_id, amount, id_ceiling, recorded_max_at, occurred_max_at)
SELECT
    leaving.account_id,
    leaving.amount,
    %(to_id)s::bigint - 1,
    CASE WHEN NOT %(closed)s::boolean THEN leaving.recorded_max_at END,
    CASE WHEN NOT %(closed)s::boolean THEN leaving.occurred_max_at END
FROM leaving
ORDER BY leaving.account_id
ON CONFLICT (account_id) DO UPDATE SET
amount = carried_over.amount + excluded.amount,
id_ceiling = greatest(carried_over.id_ceiling, excluded.id_ceiling),
recorded_max_at = greatest(carried_over.recorded_max_at, excluded.recorded_max_at),
occurred_max_at = greatest(carried_over.occurred_max_at, excluded.occurred_max_at);

-- name: compose_retire
-- The statement that takes a partition out of the history; the table stays, for an archive, under its name.
-- locks: none   returns: 1 row; what it composes takes ACCESS EXCLUSIVE on transfer
SELECT format('ALTER TABLE lastro.transfer DETACH PARTITION lastro.%%I;', %(name)s::text) AS script;
