-- The transaction around a plan's statements: where it can return to. There is one lock, taken before the first
-- statement by the engine, which bounds the wait for it; so the steps that set a limit have nothing to do here.
-- noqa: disable=PRS

-- name: limit_lock_wait
-- Nothing to set.
-- locks: none   returns: 1 row
SELECT
    '' AS callers,
    %(lock_timeout)s AS ours;

-- name: restore_lock_wait
-- Nothing to give back.
-- locks: none   returns: 1 row
SELECT %(lock_timeout)s AS lock_timeout;

-- name: give_lock_wait_back
-- Nothing to give back.
-- locks: none   returns: 1 row
SELECT
    'nothing to restore' AS callers_lock_timeout,
    '' AS nothing_to_restore;

-- name: savepoint
-- Where to return to when the plan is refused.
-- locks: none   returns: nothing
SAVEPOINT lastro_plan;

-- name: rollback_to_savepoint
-- Undo what the plan wrote.
-- locks: none   returns: nothing
ROLLBACK TO SAVEPOINT lastro_plan;

-- name: release_savepoint
-- Forget the savepoint.
-- locks: none   returns: nothing
RELEASE SAVEPOINT lastro_plan;

-- name: write_lock
-- Take the write lock in a transaction that its caller began, by a write that changes no row: a transaction that has
-- read and then writes, after somebody else has written, is refused by SQLite whatever it waits.
-- locks: the database's one write lock   returns: nothing
UPDATE lastro_base
SET held = held
WHERE account_id IS NULL;
