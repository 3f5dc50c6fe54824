-- Members: who takes part. A name is a member's until it is erased; after that it may be another's.

-- name: find
-- The member of this name.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: join
-- Insert a member, or nothing where the name is taken. The id is random and says nothing about anybody.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: lock
-- Queue behind whoever erases this member or opens an account for it; no row where it was erased meanwhile. The row is
-- written, not only locked: an erasure in a REPEATABLE READ that began before an account was opened doesn't see that
-- account, and must meet a changed row instead of leaving the name there.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite
