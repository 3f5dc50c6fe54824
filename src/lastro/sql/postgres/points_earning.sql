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
FROM unnest(%(names)s::text[]) AS wanted (name)
INNER JOIN lastro.account AS account ON wanted.name = account.name
INNER JOIN lastro.base AS base ON account.id = base.account_id
ORDER BY account.id;

-- name: note_activity
-- Write an activity of a member; nothing where its key is taken, or where there is no such member.
-- locks: the key   returns: 0 or 1 row
INSERT INTO lastro.activity (key, member_id, kind, units, occurred_at, recorded_at)
SELECT
    %(key)s::text,
    member.id,
    %(kind)s::text,
    %(units)s::bigint,
    coalesce(%(occurred_at)s::timestamptz, %(now)s::timestamptz, now()),
    coalesce(%(now)s::timestamptz, now())
FROM lastro.points_member AS member
WHERE member.name = %(member)s::text
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
FROM lastro.activity AS activity
INNER JOIN lastro.points_member AS member ON activity.member_id = member.id
LEFT JOIN lastro.activity_cancelled AS cancelled ON activity.id = cancelled.activity_id
WHERE activity.key = %(key)s::text;

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
        FROM lastro.reversal AS reversal
        WHERE reversal.original_id = earning.transfer_id
    ) AS already
FROM lastro.earning AS earning
INNER JOIN lastro.points_rule AS rule ON earning.rule = rule.name AND earning.version = rule.version
WHERE earning.activity_id = %(activity_id)s::bigint
ORDER BY earning.rule, earning.number;

-- name: note_earning
-- Write one movement of what an activity earned by a rule.
-- locks: none   returns: nothing
INSERT INTO lastro.earning (activity_id, rule, number, version, transfer_id, amount)
VALUES (
    %(activity_id)s::bigint, %(rule)s::text, %(number)s::integer, %(version)s::integer, %(transfer_id)s::bigint,
    %(amount)s::bigint
);

-- name: note_cancelled
-- Write that an activity was cancelled; nothing where it was already.
-- locks: none that isn't held already   returns: 0 or 1 row
INSERT INTO lastro.activity_cancelled (activity_id, cancelled_at, actor)
VALUES (%(activity_id)s::bigint, coalesce(%(now)s::timestamptz, now()), %(actor)s::text)
ON CONFLICT (activity_id) DO NOTHING
RETURNING cancelled_at;

-- name: room
-- How much of a cap is used up in a period.
-- locks: none   returns: 0 or 1 row; none where nobody has added it up yet
SELECT allowance.used
FROM lastro.allowance AS allowance
WHERE
    allowance.account_id = %(account_id)s::bigint AND allowance.rule = %(rule)s::text
    AND allowance.version = %(version)s::integer AND allowance.period_start = %(period_start)s::timestamptz;

-- name: earned_in_period
-- What a member's activity in a period has earned by a rule, added up from its movements: for the first use of a cap.
-- locks: none   returns: 1 row
SELECT coalesce(sum(earning.amount), 0) AS used
FROM lastro.activity AS activity
INNER JOIN lastro.earning AS earning ON activity.id = earning.activity_id
WHERE
    activity.member_id = %(member_id)s::bigint AND activity.kind = %(kind)s::text
    AND activity.occurred_at >= %(period_start)s::timestamptz AND activity.occurred_at < %(period_end)s::timestamptz
    AND earning.rule = %(rule)s::text;

-- name: keep_room
-- Keep how much of a cap is used up in a period.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro.allowance (account_id, rule, version, period_start, used)
VALUES (
    %(account_id)s::bigint, %(rule)s::text, %(version)s::integer, %(period_start)s::timestamptz, %(used)s::bigint
)
ON CONFLICT (account_id, rule, version, period_start) DO UPDATE SET used = excluded.used;

-- name: give_room_back
-- Give back what a cancelled activity took of a cap; nothing where nobody has added that period up yet.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.allowance
SET used = used - %(amount)s::bigint
WHERE
    account_id = %(account_id)s::bigint AND rule = %(rule)s::text
    AND version = %(version)s::integer AND period_start = %(period_start)s::timestamptz;
