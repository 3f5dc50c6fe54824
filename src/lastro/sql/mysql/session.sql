-- The transaction around a plan's statements: how long it waits, and where it can return to.
-- noqa: disable=PRS

-- name: limit_lock_wait
-- Bound every wait for a lock; a stricter limit of the caller's own stands. The server counts in whole seconds. The
-- caller's setting is kept in @lastro_patience, from where the engine gives it back after an error of the database's.
-- locks: none   returns: 1 row: the caller's setting
SET
    @lastro_patience = @@innodb_lock_wait_timeout,
    SESSION innodb_lock_wait_timeout = least(
        @@innodb_lock_wait_timeout, CAST(ceiling(replace(%(lock_timeout)s, 'ms', '') / 1000) AS unsigned)
    );
SELECT @lastro_patience AS callers;

-- name: restore_lock_wait
-- Give the caller's setting back.
-- locks: none   returns: nothing
SET SESSION innodb_lock_wait_timeout = %(lock_timeout)s, @lastro_patience = NULL;

-- name: give_lock_wait_back
-- Give the caller's setting back after a posting that ended before it did so itself. The cast is for a session in
-- which no wait was bounded yet: a variable that was never set counts as text.
-- locks: none   returns: 1 row
/* held */ SET
    SESSION innodb_lock_wait_timeout = CAST(coalesce(@lastro_patience, @@innodb_lock_wait_timeout) AS unsigned),
    @lastro_patience = NULL;
SELECT
    'nothing to restore' AS callers_lock_timeout,
    '' AS nothing_to_restore;

-- name: savepoint
-- Where to return to when the plan is refused.
-- locks: none   returns: nothing
SAVEPOINT lastro_plan;

-- name: rollback_to_savepoint
-- Undo what the plan wrote. The locks stay until the transaction ends: this server lets none go at a savepoint.
-- locks: none   returns: nothing
ROLLBACK TO SAVEPOINT lastro_plan;

-- name: release_savepoint
-- Forget the savepoint.
-- locks: none   returns: nothing
RELEASE SAVEPOINT lastro_plan;
