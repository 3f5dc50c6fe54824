-- The transaction around a plan's statements: how long it waits, and where it can return to.
-- noqa: disable=PRS

-- name: limit_lock_wait
-- Bound every wait for a lock in this transaction; a limit that the caller set already stands.
-- locks: none   returns: 1 row: the caller's setting
SELECT
    current_setting('lock_timeout') AS callers,
    set_config(
        'lock_timeout',
        CASE current_setting('lock_timeout')
            WHEN '0' THEN %(lock_timeout)s::text ELSE current_setting('lock_timeout')
        END,
        true
    ) AS ours;

-- name: restore_lock_wait
-- Give the caller's setting back.
-- locks: none   returns: 1 row
SELECT set_config('lock_timeout', %(lock_timeout)s::text, true) AS lock_timeout;

-- name: give_lock_wait_back
-- Give back the caller's setting that a posting statement put aside, where it wrote nothing and so couldn't itself.
-- locks: none   returns: 1 row
SELECT
    CASE coalesce(current_setting('lastro_posting.callers_lock_timeout', true), '')
        WHEN '' THEN 'nothing to restore'
        ELSE set_config('lock_timeout', current_setting('lastro_posting.callers_lock_timeout'), true)
    END AS callers_lock_timeout,
    set_config('lastro_posting.callers_lock_timeout', '', true) AS nothing_to_restore;

-- name: savepoint
-- Where to return to when the plan is refused.
-- locks: none   returns: nothing
SAVEPOINT lastro_plan;

-- name: rollback_to_savepoint
-- Undo what the plan wrote and let go of what it locked.
-- locks: none   returns: nothing
ROLLBACK TO SAVEPOINT lastro_plan;

-- name: release_savepoint
-- Forget the savepoint.
-- locks: none   returns: nothing
RELEASE SAVEPOINT lastro_plan;
