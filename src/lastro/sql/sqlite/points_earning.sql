-- What activity earns. The transaction holds the base row of every account that is credited or debited, and that lock
-- guards the account's allowance: each statement reads in a snapshot of its own, taken after the lock was granted.

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
FROM json_each(%(names)s) AS wanted
INNER JOIN lastro_account AS account ON wanted.value = account.name
INNER JOIN lastro_base AS base ON account.id = base.account_id
ORDER BY account.id;

-- name: note_activity
-- Write an activity of a member; nothing where its key is taken, or where there is no such member.
-- locks: none that isn't held already   returns: 0 or 1 row
INSERT INTO lastro_activity (key, member_id, kind, units, occurred_at, recorded_at)
SELECT
    %(key)s,
    member.id,
    %(kind)s,
    %(units)s,
    coalesce(%(occurred_at)s, %(now)s),
    %(now)s
FROM lastro_points_member AS member
WHERE member.name = %(member)s
ON CONFLICT (key) DO NOTHING
RETURNING id, member_id, occurred_at, recorded_at;

-- name: activity
-- An activity by its key, in a snapshot taken after whoever holds the key has committed.
-- locks: none   returns: 0 or 1 row
SELECT
    activity.id,
    activity.key,
    activity.member_id,
    member.name AS member,
    activity.kind,
    activity.units,
    activity.occurred_at,
    activity.recorded_at,
    cancelled.cancelled_at
FROM lastro_activity AS activity
INNER JOIN lastro_points_member AS member ON activity.member_id = member.id
LEFT JOIN lastro_activity_cancelled AS cancelled ON activity.id = cancelled.activity_id
WHERE activity.key = %(key)s;

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
        FROM lastro_reversal AS reversal
        WHERE reversal.original_id = earning.transfer_id
    ) AS already
FROM lastro_earning AS earning
INNER JOIN lastro_points_rule AS rule ON earning.rule = rule.name AND earning.version = rule.version
WHERE earning.activity_id = %(activity_id)s
ORDER BY earning.rule, earning.number;

-- name: note_earning
-- Write one movement of what an activity earned by a rule.
-- locks: none   returns: nothing
INSERT INTO lastro_earning (activity_id, rule, number, version, transfer_id, amount)
VALUES (
    %(activity_id)s, %(rule)s, %(number)s, %(version)s, %(transfer_id)s,
    %(amount)s
);

-- name: note_cancelled
-- Write that an activity was cancelled; nothing where it was already.
-- locks: none that isn't held already   returns: 0 or 1 row
INSERT INTO lastro_activity_cancelled (activity_id, cancelled_at, actor)
VALUES (%(activity_id)s, %(now)s, %(actor)s)
ON CONFLICT (activity_id) DO NOTHING
RETURNING cancelled_at;

-- name: room
-- How much of a cap is used up in a period.
-- locks: none   returns: 0 or 1 row; none where nobody has added it up yet
SELECT allowance.used
FROM lastro_allowance AS allowance
WHERE
    allowance.account_id = %(account_id)s AND allowance.rule = %(rule)s
    AND allowance.version = %(version)s AND allowance.period_start = %(period_start)s;

-- name: earned_in_period
-- What a member's activity in a period has earned by a rule, added up from its movements: for the first use of a cap.
-- locks: none   returns: 1 row
SELECT coalesce(sum(earning.amount), 0) AS used
FROM lastro_activity AS activity
INNER JOIN lastro_earning AS earning ON activity.id = earning.activity_id
WHERE
    activity.member_id = %(member_id)s AND activity.kind = %(kind)s
    AND activity.occurred_at >= %(period_start)s AND activity.occurred_at < %(period_end)s
    AND earning.rule = %(rule)s;

-- name: keep_room
-- Keep how much of a cap is used up in a period.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro_allowance (account_id, rule, version, period_start, used)
VALUES (
    %(account_id)s, %(rule)s, %(version)s, %(period_start)s, %(used)s
)
ON CONFLICT (account_id, rule, version, period_start) DO UPDATE SET used = excluded.used;

-- name: give_room_back
-- Give back what a cancelled activity took of a cap; nothing where nobody has added that period up yet.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_allowance
SET used = used - %(amount)s
WHERE
    account_id = %(account_id)s AND rule = %(rule)s
    AND version = %(version)s AND period_start = %(period_start)s;
