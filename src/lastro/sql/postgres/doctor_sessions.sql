-- What the sessions are doing: who works, who waits for whom, and since when. The doctor reads it, and changes nothing.

-- name: limit_time
-- Bound each of the doctor's statements, in its own transaction only, and let the server's own views say whose it is.
-- locks: none   returns: 1 row
SELECT
    set_config('statement_timeout', %(statement_timeout)s::text, true) AS statement_timeout,
    set_config('application_name', 'lastro doctor', true) AS application;

-- name: moment
-- The database's clock, which session answers, whether it only follows another server, and whether this role may read
-- the ledger's tables and look into others' sessions.
-- has_table_privilege by name would fail where it may not.
-- locks: none   returns: 1 row
SELECT
    clock_timestamp() AS now,
    pg_backend_pid() AS backend,
    pg_is_in_recovery() AS standby,
    pg_has_role('pg_read_all_stats', 'USAGE') AS sees_sessions,
    coalesce((
        SELECT has_schema_privilege(space.oid, 'USAGE') AND has_table_privilege(relation.oid, 'SELECT')
        FROM pg_class AS relation
        INNER JOIN pg_namespace AS space ON relation.relnamespace = space.oid
        WHERE space.nspname = (parse_ident('lastro.base'))[1] AND relation.relname = 'base'
    ), false) AS reads_ledger;

-- name: connections
-- How many connections there are, of how many. Superusers' reserve isn't for applications.
-- locks: none   returns: 1 row
SELECT
    sum(place.numbackends)::bigint AS connections,
    current_setting('max_connections')::bigint
    - current_setting('superuser_reserved_connections')::bigint AS connections_max
FROM pg_stat_database AS place;

-- name: sessions
-- The sessions of this database that work or hold a transaction, and replicas that keep vacuum from cleaning up:
-- another database's transactions don't. The longest first. Without the rights of pg_monitor others' sessions have no
-- state and aren't found here.
-- locks: none   returns: 0 … rows_max rows
SELECT
    session.pid,
    coalesce(session.application_name, '') AS application,
    coalesce(session.usename, '') AS role,
    coalesce(session.datname = current_database(), false) AS here,
    session.backend_type AS kind,
    coalesce(session.state, '') AS state,
    session.wait_event_type,
    session.wait_event,
    extract(EPOCH FROM clock_timestamp() - session.xact_start)::double precision AS transaction_age_s,
    extract(EPOCH FROM clock_timestamp() - session.state_change)::double precision AS state_age_s,
    age(session.backend_xmin)::bigint AS holds_back_transactions,
    left(session.query, %(query_characters_max)s::integer) AS query
FROM pg_stat_activity AS session
WHERE
    session.pid <> pg_backend_pid()
    AND (
        (
            session.backend_type = 'client backend'
            AND session.datname = current_database()
            AND session.state <> 'idle'
        )
        OR (session.backend_type = 'walsender' AND session.backend_xmin IS NOT NULL)
    )
ORDER BY session.xact_start
LIMIT %(rows_max)s;

-- name: lock_waits
-- Who waits for a lock, for how long, of which row of the ledger or which table, and behind whom. Asked only while
-- somebody waits, and about rows_max of them: pg_blocking_pids stops the lock table for a moment. A waiter holds, or
-- waits for, a lock of the row's place, and by that place its account is found.
-- locks: none   returns: 0 … rows_max rows
WITH waiting AS MATERIALIZED (
    SELECT
        session.pid,
        session.query_start
    FROM pg_stat_activity AS session
    WHERE session.datname = current_database() AND session.wait_event_type = 'Lock'
    ORDER BY session.query_start
    LIMIT %(rows_max)s
),

wanted AS MATERIALIZED (
    SELECT
        waiting.pid,
        max(held.locktype) FILTER (WHERE NOT held.granted) AS kind,
        min(coalesce(held.waitstart, waiting.query_start)) FILTER (WHERE NOT held.granted) AS since,
        max(held.relation) FILTER (WHERE held.locktype = 'tuple' OR NOT held.granted) AS relation,
        max(held.page) FILTER (WHERE held.locktype = 'tuple') AS page,
        max(held.tuple) FILTER (WHERE held.locktype = 'tuple') AS place
    FROM waiting
    INNER JOIN pg_locks AS held ON waiting.pid = held.pid
    GROUP BY waiting.pid
)

SELECT
    wanted.pid,
    wanted.kind,
    extract(EPOCH FROM clock_timestamp() - wanted.since)::double precision AS waited_s,
    wanted.relation::regclass::text AS relation,
    account.name AS account,
    account.currency,
    row_at.keeping,
    pg_blocking_pids(wanted.pid) AS blockers
FROM wanted
LEFT JOIN LATERAL (
    SELECT row_of.account_id, row_of.keeping
    FROM lastro.base AS row_of
    WHERE
        wanted.relation = 'lastro.base'::regclass
        AND row_of.ctid = format('(%%s,%%s)', wanted.page, wanted.place)::tid
) AS row_at ON wanted.place IS NOT NULL
LEFT JOIN lastro.account AS account ON row_at.account_id = account.id
WHERE wanted.kind IS NOT NULL;

-- name: lock_waits_unnamed
-- The same for a role that may not read the ledger's tables: without the accounts.
-- locks: none   returns: 0 … rows_max rows
WITH waiting AS MATERIALIZED (
    SELECT
        session.pid,
        session.query_start
    FROM pg_stat_activity AS session
    WHERE session.datname = current_database() AND session.wait_event_type = 'Lock'
    ORDER BY session.query_start
    LIMIT %(rows_max)s
),

wanted AS MATERIALIZED (
    SELECT
        waiting.pid,
        max(held.locktype) FILTER (WHERE NOT held.granted) AS kind,
        min(coalesce(held.waitstart, waiting.query_start)) FILTER (WHERE NOT held.granted) AS since,
        max(held.relation) FILTER (WHERE held.locktype = 'tuple' OR NOT held.granted) AS relation
    FROM waiting
    INNER JOIN pg_locks AS held ON waiting.pid = held.pid
    GROUP BY waiting.pid
)

SELECT
    wanted.pid,
    wanted.kind,
    extract(EPOCH FROM clock_timestamp() - wanted.since)::double precision AS waited_s,
    wanted.relation::regclass::text AS relation,
    NULL::text AS account,
    NULL::text AS currency,
    NULL::text AS keeping,
    pg_blocking_pids(wanted.pid) AS blockers
FROM wanted
WHERE wanted.kind IS NOT NULL;

-- name: prepared
-- Transactions that were prepared for a second phase and that nobody has ended.
-- locks: none   returns: 0 … rows_max rows
SELECT
    prepared.gid AS name,
    prepared.owner::text AS role,
    extract(EPOCH FROM clock_timestamp() - prepared.prepared)::double precision AS transaction_age_s
FROM pg_prepared_xacts AS prepared
WHERE prepared.database = current_database()
ORDER BY prepared.prepared
LIMIT %(rows_max)s;
