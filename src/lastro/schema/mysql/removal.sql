-- What takes a ledger away again, for tests: everything it holds is gone.

-- name: removal
-- Drop the ledger with all it holds.
-- locks: all of it   returns: nothing
DROP SCHEMA IF EXISTS lastro;
