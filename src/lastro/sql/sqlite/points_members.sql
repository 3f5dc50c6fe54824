-- Members: who takes part. A name is a member's until it is erased; after that it may be another's.

-- name: find
-- The member of this name.
-- locks: none   returns: 0 or 1 row
SELECT member.id
FROM lastro_points_member AS member
WHERE member.name = %(name)s;

-- name: join
-- Insert a member, or nothing where the name is taken. The id is random and says nothing about anybody.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro_points_member (id, name, joined_at)
VALUES (random() & 9223372036854775807, %(name)s, %(now)s)
ON CONFLICT (name) DO NOTHING;

-- name: lock
-- Find the member; the transaction holds the write lock of the whole database, so it stays.
-- locks: none that isn't held already   returns: 0 or 1 row
SELECT member.id
FROM lastro_points_member AS member
WHERE member.name = %(name)s;
