-- Members: who takes part. A name is a member's until it is erased; after that it may be another's.

-- name: find
-- The member of this name.
-- locks: none, or in a caller's transaction the member's row   returns: 0 or 1 row
SELECT member.id
FROM lastro.points_member AS member FORCE INDEX (points_member_name_once)
WHERE member.name = %(name)s /* current */;

-- name: join
-- Insert a member, or nothing where the name is taken. The id is random and says nothing about anybody. A member who is
-- there already is seen by the look before, so that joining again locks nothing.
-- locks: none that another posting waits for   returns: nothing
SELECT
    count(*),
    CAST(conv(hex(random_bytes(8)), 16, 10) AS unsigned) >> 1
INTO @lastro_there, @lastro_id
FROM lastro.points_member AS member
WHERE member.name = %(name)s;
INSERT INTO lastro.points_member (id, name, joined_at)
SELECT
    @lastro_id,
    %(name)s,
    coalesce(%(now)s, utc_timestamp(6))
FROM dual
WHERE @lastro_there = 0
ON DUPLICATE KEY UPDATE id = points_member.id;

-- name: lock
-- Queue behind whoever erases this member or opens an account for it; no row where it was erased meanwhile.
-- locks: the member's row   returns: 0 or 1 row
SELECT member.id
FROM lastro.points_member AS member FORCE INDEX (points_member_name_once)
WHERE member.name = %(name)s
FOR UPDATE;
