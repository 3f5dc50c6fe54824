-- Rebuilding what activity earned by a rule. The transaction holds the base row of the member's account, and reads in

-- name: begin
-- Begin a rebuild; one that is under way stays as it is, and one that is done begins anew.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: progress
-- How far a rebuild has come.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: note
-- Note what one transaction of a rebuild did, and that the member is done where nothing is left; once for each member.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: finish
-- Note that a rebuild is done.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: count_members
-- How many members did something of a kind between two moments.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: members
-- A page of the members who did something of a kind between two moments, in the order of their ids.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: first_activity
-- When a member first did something of a kind between two moments.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: activities
-- What a member did of a kind in one period.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: movements
-- Every movement of what that activity earned by a rule, and how much of each was taken back.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite
