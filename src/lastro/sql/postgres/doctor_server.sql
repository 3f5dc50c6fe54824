-- The server around the ledger: its settings, its checkpoints, its replicas and what they hold back.

-- name: settings
-- The settings that matter, in the server's own units.
-- locks: none   returns: 1 row a setting
SELECT
    setting.name,
    setting.setting,
    coalesce(setting.unit, '') AS unit,
    setting.source
FROM pg_settings AS setting
WHERE setting.name = ANY(%(names)s::text[])
ORDER BY setting.name;

-- name: counters
-- What only ever grows: checkpoints by the clock and by volume, WAL, transactions of this database, deadlocks.
-- locks: none   returns: 1 row
SELECT
    checkpointer.num_timed AS checkpoints_timed,
    checkpointer.num_requested AS checkpoints_requested,
    checkpointer.write_time::bigint AS checkpoint_write_ms,
    checkpointer.sync_time::bigint AS checkpoint_sync_ms,
    wal.wal_bytes::bigint AS wal_bytes,
    place.xact_commit AS commits,
    place.xact_rollback AS rollbacks,
    place.deadlocks,
    place.conflicts
FROM pg_stat_checkpointer AS checkpointer
CROSS JOIN pg_stat_wal AS wal
CROSS JOIN pg_stat_database AS place
WHERE place.datname = current_database();

-- name: replicas
-- The servers that follow this one: how long after a commit they show it, and how much they have yet to apply.
-- locks: none   returns: 0 … rows_max rows
SELECT
    replica.application_name AS name,
    coalesce(replica.client_addr::text, 'local') AS address,
    replica.state,
    replica.sync_state,
    extract(EPOCH FROM replica.replay_lag)::double precision AS replay_lag_s,
    pg_wal_lsn_diff(
        CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, replica.replay_lsn
    )::bigint AS behind_bytes,
    pg_wal_lsn_diff(replica.replay_lsn, '0/0')::bigint AS replayed_bytes
FROM pg_stat_replication AS replica
ORDER BY behind_bytes DESC NULLS LAST
LIMIT %(rows_max)s;

-- name: slots
-- The replication slots, and how much WAL each keeps on the disk.
-- locks: none   returns: 0 … rows_max rows
SELECT
    slot.slot_name AS name,
    slot.slot_type AS kind,
    slot.active,
    coalesce(slot.wal_status, '') AS wal_status,
    slot.safe_wal_size AS safe_wal_bytes,
    pg_wal_lsn_diff(
        CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END, slot.restart_lsn
    )::bigint AS kept_bytes,
    extract(EPOCH FROM clock_timestamp() - slot.inactive_since)::double precision AS inactive_s
FROM pg_replication_slots AS slot
ORDER BY kept_bytes DESC NULLS LAST
LIMIT %(rows_max)s;

-- name: follows
-- On a server that follows another: how long ago the newest transaction that it shows was committed.
-- locks: none   returns: 1 row
SELECT
    extract(EPOCH FROM clock_timestamp() - pg_last_xact_replay_timestamp())::double precision AS replayed_ago_s,
    pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AS has_all_it_received;
