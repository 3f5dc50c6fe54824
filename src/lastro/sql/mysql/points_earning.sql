-- What activity earns. The transaction holds the base row of every account that is credited or debited, and that lock
-- guards the allowance: each statement reads what is committed by then, in a caller's REPEATABLE READ as well.

-- name: accounts
-- The accounts of these names, in every currency.
-- locks: none   returns: 0 or more rows for each name
SELECT
    account.id,
    account.name,
    account.currency,
    base.keeping,
    base.state,
    base.floor
FROM json_table(%(names)s, '$[*]' COLUMNS (name varchar(340) CHARACTER SET utf8mb4 PATH '$')) AS wanted
STRAIGHT_JOIN lastro.account AS account FORCE INDEX (account_name_and_currency_once)
    ON CAST(wanted.name AS binary) = account.name
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON account.id = base.account_id
ORDER BY account.id;

-- name: note_activity
-- Write an activity of a member; nothing where its key is taken, or where there is no such member: then the row of
-- nobody is taken back at once. Only INSERT … VALUES draws an id without a lock on the table.
-- locks: the key   returns: 0 or 1 row
SELECT max(member.id) INTO @lastro_member
FROM lastro.points_member AS member FORCE INDEX (points_member_name_once)
WHERE member.name = %(member)s /* current */;
INSERT INTO lastro.activity (`key`, member_id, kind, units, occurred_at, recorded_at)
VALUES (
    %(key)s, coalesce(@lastro_member, -1), %(kind)s, %(units)s,
    coalesce(%(occurred_at)s, %(now)s, utc_timestamp(6)), coalesce(%(now)s, utc_timestamp(6))
)
ON DUPLICATE KEY UPDATE units = activity.units + 0 * last_insert_id(0);
DELETE FROM lastro.activity
WHERE id = if(@lastro_member IS NULL, last_insert_id(), NULL);
SELECT
    activity.id,
    activity.member_id,
    activity.occurred_at,
    activity.recorded_at
FROM lastro.activity AS activity
WHERE @lastro_member IS NOT NULL AND activity.id = last_insert_id();

-- name: activity
-- An activity by its key, in a snapshot taken after whoever holds the key has committed.
-- locks: none   returns: 0 or 1 row
SELECT
    activity.id,
    activity.`key`,
    activity.member_id,
    member.name AS member,
    activity.kind,
    activity.units,
    activity.occurred_at,
    activity.recorded_at,
    cancelled.cancelled_at
FROM lastro.activity AS activity FORCE INDEX (activity_key_once)
STRAIGHT_JOIN lastro.points_member AS member FORCE INDEX (primary) ON activity.member_id = member.id
LEFT JOIN lastro.activity_cancelled AS cancelled FORCE INDEX (primary) ON activity.id = cancelled.activity_id
WHERE activity.`key` = %(key)s
/* current */;

-- name: movements
-- Every movement of what an activity earned, and how much of each was taken back.
-- locks: none   returns: 1 row a movement
SELECT
    earning.activity_id,
    earning.rule,
    earning.number,
    earning.version,
    earning.transfer_id,
    earning.amount,
    rule.currency,
    (
        SELECT coalesce(max(reversal.already + reversal.amount), 0)
        FROM lastro.reversal AS reversal FORCE INDEX (primary)
        WHERE reversal.original_id = earning.transfer_id /* current */
    ) AS already
FROM lastro.earning AS earning FORCE INDEX (primary)
STRAIGHT_JOIN lastro.points_rule AS rule FORCE INDEX (primary)
    ON earning.rule = rule.name AND earning.version = rule.version
WHERE earning.activity_id = %(activity_id)s
ORDER BY earning.rule, earning.number
/* current */;

-- name: note_earning
-- Write one movement of what an activity earned by a rule.
-- locks: none   returns: nothing
INSERT INTO lastro.earning (activity_id, rule, number, version, transfer_id, amount)
VALUES (
    %(activity_id)s, %(rule)s, %(number)s, %(version)s, %(transfer_id)s,
    %(amount)s
);

-- name: note_cancelled
-- Write that an activity was cancelled; nothing where it was already: LAST_INSERT_ID() says which.
-- locks: none that isn't held already   returns: 0 or 1 row
SELECT last_insert_id(1) INTO @lastro_new;
INSERT INTO lastro.activity_cancelled (activity_id, cancelled_at, actor)
VALUES (%(activity_id)s, coalesce(%(now)s, utc_timestamp(6)), CONVERT(%(actor)s USING utf8mb4))
ON DUPLICATE KEY UPDATE activity_id = activity_cancelled.activity_id + 0 * last_insert_id(0);
SELECT cancelled.cancelled_at
FROM lastro.activity_cancelled AS cancelled
WHERE last_insert_id() = 1 AND cancelled.activity_id = %(activity_id)s;

-- name: room
-- How much of a cap is used up in a period. In a caller's transaction this reads with a lock, and one on a row that
-- isn't there would lock the gap in which other members get theirs: so there is a row, of which nothing is known yet.
-- locks: none that isn't held already   returns: 0 or 1 row; none where nobody has added it up yet
/* held */ INSERT INTO lastro.allowance (account_id, rule, version, period_start, used)
VALUES (%(account_id)s, %(rule)s, %(version)s, %(period_start)s, -1)
ON DUPLICATE KEY UPDATE used = allowance.used;
SELECT allowance.used
FROM lastro.allowance AS allowance FORCE INDEX (primary)
WHERE
    allowance.account_id = %(account_id)s AND allowance.rule = %(rule)s
    AND allowance.version = %(version)s AND allowance.period_start = %(period_start)s AND allowance.used >= 0
/* current */;

-- name: earned_in_period
-- What a member's activity in a period has earned by a rule, added up from its movements: for the first use of a cap.
-- locks: none   returns: 1 row
SELECT coalesce(sum(earning.amount), 0) AS used
FROM lastro.activity AS activity FORCE INDEX (activity_of_member)
STRAIGHT_JOIN lastro.earning AS earning FORCE INDEX (primary) ON activity.id = earning.activity_id
WHERE
    activity.member_id = %(member_id)s AND activity.kind = %(kind)s
    AND activity.occurred_at >= %(period_start)s AND activity.occurred_at < %(period_end)s
    AND earning.rule = %(rule)s
/* current */;

-- name: keep_room
-- Keep how much of a cap is used up in a period.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro.allowance (account_id, rule, version, period_start, used)
VALUES (
    %(account_id)s, %(rule)s, %(version)s, %(period_start)s, %(used)s
)
ON DUPLICATE KEY UPDATE used = %(used)s;

-- name: give_room_back
-- Give back what a cancelled activity took of a cap; nothing where nobody has added that period up yet.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.allowance
SET used = used - %(amount)s
WHERE
    account_id = %(account_id)s AND rule = %(rule)s
    AND version = %(version)s AND period_start = %(period_start)s AND used >= 0;
