-- Members: who takes part. A name is a member's until it is erased; after that it may be another's.

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
-- Queue behind whoever erases this member or opens an account for it; no row where it was erased meanwhile.
-- locks: the member's row   returns: 0 or 1 row
SELECT member.id
FROM lastro.points_member AS member
WHERE member.name = %(name)s::text
FOR NO KEY UPDATE;
