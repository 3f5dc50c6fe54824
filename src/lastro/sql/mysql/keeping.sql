-- Changing how an account is kept while others post to it.

-- name: under_way
-- Transactions that may still post by what they knew before this statement: all that are open on the server, for one
-- that has only read yet may go on to write. Prepared (XA) ones count. Our own doesn't. The server refreshes its list
-- of transactions only when nobody has read it for a tenth of a second: so one process at a time looks, waits first,
-- and looks for itself in the list; where it isn't there, somebody reads the list all the time and it is stale.
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

-- name: turn
-- From now on whoever posts to this account locks its base row first.
-- locks: none that isn't held already   returns: 1 row: which turning this is
UPDATE lastro.base
SET state = 'turning', turns = turns + 1, changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE account_id = %(account_id)s;
SELECT base.turns
FROM lastro.base AS base
WHERE base.account_id = %(account_id)s;

-- name: turn_back
-- Post to this account as before.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.base
SET state = 'open', changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE account_id = %(account_id)s;

-- name: set_terms
-- The new terms of an account, with the base amount that leaves its balance as it is.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.base
SET
    keeping = %(keeping)s,
    state = 'open',
    amount = %(amount)s,
    payments = payments + 1,
    changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE account_id = %(account_id)s;

-- name: has_tail
-- Whether anything of an account is still to be folded in.
-- locks: none   returns: 1 row
SELECT count(*) > 0 AS found
FROM (SELECT tail.transfer_id FROM lastro.tail AS tail WHERE tail.account_id = %(account_id)s LIMIT 1) AS first_row;

-- name: summed_history
-- What the history sums to for an account.
-- locks: none   returns: 1 row
SELECT
    coalesce((
        SELECT sum(transfer.amount) FROM lastro.transfer AS transfer
        WHERE transfer.credit_id = %(account_id)s
    ), 0)
    - coalesce((
        SELECT sum(transfer.amount) FROM lastro.transfer AS transfer
        WHERE transfer.debit_id = %(account_id)s
    ), 0) AS amount;
