-- How the ledger's tables are kept: dead rows and who cleans them up, indexes that don't hold, accounts kept hot.

-- name: tables
-- Dead rows, updates that stayed on their page, vacuum and size of the tables that change; and how a statement begins
-- that gives one other storage settings.
-- locks: none   returns: 1 row a table
SELECT
    relation.relname AS name,
    pg_stat_get_dead_tuples(relation.oid) AS dead_rows,
    pg_stat_get_live_tuples(relation.oid) AS live_rows,
    pg_stat_get_tuples_updated(relation.oid) AS updates,
    pg_stat_get_tuples_hot_updated(relation.oid) AS hot_updates,
    pg_stat_get_autovacuum_count(relation.oid) AS autovacuums,
    extract(
        EPOCH FROM clock_timestamp()
        - greatest(pg_stat_get_last_autovacuum_time(relation.oid), pg_stat_get_last_vacuum_time(relation.oid))
    )::double precision AS vacuumed_ago_s,
    pg_table_size(relation.oid) AS table_bytes,
    coalesce(relation.reloptions, '{}') AS options,
    format('ALTER TABLE %%I.%%I', space.nspname, relation.relname) AS alter_it
FROM pg_class AS relation
INNER JOIN pg_namespace AS space ON relation.relnamespace = space.oid
WHERE space.nspname = (parse_ident('lastro.base'))[1] AND relation.relname = ANY(%(tables)s::text[])
ORDER BY relation.relname;

-- name: invalid_indexes
-- Indexes that exist and don't hold: what an interrupted CREATE INDEX CONCURRENTLY leaves behind. A unique one lets
-- duplicates in where it never became ready.
-- locks: none   returns: 0 … rows_max rows
SELECT
    index_relation.relname AS name,
    table_relation.relname AS table_name,
    index.indisunique AS is_unique,
    index.indisready AS is_ready,
    pg_get_indexdef(index.indexrelid) AS definition
FROM pg_index AS index
INNER JOIN pg_class AS index_relation ON index.indexrelid = index_relation.oid
INNER JOIN pg_class AS table_relation ON index.indrelid = table_relation.oid
INNER JOIN pg_namespace AS space ON table_relation.relnamespace = space.oid
WHERE space.nspname = (parse_ident('lastro.base'))[1] AND NOT (index.indisvalid AND index.indisready)
ORDER BY index.indisunique DESC, index_relation.relname ASC
LIMIT %(rows_max)s;

-- name: hot_accounts
-- Accounts that were hot for long, and how much came to them and went from them of late, counted up to entries_max
-- each.
-- locks: none   returns: 0 … accounts_max rows
SELECT
    account.name AS account,
    account.currency,
    came.entries AS credits,
    went.entries AS debits
FROM (
    SELECT base.account_id
    FROM lastro.base AS base
    WHERE base.keeping = 'hot' AND base.state = 'open'
    LIMIT %(accounts_max)s
) AS hot
INNER JOIN lastro.account AS account ON hot.account_id = account.id
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE newest.recorded_at > now() - %(span_s)s::bigint * interval '1 second') AS entries
    FROM (
        SELECT transfer.recorded_at
        FROM lastro.transfer AS transfer
        WHERE transfer.credit_id = account.id
        ORDER BY transfer.id DESC
        LIMIT %(entries_max)s
    ) AS newest
) AS came
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE newest.recorded_at > now() - %(span_s)s::bigint * interval '1 second') AS entries
    FROM (
        SELECT transfer.recorded_at
        FROM lastro.transfer AS transfer
        WHERE transfer.debit_id = account.id
        ORDER BY transfer.id DESC
        LIMIT %(entries_max)s
    ) AS newest
) AS went
WHERE account.opened_at < now() - %(span_s)s::bigint * interval '1 second'
ORDER BY account.name, account.currency;
