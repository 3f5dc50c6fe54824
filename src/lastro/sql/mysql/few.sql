-- Posting a few transfers, as one checkout does: lock what is kept direct, judge in memory, write everything at once.
--
-- For batches in which no account has to be weighed first. What isn't plain (a key that is taken, an account that isn't
-- as believed, funds that don't cover) goes the way of batch.sql, which tells why: the plan then returns to its
-- savepoint, so that what was written by then is taken back.

-- name: lock
-- Lock the accounts kept direct in account order, with the wait bounded as in posting.sql.
-- locks: the base rows, in account order   returns: 1 row an account
SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT
    base.account_id,
    base.keeping,
    base.state,
    base.floor,
    base.amount,
    base.held
FROM json_table(%(account_ids)s, '$[*]' COLUMNS (account_id bigint PATH '$')) AS asked
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON asked.account_id = base.account_id
ORDER BY asked.account_id
FOR UPDATE;
SET SESSION innodb_lock_wait_timeout = @lastro_patience, @lastro_patience = NULL;

-- name: write
-- Take the keys in their order and write history, tail and base rows with them. The ids are drawn first, by
-- placeholders that are taken back at once: those of one INSERT … VALUES lie side by side, in the order of the batch.
-- locks: none that isn't held already, but for the keys   returns: 1 row: the ids, or NULL where not all was plain
SET
    @lastro_now = coalesce(%(now)s, utc_timestamp(6)),
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT count(*) = json_length(%(free_ids)s) INTO @lastro_fit
FROM json_table(%(free_ids__free_keepings__free_debited)s, '$[*]' COLUMNS (
    account_id bigint PATH '$[0]',
    keeping varchar(8) CHARACTER SET ascii PATH '$[1]',
    debited integer PATH '$[2]'
)) AS believed
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary)
    ON
        believed.account_id = base.account_id AND believed.keeping = CAST(base.keeping AS binary)
        AND base.state = 'open'
        AND (base.floor IS NULL OR believed.debited = 0)
        AND base.amount BETWEEN -%(unlocked_base_max)s AND %(unlocked_base_max)s;
SAVEPOINT lastro_draw;
/* each */ INSERT INTO lastro.transfer_key (debit_id)
VALUES (if(%(keys)s IS NULL, NULL, -1));
SET @lastro_first = last_insert_id();
ROLLBACK TO SAVEPOINT lastro_draw;
RELEASE SAVEPOINT lastro_draw;
/* each by keys */ INSERT INTO lastro.transfer_key (`key`, transfer_id, debit_id)
VALUES (%(keys)s, @lastro_first + %(place)s * @@auto_increment_increment, %(debit_ids)s)
ON DUPLICATE KEY UPDATE debit_id = transfer_key.debit_id;
SELECT @lastro_fit = 1 AND count(*) = json_length(%(keys)s) INTO @lastro_fit
FROM json_table(%(keys)s, '$[*]' COLUMNS (
    place FOR ORDINALITY,
    name varchar(400) CHARACTER SET utf8mb4 PATH '$'
)) AS wanted
STRAIGHT_JOIN lastro.transfer_key AS named FORCE INDEX (primary)
    ON
        named.transfer_id = @lastro_first + (wanted.place - 1) * @@auto_increment_increment
        AND named.`key` = CAST(wanted.name AS binary);
/* each */ INSERT INTO lastro.transfer (
    id, debit_id, credit_id, amount, debit_before, debit_after, credit_before, credit_after,
    occurred_at, recorded_at, `key`, kind, cause, source, actor, metadata
)
VALUES (
    @lastro_first + %(place)s * @@auto_increment_increment, %(debit_ids)s, %(credit_ids)s, %(transfer_amounts)s,
    %(debit_befores)s, %(debit_befores)s - %(transfer_amounts)s,
    %(credit_befores)s, %(credit_befores)s + %(transfer_amounts)s,
    coalesce(%(occurred_ats)s, @lastro_now), @lastro_now, %(keys)s, %(kinds)s, %(causes)s, %(sources)s, %(actors)s,
    %(metadatas)s
);
/* each */ INSERT INTO lastro.tail (account_id, transfer_id, amount)
VALUES (%(tailed_ids)s, @lastro_first + %(tailed_lasts)s * @@auto_increment_increment, %(tailed_amounts)s);
UPDATE json_table(%(based_ids__based_amounts__payments)s, '$[*]' COLUMNS (
    account_id bigint PATH '$[0]', amount decimal(30, 0) PATH '$[1]', payments bigint PATH '$[2]'
)) AS changed
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON changed.account_id = base.account_id
SET
    base.amount = base.amount + changed.amount,
    base.payments = base.payments + changed.payments,
    base.changed_at = @lastro_now;
SET SESSION innodb_lock_wait_timeout = @lastro_patience, @lastro_patience = NULL;
SELECT
    CASE
        WHEN @lastro_fit = 1 THEN (
            SELECT json_arrayagg(named.transfer_id)
            FROM lastro.transfer_key AS named
            WHERE
                named.transfer_id >= @lastro_first
                AND named.transfer_id < @lastro_first + json_length(%(keys)s) * @@auto_increment_increment
                AND mod(named.transfer_id - @lastro_first, @@auto_increment_increment) = 0
        )
    END AS ids,
    CAST(@lastro_now AS datetime(6)) AS recorded_at;
