-- Taking a throw-away ledger out of a database again; only tests do that.

-- name: removal
-- The ledger's views and tables, with what hangs on them.
-- locks: what the database locks to drop a table   returns: nothing
DROP VIEW lastro_movement;
DROP VIEW lastro_balance;
DROP VIEW lastro_entry;
DROP TABLE lastro_counter;
DROP TABLE lastro_reversal;
DROP TABLE lastro_transfer;
DROP TABLE lastro_base;
DROP TABLE lastro_account;
DROP TABLE lastro_version;
