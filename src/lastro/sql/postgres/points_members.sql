-- Members: who takes part. A name is a member's until it is erased; after that it may be another's.

-- name: find
-- The member of this name.
-- locks: none   returns: 0 or 1 row
SELECT member.id
FROM lastro.points_member AS member
WHERE member.name = %(name)s::text;

-- name: join
-- Insert a member, or nothing where the name is taken. The id is random and says nothing about anybody.
-- locks: none that another posting waits for   returns: nothing
INSERT INTO lastro.points_member (id, name, joined_at)
VALUES (
    hashtextextended(gen_random_uuid()::text, 0) & 9223372036854775807,
    %(name)s::text,
    coalesce(%(now)s::timestamptz, now())
)
ON CONFLICT (name) DO NOTHING;

-- name: lock
-- Queue behind whoever erases this member or opens an account for it; no row where it was erased meanwhile. The row is
-- written, not only locked: an erasure in a REPEATABLE READ that began before an account was opened doesn't see that
-- account, and must meet a changed row instead of leaving the name there.
-- locks: the member's row   returns: 0 or 1 row
UPDATE lastro.points_member
SET joined_at = joined_at
WHERE points_member.name = %(name)s::text
RETURNING id;
