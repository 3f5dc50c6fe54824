-- What activity earns. The transaction holds the base row of every account that is credited or debited, and that lock

-- name: accounts
-- The accounts of these names, in every currency.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: note_activity
-- Write an activity of a member; nothing where its key is taken, or where there is no such member.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: activity
-- An activity by its key, in a snapshot taken after whoever holds the key has committed.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: movements
-- Every movement of what an activity earned, and how much of each was taken back.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: note_earning
-- Write one movement of what an activity earned by a rule.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: note_cancelled
-- Write that an activity was cancelled; nothing where it was already.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: room
-- How much of a cap is used up in a period.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: earned_in_period
-- What a member's activity in a period has earned by a rule, added up from its movements: for the first use of a cap.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: keep_room
-- Keep how much of a cap is used up in a period.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: give_room_back
-- Give back what a cancelled activity took of a cap; nothing where nobody has added that period up yet.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite
