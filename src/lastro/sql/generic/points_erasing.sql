-- Erasing a member. Nothing of the history is touched: it names accounts by their ids.

-- name: accounts
-- The accounts of this name, in whatever currency. Nobody opens another while the member's row is held.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: erase
-- Put a pseudonym in the place of a member's name, drop what was noted of its accounts, close them, and drop what is
-- left in their lots. Closed, so that whoever still believes that the name is theirs can't post to them.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite
