-- Expiring lots: found without a lock, then locked and read again.

-- name: due
-- Lots past their expiry in the order in which they fell due, those after one of them.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: lock
-- Those of the accounts that are open and that nobody else holds: who spends isn't waited for, with others held up
-- meanwhile. The balance is read by a following statement.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: still_due
-- What is left of these lots, whose accounts this transaction holds.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite
