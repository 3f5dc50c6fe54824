-- Rebuilding what activity earned by a rule. The transaction holds the base row of the member's account, and reads in
-- following statements; how far the rebuild came is written in the same transaction.

-- name: begin
-- Begin a rebuild; one that is under way stays as it is, and one that is done begins anew.
-- locks: its row of progress   returns: nothing
INSERT INTO lastro.points_rebuild (
    rule, version, starts_at, ends_at, after_member, members, changes, given, taken, started_at
)
VALUES (
    %(rule)s::text, %(version)s::integer, %(starts_at)s::timestamptz, %(ends_at)s::timestamptz,
    %(no_member)s::bigint, 0, 0, 0, 0, coalesce(%(now)s::timestamptz, now())
)
ON CONFLICT (rule, version, starts_at, ends_at) DO UPDATE
SET
    after_member = excluded.after_member,
    members = 0,
    changes = 0,
    given = 0,
    taken = 0,
    started_at = excluded.started_at,
    done_at = NULL
WHERE points_rebuild.done_at IS NOT NULL;

-- name: progress
-- How far a rebuild has come.
-- locks: none   returns: 0 or 1 row
SELECT
    points_rebuild.after_member,
    points_rebuild.members,
    points_rebuild.changes,
    points_rebuild.given,
    points_rebuild.taken
FROM lastro.points_rebuild AS points_rebuild
WHERE
    points_rebuild.rule = %(rule)s::text AND points_rebuild.version = %(version)s::integer
    AND points_rebuild.starts_at = %(starts_at)s::timestamptz AND points_rebuild.ends_at = %(ends_at)s::timestamptz;

-- name: touch
-- Write the base row of an account that is rebuilt, whether anything is posted to it or not: who decides by an older
-- snapshot must meet a changed row, or it would give points by the version that is put aside here.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.base
SET changed_at = coalesce(%(now)s::timestamptz, now())
WHERE account_id = %(account_id)s::bigint;

-- name: note
-- Note what one transaction of a rebuild did, and that the member is done where nothing is left; once for each member.
-- locks: its row of progress   returns: nothing
UPDATE lastro.points_rebuild
SET
    members = members + CASE WHEN after_member < %(member_id)s::bigint THEN %(is_done)s::integer ELSE 0 END,
    after_member = CASE
        WHEN %(is_done)s::integer = 1 AND after_member < %(member_id)s::bigint THEN %(member_id)s::bigint
        ELSE after_member
    END,
    changes = changes + %(changes)s::bigint,
    given = given + %(given)s::bigint,
    taken = taken + %(taken)s::bigint
WHERE
    rule = %(rule)s::text AND version = %(version)s::integer
    AND starts_at = %(starts_at)s::timestamptz AND ends_at = %(ends_at)s::timestamptz;

-- name: finish
-- Note that a rebuild is done.
-- locks: its row of progress   returns: nothing
UPDATE lastro.points_rebuild
SET done_at = coalesce(%(now)s::timestamptz, now())
WHERE
    rule = %(rule)s::text AND version = %(version)s::integer
    AND starts_at = %(starts_at)s::timestamptz AND ends_at = %(ends_at)s::timestamptz;

-- name: count_members
-- How many members did something of a kind between two moments.
-- locks: none   returns: 1 row
SELECT count(*) AS members
FROM lastro.points_member AS member
WHERE
    member.erased_at IS NULL
    AND EXISTS (
        SELECT 1 FROM lastro.activity AS activity
        WHERE
            activity.member_id = member.id AND activity.kind = %(kind)s::text
            AND activity.occurred_at >= %(starts_at)s::timestamptz AND activity.occurred_at < %(ends_at)s::timestamptz
    );

-- name: members
-- A page of the members who did something of a kind between two moments, in the order of their ids.
-- locks: none   returns: 0 … rows_max rows
SELECT
    member.id,
    member.name
FROM lastro.points_member AS member
WHERE
    member.id > %(after_id)s::bigint AND member.erased_at IS NULL
    AND EXISTS (
        SELECT 1 FROM lastro.activity AS activity
        WHERE
            activity.member_id = member.id AND activity.kind = %(kind)s::text
            AND activity.occurred_at >= %(starts_at)s::timestamptz AND activity.occurred_at < %(ends_at)s::timestamptz
    )
ORDER BY member.id
LIMIT %(rows_max)s;

-- name: first_activity
-- When a member first did something of a kind between two moments.
-- locks: none   returns: 1 row; NULL where there is none
SELECT min(activity.occurred_at) AS occurred_at
FROM lastro.activity AS activity
WHERE
    activity.member_id = %(member_id)s::bigint AND activity.kind = %(kind)s::text
    AND activity.occurred_at >= %(starts_at)s::timestamptz AND activity.occurred_at < %(ends_at)s::timestamptz;

-- name: activities
-- What a member did of a kind in one period.
-- locks: none   returns: 1 row an activity
SELECT
    activity.id,
    activity.key,
    member.name AS member,
    activity.kind,
    activity.units,
    activity.occurred_at,
    activity.recorded_at,
    cancelled.cancelled_at
FROM lastro.activity AS activity
INNER JOIN lastro.points_member AS member ON activity.member_id = member.id
LEFT JOIN lastro.activity_cancelled AS cancelled ON activity.id = cancelled.activity_id
WHERE
    activity.member_id = %(member_id)s::bigint AND activity.kind = %(kind)s::text
    AND activity.occurred_at >= %(starts_at)s::timestamptz AND activity.occurred_at < %(ends_at)s::timestamptz
ORDER BY activity.occurred_at, activity.id;

-- name: movements
-- Every movement of what that activity earned by a rule, and how much of each was taken back.
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
FROM lastro.activity AS activity
INNER JOIN lastro.earning AS earning ON activity.id = earning.activity_id
INNER JOIN lastro.points_rule AS rule ON earning.rule = rule.name AND earning.version = rule.version
WHERE
    activity.member_id = %(member_id)s::bigint AND activity.kind = %(kind)s::text
    AND activity.occurred_at >= %(starts_at)s::timestamptz AND activity.occurred_at < %(ends_at)s::timestamptz
    AND earning.rule = %(rule)s::text
ORDER BY earning.activity_id, earning.number;
