-- Rebuilding what activity earned by a rule. The transaction holds the base row of the member's account, and reads in
-- following statements; how far the rebuild came is written in the same transaction.

-- name: begin
-- Begin a rebuild; one that is under way stays as it is, and one that is done begins anew.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro_points_rebuild (
    rule, version, starts_at, ends_at, after_member, members, changes, given, taken, started_at
)
VALUES (
    %(rule)s, %(version)s, %(starts_at)s, %(ends_at)s,
    %(no_member)s, 0, 0, 0, 0, %(now)s
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
WHERE lastro_points_rebuild.done_at IS NOT NULL;

-- name: progress
-- How far a rebuild has come.
-- locks: none   returns: 0 or 1 row
SELECT
    points_rebuild.after_member,
    points_rebuild.members,
    points_rebuild.changes,
    points_rebuild.given,
    points_rebuild.taken
FROM lastro_points_rebuild AS points_rebuild
WHERE
    points_rebuild.rule = %(rule)s AND points_rebuild.version = %(version)s
    AND points_rebuild.starts_at = %(starts_at)s AND points_rebuild.ends_at = %(ends_at)s;

-- name: touch
-- Write the base row of an account that is rebuilt, whether anything is posted to it or not: who decides by an older
-- snapshot must meet a changed row, or it would give points by the version that is put aside here.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_base
SET changed_at = %(now)s
WHERE account_id = %(account_id)s;

-- name: note
-- Note what one transaction of a rebuild did, and that the member is done where nothing is left; once for each member.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_points_rebuild
SET
    members = members + CASE WHEN after_member < %(member_id)s THEN %(is_done)s ELSE 0 END,
    after_member = CASE
        WHEN %(is_done)s = 1 AND after_member < %(member_id)s THEN %(member_id)s
        ELSE after_member
    END,
    changes = changes + %(changes)s,
    given = given + %(given)s,
    taken = taken + %(taken)s
WHERE
    rule = %(rule)s AND version = %(version)s
    AND starts_at = %(starts_at)s AND ends_at = %(ends_at)s;

-- name: finish
-- Note that a rebuild is done.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro_points_rebuild
SET done_at = %(now)s
WHERE
    rule = %(rule)s AND version = %(version)s
    AND starts_at = %(starts_at)s AND ends_at = %(ends_at)s;

-- name: count_members
-- How many members did something of a kind between two moments.
-- locks: none   returns: 1 row
SELECT count(*) AS members
FROM lastro_points_member AS member
WHERE
    member.erased_at IS NULL
    AND EXISTS (
        SELECT 1 FROM lastro_activity AS activity
        WHERE
            activity.member_id = member.id AND activity.kind = %(kind)s
            AND activity.occurred_at >= %(starts_at)s AND activity.occurred_at < %(ends_at)s
    );

-- name: members
-- A page of the members who did something of a kind between two moments, in the order of their ids.
-- locks: none   returns: 0 … rows_max rows
SELECT
    member.id,
    member.name
FROM lastro_points_member AS member
WHERE
    member.id > %(after_id)s AND member.erased_at IS NULL
    AND EXISTS (
        SELECT 1 FROM lastro_activity AS activity
        WHERE
            activity.member_id = member.id AND activity.kind = %(kind)s
            AND activity.occurred_at >= %(starts_at)s AND activity.occurred_at < %(ends_at)s
    )
ORDER BY member.id
LIMIT %(rows_max)s;

-- name: first_activity
-- When a member first did something of a kind between two moments.
-- locks: none   returns: 1 row; NULL where there is none
SELECT min(activity.occurred_at) AS occurred_at
FROM lastro_activity AS activity
WHERE
    activity.member_id = %(member_id)s AND activity.kind = %(kind)s
    AND activity.occurred_at >= %(starts_at)s AND activity.occurred_at < %(ends_at)s;

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
FROM lastro_activity AS activity
INNER JOIN lastro_points_member AS member ON activity.member_id = member.id
LEFT JOIN lastro_activity_cancelled AS cancelled ON activity.id = cancelled.activity_id
WHERE
    activity.member_id = %(member_id)s AND activity.kind = %(kind)s
    AND activity.occurred_at >= %(starts_at)s AND activity.occurred_at < %(ends_at)s
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
        FROM lastro_reversal AS reversal
        WHERE reversal.original_id = earning.transfer_id
    ) AS already
FROM lastro_activity AS activity
INNER JOIN lastro_earning AS earning ON activity.id = earning.activity_id
INNER JOIN lastro_points_rule AS rule ON earning.rule = rule.name AND earning.version = rule.version
WHERE
    activity.member_id = %(member_id)s AND activity.kind = %(kind)s
    AND activity.occurred_at >= %(starts_at)s AND activity.occurred_at < %(ends_at)s
    AND earning.rule = %(rule)s
ORDER BY earning.activity_id, earning.number;
