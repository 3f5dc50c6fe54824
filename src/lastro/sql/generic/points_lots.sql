-- Lots of points: opened, taken from, put back. The transaction holds the base row of every account concerned, and that

-- name: open
-- Open the lots that one transfer brought to an account.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: soonest
-- The first lots of an account, those that expire soonest first; what never expires last, and of equals the oldest.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: oldest
-- The first lots of an account, those earned first before the others.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: newest
-- The first lots of an account, those earned last before the others.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: of_transfer
-- What is left of the lots that one transfer brought to an account.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: standing
-- What the open lots of an account add up to, how much of it is past its expiry and waits for the expirer, and whether
-- another account is a member's.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: use
-- Note what transfers took from lots (each use: transfer, number, account, the lot's transfer and part, amount), and
-- take it from what is left of them. No lot stands here twice.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: uses_before
-- What a transfer took from lots of an account, last taken first, from before a number on.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: put_back
-- Put points back into the lots they came from; a lot that was empty is open again, with the expiry it always had. No
-- lot stands here twice.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite

-- name: list
-- A page of an account's open lots in the order in which they expire, those after one of them. What never expires
-- stands at %(never)s, beyond every moment a lot can have.
-- locks: none   returns: nothing
-- refused: points take more than the plainest SQL; a ledger with points needs PostgreSQL, MariaDB, MySQL or SQLite
