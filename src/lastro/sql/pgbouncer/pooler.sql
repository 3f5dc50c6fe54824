-- What a PgBouncer's console is asked.
-- noqa: disable=PRS

-- name: config
-- Its settings.
-- locks: none   returns: 1 row a setting
SHOW CONFIG;

-- name: pools
-- Its pools: clients served and waiting, the longest wait, connections to the server.
-- locks: none   returns: 1 row a database and user
SHOW POOLS;

-- name: stats
-- What it has done, database by database; averages over its last period.
-- locks: none   returns: 1 row a database
SHOW STATS;

-- name: version
-- Its version.
-- locks: none   returns: 1 row
SHOW VERSION;
