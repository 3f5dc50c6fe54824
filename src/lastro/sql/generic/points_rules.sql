-- Earning rules. Every version stays; the highest version of a rule counts.

-- name: define
-- Write a version of a rule, or nothing where somebody else has written that version.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: newest
-- The newest version of a rule.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: for_activity
-- The newest version of every rule for a kind of activity, those that have ended as well.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: list
-- A page of rules in the order of their names, each in its newest version.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite
