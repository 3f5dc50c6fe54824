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
FROM lastro_adoption AS adoption
WHERE adoption.name = %(name)s;

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
FROM lastro_adoption AS adoption
ORDER BY adoption.name
LIMIT %(rows_max)s;

-- name: phase
-- Where an adoption stands; it stays there until the transaction ends.
-- locks: the adoption's row, shared   returns: 0 or 1 row
SELECT adoption.phase
FROM lastro_adoption AS adoption
WHERE adoption.name = %(name)s;

-- name: hold
-- Wait for whoever asked for a phase, or writes an old column under a trigger, and let nobody do so until this
-- commits.
-- locks: none that is not held already   returns: 1 row
SELECT 1 AS held;

-- name: begin
-- Note an adoption, unless it is there.
-- locks: its name   returns: nothing
INSERT INTO lastro_adoption (name, phase, declaration, started_at, changed_at, actor)
VALUES (
    %(name)s, 'importing', %(declaration)s, %(now)s, %(now)s, %(actor)s
)
ON CONFLICT (name) DO NOTHING;

-- name: set_phase
-- Let an adoption stand elsewhere.
-- locks: none that is not held already   returns: nothing
UPDATE lastro_adoption
SET
    phase = %(phase)s,
    changed_at = %(now)s,
    actor = %(actor)s
WHERE name = %(name)s;

-- name: note_event
-- Write down what was done or found.
-- locks: none   returns: nothing
INSERT INTO lastro_adoption_event (adoption, what, row_key, detail, actor, recorded_at)
VALUES (
    %(adoption)s, %(what)s, %(row_key)s, %(detail)s, %(actor)s, %(now)s
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
FROM lastro_adoption_event AS event
WHERE event.adoption = %(adoption)s
ORDER BY event.id DESC
LIMIT %(rows_max)s;

-- name: put_rows
-- Note whose account each row is, and the amount on which both sides agree.
-- locks: the rows' own notes   returns: nothing
INSERT INTO lastro_adoption_row (adoption, row_key, account_id, units, agreed_at)
SELECT
    %(adoption)s,
    row_key.value,
    account_id.value,
    units.value,
    %(now)s
FROM json_each(%(row_keys)s) AS row_key
INNER JOIN json_each(%(account_ids)s) AS account_id ON row_key.key = account_id.key
INNER JOIN json_each(%(units)s) AS units ON row_key.key = units.key
WHERE true
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
FROM json_each(%(account_ids)s) AS wanted
INNER JOIN lastro_adoption_row AS mapped ON wanted.value = mapped.account_id;

-- name: open_accounts
-- Open many accounts on equal terms, each where its name is free in its currency. Their ids are random.
-- locks: none   returns: nothing
INSERT INTO lastro_account (id, name, currency, opened_at, metadata)
SELECT
    random() & 9223372036854775807,
    name.value,
    currency.value,
    %(now)s,
    NULL
FROM json_each(%(names)s) AS name
INNER JOIN json_each(%(currencies)s) AS currency ON name.key = currency.key
WHERE true
ON CONFLICT (name, currency) DO NOTHING;

INSERT INTO lastro_base (account_id, keeping, floor, changed_at)
SELECT
    account.id,
    %(keeping)s,
    %(floor)s,
    account.opened_at
FROM json_each(%(names)s) AS name
INNER JOIN json_each(%(currencies)s) AS currency ON name.key = currency.key
INNER JOIN lastro_account AS account ON name.value = account.name AND currency.value = account.currency
WHERE NOT EXISTS (SELECT 1 FROM lastro_base AS base WHERE base.account_id = account.id);

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
    FROM lastro_adoption_row AS noted
    WHERE noted.adoption = %(adoption)s
    ORDER BY noted.row_key
    LIMIT %(rows_max)s
) AS mapped
INNER JOIN lastro_balance AS balance ON mapped.account_id = balance.account_id
ORDER BY mapped.row_key;

-- name: forget_rows
-- Note no longer whose accounts the rows are, up to one in the order of their keys.
-- locks: the rows' own notes   returns: nothing
DELETE FROM lastro_adoption_row
WHERE adoption = %(adoption)s AND row_key <= %(row_key)s;

-- name: account_of
-- The account of one row.
-- locks: none   returns: 0 or 1 row
SELECT
    mapped.account_id,
    balance.account,
    balance.currency,
    balance.posted
FROM lastro_adoption_row AS mapped
INNER JOIN lastro_balance AS balance ON mapped.account_id = balance.account_id
WHERE mapped.adoption = %(adoption)s AND mapped.row_key = %(row_key)s;

-- name: figures
-- How far an adoption has come: rows with an account, differences, the last look from end to end.
-- locks: none   returns: 1 row
SELECT
    (SELECT count(*) FROM lastro_adoption_row AS mapped WHERE mapped.adoption = %(adoption)s) AS rows_mapped,
    (
        SELECT count(*) FROM lastro_adoption_difference AS difference
        WHERE difference.adoption = %(adoption)s
    ) AS differences,
    max(look.rows_seen) AS rows_seen,
    max(look.differences) AS differences_seen,
    max(look.looked_at) AS looked_at,
    %(now)s AS moment_at
FROM lastro_adoption_look AS look
WHERE look.adoption = %(adoption)s;

-- name: note_look
-- Both sides were compared from end to end.
-- locks: the note   returns: nothing
INSERT INTO lastro_adoption_look (adoption, rows_seen, differences, looked_at)
VALUES (%(adoption)s, %(rows_seen)s, %(differences)s, %(now)s)
ON CONFLICT (adoption) DO UPDATE
SET
    rows_seen = excluded.rows_seen,
    differences = excluded.differences,
    looked_at = excluded.looked_at;

-- name: put_difference
-- Note a difference, or that it is still there.
-- locks: its note   returns: nothing
INSERT INTO lastro_adoption_difference (
    adoption, row_key, account, currency, cause, expected, found, first_seen_at, last_seen_at
)
VALUES (
    %(adoption)s, %(row_key)s, %(account)s, %(currency)s, %(cause)s,
    %(expected)s, %(found)s, %(now)s, %(now)s
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
DELETE FROM lastro_adoption_difference
WHERE adoption = %(adoption)s AND row_key = %(row_key)s;

-- name: drop_differences
-- Forget what was different.
-- locks: the notes   returns: nothing
DELETE FROM lastro_adoption_difference
WHERE adoption = %(adoption)s;

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
FROM lastro_adoption_difference AS difference
WHERE difference.adoption = %(adoption)s
ORDER BY difference.row_key
LIMIT %(rows_max)s;

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
FROM lastro_entry AS entry
WHERE entry.account_id = %(account_id)s
ORDER BY entry.transfer_id DESC
LIMIT %(rows_max)s;

-- name: hold_accounts
-- Queue behind whoever posts to an account of the adoption, and let nobody do so until this commits.
-- locks: none that is not held already   returns: 1 row
SELECT count(*) AS accounts
FROM lastro_adoption_row AS mapped
WHERE mapped.adoption = %(adoption)s;

-- name: begin_mirroring
-- Let the old column be written by this transaction.
-- locks: the adoption's note, which only another mirror waits for   returns: nothing
INSERT INTO lastro_adoption_mirroring (adoption)
VALUES (%(adoption)s);

-- name: end_mirroring
-- Let it not be written any more.
-- locks: none that is not held already   returns: nothing
DELETE FROM lastro_adoption_mirroring
WHERE adoption = %(adoption)s;

-- name: columns
-- The columns of a table of the application's, what they are made of, and whether their values are held to it.
-- locks: none   returns: 1 row a column; none where there is no such table
SELECT
    described.name AS column_name,
    lower(described.type) AS type_name,
    NULL AS scale,
    0 AS typed
FROM pragma_table_info(%(table_name)s) AS described
ORDER BY described.cid;

-- name: guards
-- Whether the triggers on the old column are there: all are made, and dropped, in one transaction.
-- locks: none   returns: 1 row
SELECT
    count(*) AS guards,
    count(*) > 0 AS guarded
FROM sqlite_master AS guard
WHERE guard.type = 'trigger' AND guard.name = %(trigger_name)s || '_u';

-- name: compose_guard
-- The statements that make the triggers on the old column, where they aren't there. They let everything pass until the
-- adoption's phase is `ledger`.
-- locks: none   returns: 1 row
SELECT
    CASE WHEN count(*) = 0 THEN printf(
        'CREATE TRIGGER "%%w" BEFORE UPDATE OF "%%w" ON "%%w" WHEN old."%%w" IS NOT new."%%w"'
        || ' AND EXISTS (SELECT 1 FROM lastro_adoption AS adoption'
        || ' WHERE adoption.name = %%Q AND adoption.phase = ''ledger'')'
        || ' AND NOT EXISTS (SELECT 1 FROM lastro_adoption_mirroring AS mirroring WHERE mirroring.adoption = %%Q)'
        || ' BEGIN SELECT raise(ABORT, ''the ledger has taken over this balance: post a transfer instead'
        || ' (lastro adopt rollback gives the column back)''); END;'
        || ' CREATE TRIGGER "%%w" BEFORE INSERT ON "%%w" WHEN coalesce(new."%%w", 0) <> 0'
        || ' AND EXISTS (SELECT 1 FROM lastro_adoption AS adoption'
        || ' WHERE adoption.name = %%Q AND adoption.phase = ''ledger'')'
        || ' AND NOT EXISTS (SELECT 1 FROM lastro_adoption_mirroring AS mirroring WHERE mirroring.adoption = %%Q)'
        || ' BEGIN SELECT raise(ABORT, ''the ledger has taken over this balance: post a transfer instead'
        || ' (lastro adopt rollback gives the column back)''); END;'
        || ' CREATE TRIGGER "%%w" BEFORE DELETE ON "%%w" WHEN EXISTS (SELECT 1 FROM lastro_adoption AS adoption'
        || ' WHERE adoption.name = %%Q AND adoption.phase = ''ledger'')'
        || ' AND EXISTS (SELECT 1 FROM lastro_adoption_row AS mapped INNER JOIN lastro_balance AS balance'
        || ' ON mapped.account_id = balance.account_id WHERE mapped.adoption = %%Q AND balance.posted <> 0'
        || ' AND mapped.row_key = CAST(old."%%w" AS text)%%s)'
        || ' BEGIN SELECT raise(ABORT, ''the ledger has taken over this balance, and the account of this row holds'
        || ' something: move it by a transfer first''); END;',
        %(trigger_name)s || '_u', %(balance)s, %(table_name)s, %(balance)s, %(balance)s, %(adoption)s, %(adoption)s,
        %(trigger_name)s || '_i', %(table_name)s, %(balance)s, %(adoption)s, %(adoption)s,
        %(trigger_name)s || '_d', %(table_name)s, %(adoption)s, %(adoption)s, %(id_1)s,
        CASE
            WHEN %(id_2)s IS NULL THEN ''
            ELSE printf(' || char(31) || CAST(old."%%w" AS text)', %(id_2)s)
        END
    ) ELSE '' END AS script
FROM sqlite_master AS guard
WHERE guard.type = 'trigger' AND guard.name = %(trigger_name)s || '_u';

-- name: compose_removal
-- The statements that take the triggers away.
-- locks: none   returns: 1 row
SELECT printf(
    'DROP TRIGGER IF EXISTS "%%w"; DROP TRIGGER IF EXISTS "%%w"; DROP TRIGGER IF EXISTS "%%w";',
    %(trigger_name)s || '_u', %(trigger_name)s || '_i', %(trigger_name)s || '_d'
) AS script;
