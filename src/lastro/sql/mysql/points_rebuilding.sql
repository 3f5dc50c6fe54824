-- Rebuilding what activity earned by a rule. The transaction holds the base row of the member's account, and reads in
-- following statements; how far the rebuild came is written in the same transaction.

-- name: begin
-- Begin a rebuild; one that is under way stays as it is, and one that is done begins anew.
-- locks: its row of progress   returns: nothing
INSERT INTO lastro.points_rebuild (
    rule, version, starts_at, ends_at, after_member, members, changes, given, taken, started_at
)
VALUES (
    %(rule)s, %(version)s, %(starts_at)s, %(ends_at)s,
    %(no_member)s, 0, 0, 0, 0, coalesce(%(now)s, utc_timestamp(6))
)
ON DUPLICATE KEY UPDATE
    after_member = if(points_rebuild.done_at IS NULL, points_rebuild.after_member, %(no_member)s),
    members = if(points_rebuild.done_at IS NULL, points_rebuild.members, 0),
    changes = if(points_rebuild.done_at IS NULL, points_rebuild.changes, 0),
    given = if(points_rebuild.done_at IS NULL, points_rebuild.given, 0),
    taken = if(points_rebuild.done_at IS NULL, points_rebuild.taken, 0),
    started_at = if(
        points_rebuild.done_at IS NULL, points_rebuild.started_at, coalesce(%(now)s, utc_timestamp(6))
    ),
    -- Last, for the others ask what it was.
    done_at = nullif(points_rebuild.done_at, points_rebuild.done_at);

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
    points_rebuild.rule = %(rule)s AND points_rebuild.version = %(version)s
    AND points_rebuild.starts_at = %(starts_at)s AND points_rebuild.ends_at = %(ends_at)s;

-- name: touch
-- Write the base row of an account that is rebuilt, whether anything is posted to it or not: who decides by an older
-- snapshot must meet a changed row, or it would give points by the version that is put aside here.
-- locks: none that isn't held already   returns: nothing
UPDATE lastro.base
SET changed_at = coalesce(%(now)s, utc_timestamp(6))
WHERE account_id = %(account_id)s;

-- name: note
-- Note what one transaction of a rebuild did, and that the member is done where nothing is left; once for each member.
-- locks: its row of progress   returns: nothing
UPDATE lastro.points_rebuild
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
-- locks: its row of progress   returns: nothing
UPDATE lastro.points_rebuild
SET done_at = coalesce(%(now)s, utc_timestamp(6))
WHERE
    rule = %(rule)s AND version = %(version)s
    AND starts_at = %(starts_at)s AND ends_at = %(ends_at)s;

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
            activity.member_id = member.id AND activity.kind = %(kind)s
            AND activity.occurred_at >= %(starts_at)s AND activity.occurred_at < %(ends_at)s
    );

-- name: members
-- A page of the members who did something of a kind between two moments, in the order of their ids.
-- locks: none   returns: 0 … rows_max rows
SELECT
    member.id,
    member.name
FROM lastro.points_member AS member
WHERE
    member.id > %(after_id)s AND member.erased_at IS NULL
    AND EXISTS (
        SELECT 1 FROM lastro.activity AS activity
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
FROM lastro.activity AS activity
WHERE
    activity.member_id = %(member_id)s AND activity.kind = %(kind)s
    AND activity.occurred_at >= %(starts_at)s AND activity.occurred_at < %(ends_at)s;

-- name: activities
-- What a member did of a kind in one period.
-- locks: none   returns: 1 row an activity
SELECT
    activity.id,
    activity.`key`,
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
        FROM lastro.reversal AS reversal
        WHERE reversal.original_id = earning.transfer_id
    ) AS already
FROM lastro.activity AS activity
INNER JOIN lastro.earning AS earning ON activity.id = earning.activity_id
INNER JOIN lastro.points_rule AS rule ON earning.rule = rule.name AND earning.version = rule.version
WHERE
    activity.member_id = %(member_id)s AND activity.kind = %(kind)s
    AND activity.occurred_at >= %(starts_at)s AND activity.occurred_at < %(ends_at)s
    AND earning.rule = %(rule)s
ORDER BY earning.activity_id, earning.number;
