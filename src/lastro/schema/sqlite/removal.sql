-- Taking a throw-away ledger out of a database again; only tests do that.

-- name: removal
-- The ledger's views and tables, with what hangs on them.
-- locks: the database's one write lock   returns: nothing
DROP TABLE IF EXISTS lastro_incident;
DROP TABLE IF EXISTS lastro_reconciliation;
DROP TABLE IF EXISTS lastro_reconciled;
DROP TABLE IF EXISTS lastro_adoption_event;
DROP TABLE IF EXISTS lastro_adoption_mirroring;
DROP TABLE IF EXISTS lastro_adoption_look;
DROP TABLE IF EXISTS lastro_adoption_difference;
DROP TABLE IF EXISTS lastro_adoption_row;
DROP TABLE IF EXISTS lastro_adoption;
DROP VIEW IF EXISTS lastro_hold_standing;
DROP TABLE IF EXISTS lastro_open_hold;
DROP TABLE IF EXISTS lastro_hold_event;
DROP TABLE IF EXISTS lastro_hold;
DROP VIEW IF EXISTS lastro_movement;
DROP VIEW IF EXISTS lastro_balance;
DROP VIEW IF EXISTS lastro_entry;
DROP VIEW IF EXISTS lastro_transfer_key;
DROP TABLE IF EXISTS lastro_open_mark;
DROP TABLE IF EXISTS lastro_closing_block;
DROP TABLE IF EXISTS lastro_closing;
DROP TABLE IF EXISTS lastro_mark;
DROP TABLE IF EXISTS lastro_closed_period;
DROP TABLE IF EXISTS lastro_period_closing;
DROP TABLE IF EXISTS lastro_kind;
DROP TABLE IF EXISTS lastro_points_rebuild;
DROP TABLE IF EXISTS lastro_lot_use;
DROP TABLE IF EXISTS lastro_open_lot;
DROP TABLE IF EXISTS lastro_lot;
DROP TABLE IF EXISTS lastro_allowance;
DROP TABLE IF EXISTS lastro_earning;
DROP TABLE IF EXISTS lastro_activity_cancelled;
DROP TABLE IF EXISTS lastro_activity;
DROP TABLE IF EXISTS lastro_points_member;
DROP TABLE IF EXISTS lastro_points_rule;
DROP TABLE IF EXISTS lastro_counter;
DROP TABLE IF EXISTS lastro_reversal;
DROP TABLE IF EXISTS lastro_tail;
DROP TABLE IF EXISTS lastro_transfer;
DROP TABLE IF EXISTS lastro_base;
DROP TABLE IF EXISTS lastro_account;
DROP TABLE IF EXISTS lastro_migration;
