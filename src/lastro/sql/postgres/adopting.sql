-- Adoptions: where each stands, whose account each row is, what is different, and what was done.

-- name: find
-- One adoption.
-- locks: none   returns: 0 or 1 row
SELECT
    adoption.name,
    adoption.phase,
    adoption.declaration,
    adoption.started_at,
    adoption.changed_at,
    adoption.actor
FROM lastro.adoption AS adoption
WHERE adoption.name = %(name)s::text;

-- name: list
-- Adoptions in the order of their names.
-- locks: none   returns: 0 … rows_max rows
SELECT
    adoption.name,
    adoption.phase,
    adoption.declaration,
    adoption.started_at,
    adoption.changed_at,
    adoption.actor
FROM lastro.adoption AS adoption
ORDER BY adoption.name
LIMIT %(rows_max)s::bigint;

-- name: phase
-- Where an adoption stands; it stays there until the transaction ends.
-- locks: the adoption's row, shared   returns: 0 or 1 row
SELECT adoption.phase
FROM lastro.adoption AS adoption
WHERE adoption.name = %(name)s::text
FOR SHARE;

-- name: hold
-- Wait for whoever asked for a phase, or writes an old column under a trigger, and let nobody do so until this
-- commits.
-- locks: adoption, in EXCLUSIVE mode, whose queue is a fair one   returns: nothing
LOCK TABLE lastro.adoption IN EXCLUSIVE MODE;

-- name: begin
-- Note an adoption, unless it is there.
-- locks: its name   returns: nothing
INSERT INTO lastro.adoption (name, phase, declaration, started_at, changed_at, actor)
VALUES (
    %(name)s::text, 'importing', %(declaration)s::text,
    coalesce(%(now)s::timestamptz, now()), coalesce(%(now)s::timestamptz, now()), %(actor)s::text
)
ON CONFLICT (name) DO NOTHING;

-- name: set_phase
-- Let an adoption stand elsewhere.
-- locks: none that is not held already   returns: nothing
UPDATE lastro.adoption
SET
    phase = %(phase)s::text,
    changed_at = coalesce(%(now)s::timestamptz, now()),
    actor = %(actor)s::text
WHERE name = %(name)s::text;

-- name: note_event
-- Write down what was done or found.
-- locks: none   returns: nothing
INSERT INTO lastro.adoption_event (adoption, what, row_key, detail, actor, recorded_at)
VALUES (
    %(adoption)s::text, %(what)s::text, %(row_key)s::text, %(detail)s::text,
    %(actor)s::text, coalesce(%(now)s::timestamptz, now())
);

-- name: events
-- What was done and found, the newest first.
-- locks: none   returns: 0 … rows_max rows
SELECT
    event.id,
    event.what,
    event.row_key,
    event.detail,
    event.actor,
    event.recorded_at
FROM lastro.adoption_event AS event
WHERE event.adoption = %(adoption)s::text
ORDER BY event.id DESC
LIMIT %(rows_max)s::bigint;

-- name: put_rows
-- Note whose account each row is, and the amount on which both sides agree.
-- locks: the rows' own notes   returns: nothing
INSERT INTO lastro.adoption_row (adoption, row_key, account_id, units, agreed_at)
SELECT
    %(adoption)s::text,
    wanted.row_key,
    wanted.account_id,
    wanted.units,
    coalesce(%(now)s::timestamptz, now())
FROM unnest(%(row_keys)s::text[], %(account_ids)s::bigint[], %(units)s::bigint[])
    AS wanted (row_key, account_id, units)
ON CONFLICT (adoption, row_key) DO UPDATE
SET
    units = excluded.units,
    agreed_at = excluded.agreed_at;

-- name: mapped
-- Accounts that a row has already.
-- locks: none   returns: 0 or 1 row an account
SELECT
    mapped.account_id,
    mapped.adoption,
    mapped.row_key,
    mapped.units
FROM lastro.adoption_row AS mapped
WHERE mapped.account_id = ANY(%(account_ids)s::bigint[]);

-- name: open_accounts
-- Open many accounts on equal terms, each where its name is free in its currency. Their ids are random.
-- locks: none that another posting waits for   returns: nothing
WITH opened AS (
    INSERT INTO lastro.account (id, name, currency, opened_at)
    SELECT
        hashtextextended(gen_random_uuid()::text, 0) & 9223372036854775807,
        wanted.name,
        wanted.currency,
        coalesce(%(now)s::timestamptz, now())
    FROM unnest(%(names)s::text[], %(currencies)s::text[]) AS wanted (name, currency)
    ON CONFLICT (name, currency) DO NOTHING
    RETURNING id, opened_at
)

INSERT INTO lastro.base (account_id, keeping, floor, changed_at)
SELECT
    opened.id,
    %(keeping)s::text,
    %(floor)s::bigint,
    opened.opened_at
FROM opened;

-- name: rows_of
-- Rows that have an account, and what that holds.
-- locks: none   returns: 0 … rows_max rows
SELECT
    mapped.row_key,
    mapped.account_id,
    balance.account,
    balance.currency,
    balance.posted
FROM (
    SELECT
        noted.row_key,
        noted.account_id
    FROM lastro.adoption_row AS noted
    WHERE noted.adoption = %(adoption)s::text
    ORDER BY noted.row_key
    LIMIT %(rows_max)s::bigint
) AS mapped
INNER JOIN lastro.balance AS balance ON mapped.account_id = balance.account_id
ORDER BY mapped.row_key;

-- name: forget_rows
-- Note no longer whose accounts the rows are, up to one in the order of their keys.
-- locks: the rows' own notes   returns: nothing
DELETE FROM lastro.adoption_row
WHERE adoption = %(adoption)s::text AND row_key <= %(row_key)s::text;

-- name: account_of
-- The account of one row.
-- locks: none   returns: 0 or 1 row
SELECT
    mapped.account_id,
    balance.account,
    balance.currency,
    balance.posted
FROM lastro.adoption_row AS mapped
INNER JOIN lastro.balance AS balance ON mapped.account_id = balance.account_id
WHERE mapped.adoption = %(adoption)s::text AND mapped.row_key = %(row_key)s::text;

-- name: figures
-- How far an adoption has come: rows with an account, differences, the last look from end to end.
-- locks: none   returns: 1 row
SELECT
    (SELECT count(*) FROM lastro.adoption_row AS mapped WHERE mapped.adoption = %(adoption)s::text) AS rows_mapped,
    (
        SELECT count(*) FROM lastro.adoption_difference AS difference
        WHERE difference.adoption = %(adoption)s::text
    ) AS differences,
    max(look.rows_seen) AS rows_seen,
    max(look.differences) AS differences_seen,
    max(look.looked_at) AS looked_at,
    coalesce(%(now)s::timestamptz, now()) AS moment_at
FROM lastro.adoption_look AS look
WHERE look.adoption = %(adoption)s::text;

-- name: note_look
-- Both sides were compared from end to end.
-- locks: the note   returns: nothing
INSERT INTO lastro.adoption_look (adoption, rows_seen, differences, looked_at)
VALUES (%(adoption)s::text, %(rows_seen)s::bigint, %(differences)s::bigint, coalesce(%(now)s::timestamptz, now()))
ON CONFLICT (adoption) DO UPDATE
SET
    rows_seen = excluded.rows_seen,
    differences = excluded.differences,
    looked_at = excluded.looked_at;

-- name: put_difference
-- Note a difference, or that it is still there.
-- locks: its note   returns: nothing
INSERT INTO lastro.adoption_difference (
    adoption, row_key, account, currency, cause, expected, found, first_seen_at, last_seen_at
)
VALUES (
    %(adoption)s::text, %(row_key)s::text, %(account)s::text, %(currency)s::text, %(cause)s::text,
    %(expected)s::text, %(found)s::bigint, coalesce(%(now)s::timestamptz, now()), coalesce(%(now)s::timestamptz, now())
)
ON CONFLICT (adoption, row_key) DO UPDATE
SET
    account = excluded.account,
    currency = excluded.currency,
    cause = excluded.cause,
    expected = excluded.expected,
    found = excluded.found,
    last_seen_at = excluded.last_seen_at;

-- name: drop_difference
-- Both sides agree again.
-- locks: its note   returns: nothing
DELETE FROM lastro.adoption_difference
WHERE adoption = %(adoption)s::text AND row_key = %(row_key)s::text;

-- name: drop_differences
-- Forget what was different.
-- locks: the notes   returns: nothing
DELETE FROM lastro.adoption_difference
WHERE adoption = %(adoption)s::text;

-- name: differences
-- What is different now, in the order of the rows' keys.
-- locks: none   returns: 0 … rows_max rows
SELECT
    difference.row_key,
    difference.account,
    difference.currency,
    difference.cause,
    difference.expected,
    difference.found,
    difference.first_seen_at,
    difference.last_seen_at
FROM lastro.adoption_difference AS difference
WHERE difference.adoption = %(adoption)s::text
ORDER BY difference.row_key
LIMIT %(rows_max)s::bigint;

-- name: newest_entries
-- The newest entries of an account.
-- locks: none   returns: 0 … rows_max rows
SELECT
    entry.transfer_id,
    entry.side,
    entry.amount,
    entry.key,
    entry.cause,
    entry.recorded_at
FROM lastro.entry AS entry
WHERE entry.account_id = %(account_id)s::bigint
ORDER BY entry.transfer_id DESC
LIMIT %(rows_max)s::bigint;

-- name: hold_accounts
-- Queue behind whoever posts to an account of the adoption, and let nobody do so until this commits.
-- locks: the base rows, in account order   returns: 1 row
WITH held AS MATERIALIZED (
    SELECT base.account_id
    FROM lastro.base AS base
    INNER JOIN lastro.adoption_row AS mapped ON base.account_id = mapped.account_id
    WHERE mapped.adoption = %(adoption)s::text
    ORDER BY base.account_id
    FOR NO KEY UPDATE OF base
)

SELECT count(*) AS accounts
FROM held;

-- name: begin_mirroring
-- Let the old column be written by this transaction.
-- locks: the adoption's note, which only another mirror waits for   returns: nothing
INSERT INTO lastro.adoption_mirroring (adoption)
VALUES (%(adoption)s::text);

-- name: end_mirroring
-- Let it not be written any more.
-- locks: none that is not held already   returns: nothing
DELETE FROM lastro.adoption_mirroring
WHERE adoption = %(adoption)s::text;

-- name: columns
-- The columns of a table of the application's, what they are made of, and whether their values are held to it.
-- locks: none   returns: 1 row a column; none where there is no such table
SELECT
    attribute.attname AS column_name,
    coalesce(nullif(made_of.typbasetype, 0), attribute.atttypid)::regtype::text AS type_name,
    CASE
        WHEN attribute.atttypid = 'numeric'::regtype AND attribute.atttypmod >= 4
            THEN (attribute.atttypmod - 4) & 1023
    END AS scale,
    true AS typed
FROM pg_class AS relation
INNER JOIN pg_namespace AS namespace ON relation.relnamespace = namespace.oid
INNER JOIN pg_attribute AS attribute ON relation.oid = attribute.attrelid
INNER JOIN pg_type AS made_of ON attribute.atttypid = made_of.oid
WHERE
    relation.relname = %(table_name)s::text AND relation.relkind IN ('r', 'p')
    AND coalesce(namespace.nspname = %(table_schema)s::text, pg_table_is_visible(relation.oid))
    AND attribute.attnum > 0 AND NOT attribute.attisdropped
ORDER BY attribute.attnum;

-- name: guards
-- Whether the triggers on the old column are there: all are made, and dropped, in one transaction.
-- locks: none   returns: 1 row
SELECT
    count(*) AS guards,
    count(*) > 0 AS guarded
FROM pg_trigger AS guard
INNER JOIN pg_class AS relation ON guard.tgrelid = relation.oid
INNER JOIN pg_namespace AS namespace ON relation.relnamespace = namespace.oid
WHERE
    guard.tgname = %(trigger_name)s::text || '_u' AND relation.relname = %(table_name)s::text
    AND coalesce(namespace.nspname = %(table_schema)s::text, pg_table_is_visible(relation.oid));

-- name: compose_guard
-- The statements that make the triggers on the old column, where they aren't there. They let everything pass until the
-- adoption's phase is `ledger`. They fire after the row is written, so that they see what other triggers made of it.
-- The column is named within the row, as a text: a trigger that named it otherwise would keep it from being widened.
-- locks: none; what it composes takes SHARE ROW EXCLUSIVE on the table   returns: 1 row
SELECT
    CASE WHEN count(*) = 0 THEN format(
        'CREATE TRIGGER %%I AFTER UPDATE ON %%s FOR EACH ROW'
        || ' WHEN (to_jsonb(old) -> %%L IS DISTINCT FROM to_jsonb(new) -> %%L)'
        || ' EXECUTE FUNCTION lastro.refuse_old_write(%%L);'
        || ' CREATE TRIGGER %%I AFTER INSERT ON %%s FOR EACH ROW'
        || ' WHEN (coalesce((to_jsonb(new) ->> %%L)::numeric, 0) <> 0)'
        || ' EXECUTE FUNCTION lastro.refuse_old_write(%%L);'
        || ' CREATE TRIGGER %%I BEFORE TRUNCATE ON %%s'
        || ' EXECUTE FUNCTION lastro.refuse_old_write(%%L);'
        || ' CREATE TRIGGER %%I AFTER DELETE ON %%s FOR EACH ROW'
        || ' EXECUTE FUNCTION lastro.refuse_old_write(%%L, %%s);',
        %(trigger_name)s::text || '_u',
        coalesce(quote_ident(%(table_schema)s::text) || '.', '') || quote_ident(%(table_name)s::text),
        %(balance)s::text, %(balance)s::text, %(adoption)s::text,
        %(trigger_name)s::text || '_i',
        coalesce(quote_ident(%(table_schema)s::text) || '.', '') || quote_ident(%(table_name)s::text),
        %(balance)s::text, %(adoption)s::text,
        %(trigger_name)s::text || '_t',
        coalesce(quote_ident(%(table_schema)s::text) || '.', '') || quote_ident(%(table_name)s::text),
        %(adoption)s::text,
        %(trigger_name)s::text || '_d',
        coalesce(quote_ident(%(table_schema)s::text) || '.', '') || quote_ident(%(table_name)s::text),
        %(adoption)s::text,
        quote_literal(%(id_1)s::text) || coalesce(', ' || quote_literal(%(id_2)s::text), '')
    ) ELSE '' END AS script
FROM pg_trigger AS guard
INNER JOIN pg_class AS relation ON guard.tgrelid = relation.oid
INNER JOIN pg_namespace AS namespace ON relation.relnamespace = namespace.oid
WHERE
    guard.tgname = %(trigger_name)s::text || '_u' AND relation.relname = %(table_name)s::text
    AND coalesce(namespace.nspname = %(table_schema)s::text, pg_table_is_visible(relation.oid));

-- name: compose_removal
-- The statements that take the triggers away.
-- locks: none; what it composes takes ACCESS EXCLUSIVE on the table   returns: 1 row
SELECT format(
    'DROP TRIGGER IF EXISTS %%I ON %%s; DROP TRIGGER IF EXISTS %%I ON %%s; DROP TRIGGER IF EXISTS %%I ON %%s;'
    || ' DROP TRIGGER IF EXISTS %%I ON %%s;',
    %(trigger_name)s::text || '_u',
    coalesce(quote_ident(%(table_schema)s::text) || '.', '') || quote_ident(%(table_name)s::text),
    %(trigger_name)s::text || '_i',
    coalesce(quote_ident(%(table_schema)s::text) || '.', '') || quote_ident(%(table_name)s::text),
    %(trigger_name)s::text || '_t',
    coalesce(quote_ident(%(table_schema)s::text) || '.', '') || quote_ident(%(table_name)s::text),
    %(trigger_name)s::text || '_d',
    coalesce(quote_ident(%(table_schema)s::text) || '.', '') || quote_ident(%(table_name)s::text)
) AS script;
