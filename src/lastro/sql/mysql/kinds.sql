-- The kinds of transfer that a ledger has registered. The trigger that holds every writer to them asks their table.

-- name: list
-- The registered kinds.
-- locks: none, or in a caller's transaction the kinds   returns: 1 row a kind
SELECT
    kind.name,
    kind.debit,
    kind.credit,
    kind.either_way,
    kind.undone_by
FROM lastro.kind AS kind
ORDER BY kind.name
/* current */;

-- name: lock
-- Let one registration at a time through. By name, for DDL would commit; the engine lets it go when the plan has ended.
-- locks: a named lock, by ledger   returns: 1 row
SELECT get_lock(concat('lastro registers kinds of ', md5('lastro.kind')), 2) AS granted;

-- name: is_used
-- Whether anything was posted under this kind.
-- locks: none   returns: 1 row
SELECT count(*) > 0 AS found
FROM (SELECT 1 AS one FROM lastro.transfer AS transfer WHERE transfer.kind = %(kind)s LIMIT 1) AS used;

-- name: hold_writers
-- Nothing to hold here: the caller waits afterwards for the transactions that were open before.
-- locks: none   returns: 1 row
SELECT 1 AS held;

-- name: put
-- Register a kind, or change its terms.
-- locks: the kind's row   returns: nothing
INSERT INTO lastro.kind (name, debit, credit, either_way, undone_by, registered_at)
VALUES (
    %(name)s, %(debit)s, %(credit)s, %(either_way)s, %(undone_by)s, coalesce(%(now)s, utc_timestamp(6))
)
ON DUPLICATE KEY UPDATE
debit = %(debit)s,
credit = %(credit)s,
either_way = %(either_way)s,
undone_by = %(undone_by)s,
registered_at = coalesce(%(now)s, utc_timestamp(6));

-- name: compose_guard
-- Nothing to make: the trigger is there from the first day.
-- locks: none   returns: 1 row
SELECT '' AS script;

-- name: under_way
-- Transactions that may still post by the terms from before: all that are open on the server. How the list is read is
-- said at keeping.under_way.
-- locks: a named lock   returns: 1 row a transaction; granted is 0 where the list can't be trusted
SELECT get_lock('lastro looks for transactions', 30) AS granted;
START TRANSACTION;
SELECT count(*) AS migrations FROM lastro.migration AS migration;
DO sleep(0.12);
SELECT count(*) AS granted
FROM information_schema.innodb_trx AS own
WHERE own.trx_mysql_thread_id = connection_id();
SELECT
    concat(running.trx_mysql_thread_id, ' since ', running.trx_started, ' ', running.trx_id) AS transaction,
    CAST(running.trx_mysql_thread_id AS signed) AS pid,
    coalesce(process.user, 'another user''s') AS application,
    timestampdiff(SECOND, running.trx_started, now()) AS age_s,
    120 AS look_ms
FROM information_schema.innodb_trx AS running
LEFT JOIN information_schema.processlist AS process ON running.trx_mysql_thread_id = process.id
WHERE running.trx_mysql_thread_id <> connection_id();
COMMIT;
DO release_lock('lastro looks for transactions');
