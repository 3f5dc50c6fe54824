-- The transaction around a plan's statements. How long a statement waits for a lock is the database's or the driver's
-- own setting, which standard SQL can't reach; so the steps that set a limit have nothing to do here.

-- name: limit_lock_wait
-- Nothing to set.
-- locks: none   returns: 1 row
SELECT
    'as the database has it' AS callers,
    'as the database has it' AS ours
FROM lastro_version lone
WHERE lone.version_number = 1;

-- name: restore_lock_wait
-- Nothing to give back.
-- locks: none   returns: no row
SELECT 'nothing to restore' AS lock_timeout
FROM lastro_version lone
WHERE 1 = 0;

-- name: give_lock_wait_back
-- Nothing to give back.
-- locks: none   returns: no row
SELECT 'nothing to restore' AS callers_lock_timeout
FROM lastro_version lone
WHERE 1 = 0;

-- name: savepoint
-- Where to return to when the plan is refused. SQLAlchemy says it in the database's own words.
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
