-- Taking a throw-away ledger out of a database again; only tests do that.

-- name: removal
-- The ledger's schema, with all that is in it.
-- locks: everything in the schema   returns: nothing
DROP SCHEMA IF EXISTS lastro CASCADE;
