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
    CAST(adoption.actor AS binary) AS actor
FROM lastro.adoption AS adoption
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
    CAST(adoption.actor AS binary) AS actor
FROM lastro.adoption AS adoption
ORDER BY adoption.name
LIMIT %(rows_max)s;

-- name: phase
-- Where an adoption stands; it stays there until the transaction ends.
-- locks: the adoption's row, shared   returns: 0 or 1 row
SELECT adoption.phase
FROM lastro.adoption AS adoption
WHERE adoption.name = %(name)s
LOCK IN SHARE MODE;

-- name: hold
-- Wait for whoever asked for a phase, or writes an old column under a trigger, and let nobody do so until this
-- commits.
-- locks: the adoptions' rows   returns: 1 row an adoption
SELECT adoption.name FROM lastro.adoption AS adoption ORDER BY adoption.name FOR UPDATE;

-- name: begin
-- Note an adoption, unless it is there.
-- locks: its name   returns: nothing
INSERT INTO lastro.adoption (name, phase, declaration, started_at, changed_at, actor)
VALUES (
    %(name)s, 'importing', %(declaration)s,
    coalesce(%(now)s, utc_timestamp(6)), coalesce(%(now)s, utc_timestamp(6)), CONVERT(%(actor)s USING utf8mb4)
)
ON DUPLICATE KEY UPDATE name = adoption.name;

-- name: set_phase
-- Let an adoption stand elsewhere.
-- locks: none that is not held already   returns: nothing
UPDATE lastro.adoption
SET
    phase = %(phase)s,
    changed_at = coalesce(%(now)s, utc_timestamp(6)),
    actor = CONVERT(%(actor)s USING utf8mb4)
WHERE name = %(name)s;

-- name: note_event
-- Write down what was done or found.
-- locks: none   returns: nothing
INSERT INTO lastro.adoption_event (adoption, what, row_key, detail, actor, recorded_at)
VALUES (
    %(adoption)s, %(what)s, %(row_key)s, %(detail)s,
    CONVERT(%(actor)s USING utf8mb4), coalesce(%(now)s, utc_timestamp(6))
);

-- name: events
-- What was done and found, the newest first.
-- locks: none   returns: 0 … rows_max rows
SELECT
    event.id,
    event.what,
    event.row_key,
    event.detail,
    CAST(event.actor AS binary) AS actor,
    event.recorded_at
FROM lastro.adoption_event AS event
WHERE event.adoption = %(adoption)s
ORDER BY event.id DESC
LIMIT %(rows_max)s;

-- name: put_rows
-- Note whose account each row is, and the amount on which both sides agree.
-- locks: the rows' own notes   returns: nothing
INSERT INTO lastro.adoption_row (adoption, row_key, account_id, units, agreed_at)
SELECT
    %(adoption)s,
    CAST(wanted.row_key AS binary),
    wanted.account_id,
    wanted.units,
    coalesce(%(now)s, utc_timestamp(6))
FROM json_table(%(row_keys__account_ids__units)s, '$[*]' COLUMNS (
    row_key varchar(240) CHARACTER SET utf8mb4 PATH '$[0]',
    account_id bigint PATH '$[1]',
    units bigint PATH '$[2]'
)) AS wanted
ON DUPLICATE KEY UPDATE
    units = VALUES (units),
    agreed_at = VALUES (agreed_at);

-- name: mapped
-- Accounts that a row has already.
-- locks: none   returns: 0 or 1 row an account
SELECT
    mapped.account_id,
    mapped.adoption,
    mapped.row_key,
    mapped.units
FROM json_table(%(account_ids)s, '$[*]' COLUMNS (account_id bigint PATH '$')) AS wanted
STRAIGHT_JOIN lastro.adoption_row AS mapped FORCE INDEX (adoption_account_once)
    ON wanted.account_id = mapped.account_id;

-- name: open_accounts
-- Open many accounts on equal terms, each where its name is free in its currency. Their ids are random.
-- locks: the accounts that are there already   returns: nothing
INSERT INTO lastro.account (id, name, currency, opened_at, metadata)
SELECT
    CAST(conv(hex(random_bytes(8)), 16, 10) AS unsigned) >> 1,
    CAST(wanted.name AS binary),
    CAST(wanted.currency AS binary),
    coalesce(%(now)s, utc_timestamp(6)),
    NULL
FROM json_table(%(names__currencies)s, '$[*]' COLUMNS (
    name varchar(340) CHARACTER SET utf8mb4 PATH '$[0]',
    currency varchar(32) CHARACTER SET utf8mb4 PATH '$[1]'
)) AS wanted
ON DUPLICATE KEY UPDATE id = account.id;
INSERT INTO lastro.base (account_id, keeping, floor, changed_at)
SELECT
    account.id,
    %(keeping)s,
    %(floor)s,
    account.opened_at
FROM json_table(%(names__currencies)s, '$[*]' COLUMNS (
    name varchar(340) CHARACTER SET utf8mb4 PATH '$[0]',
    currency varchar(32) CHARACTER SET utf8mb4 PATH '$[1]'
)) AS wanted
STRAIGHT_JOIN lastro.account AS account FORCE INDEX (account_name_and_currency_once)
    ON account.name = CAST(wanted.name AS binary) AND account.currency = CAST(wanted.currency AS binary)
LEFT JOIN lastro.base AS base ON account.id = base.account_id
WHERE base.account_id IS NULL;

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
    WHERE noted.adoption = %(adoption)s
    ORDER BY noted.row_key
    LIMIT %(rows_max)s
) AS mapped
INNER JOIN lastro.balance AS balance ON mapped.account_id = balance.account_id
ORDER BY mapped.row_key;

-- name: forget_rows
-- Note no longer whose accounts the rows are, up to one in the order of their keys.
-- locks: the rows' own notes   returns: nothing
DELETE FROM lastro.adoption_row
WHERE adoption = %(adoption)s AND row_key <= %(row_key)s;

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
WHERE mapped.adoption = %(adoption)s AND mapped.row_key = %(row_key)s;

-- name: figures
-- How far an adoption has come: rows with an account, differences, the last look from end to end.
-- locks: none   returns: 1 row
SELECT
    (SELECT count(*) FROM lastro.adoption_row AS mapped WHERE mapped.adoption = %(adoption)s) AS rows_mapped,
    (
        SELECT count(*) FROM lastro.adoption_difference AS difference
        WHERE difference.adoption = %(adoption)s
    ) AS differences,
    max(look.rows_seen) AS rows_seen,
    max(look.differences) AS differences_seen,
    max(look.looked_at) AS looked_at,
    coalesce(%(now)s, utc_timestamp(6)) AS moment_at
FROM lastro.adoption_look AS look
WHERE look.adoption = %(adoption)s;

-- name: note_look
-- Both sides were compared from end to end.
-- locks: the note   returns: nothing
INSERT INTO lastro.adoption_look (adoption, rows_seen, differences, looked_at)
VALUES (%(adoption)s, %(rows_seen)s, %(differences)s, coalesce(%(now)s, utc_timestamp(6)))
ON DUPLICATE KEY UPDATE
    rows_seen = VALUES (rows_seen),
    differences = VALUES (differences),
    looked_at = VALUES (looked_at);

-- name: put_difference
-- Note a difference, or that it is still there.
-- locks: its note   returns: nothing
INSERT INTO lastro.adoption_difference (
    adoption, row_key, account, currency, cause, expected, found, first_seen_at, last_seen_at
)
VALUES (
    %(adoption)s, %(row_key)s, %(account)s, %(currency)s, %(cause)s,
    %(expected)s, %(found)s, coalesce(%(now)s, utc_timestamp(6)), coalesce(%(now)s, utc_timestamp(6))
)
ON DUPLICATE KEY UPDATE
    account = VALUES (account),
    currency = VALUES (currency),
    cause = VALUES (cause),
    expected = VALUES (expected),
    found = VALUES (found),
    last_seen_at = VALUES (last_seen_at);

-- name: drop_difference
-- Both sides agree again.
-- locks: its note   returns: nothing
DELETE FROM lastro.adoption_difference
WHERE adoption = %(adoption)s AND row_key = %(row_key)s;

-- name: drop_differences
-- Forget what was different.
-- locks: the notes   returns: nothing
DELETE FROM lastro.adoption_difference
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
FROM lastro.adoption_difference AS difference
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
    entry.`key`,
    entry.cause,
    entry.recorded_at
FROM lastro.entry AS entry
WHERE entry.account_id = %(account_id)s
ORDER BY entry.transfer_id DESC
LIMIT %(rows_max)s;

-- name: hold_accounts
-- Queue behind whoever posts to an account of the adoption, and let nobody do so until this commits.
-- locks: the base rows   returns: 1 row
SELECT count(base.account_id) AS accounts
FROM lastro.adoption_row AS mapped
STRAIGHT_JOIN lastro.base AS base FORCE INDEX (primary) ON mapped.account_id = base.account_id
WHERE mapped.adoption = %(adoption)s
FOR UPDATE;

-- name: begin_mirroring
-- Let the old column be written by this transaction.
-- locks: the adoption's note, which only another mirror waits for   returns: nothing
INSERT INTO lastro.adoption_mirroring (adoption)
VALUES (%(adoption)s);

-- name: end_mirroring
-- Let it not be written any more.
-- locks: none that is not held already   returns: nothing
DELETE FROM lastro.adoption_mirroring
WHERE adoption = %(adoption)s;

-- name: columns
-- The columns of a table of the application's, what they are made of, and whether their values are held to it.
-- locks: none   returns: 1 row a column; none where there is no such table
SELECT
    CAST(described.column_name AS binary) AS column_name,
    CAST(described.data_type AS binary) AS type_name,
    CAST(described.numeric_scale AS signed) AS scale,
    1 AS typed
FROM information_schema.columns AS described
WHERE
    described.table_schema = coalesce(CONVERT(%(table_schema)s USING utf8mb4), database())
    AND described.table_name = CONVERT(%(table_name)s USING utf8mb4)
ORDER BY described.ordinal_position;

-- name: guards
-- How many of the triggers on the old column are there, and whether all are: each is made, and dropped, by itself.
-- locks: none   returns: 1 row
SELECT
    count(*) AS guards,
    count(*) = 3 AS guarded
FROM information_schema.triggers AS guard
WHERE
    guard.trigger_schema = coalesce(CONVERT(%(table_schema)s USING utf8mb4), database())
    AND guard.trigger_name IN (
        concat(CONVERT(%(trigger_name)s USING utf8mb4), '_u'),
        concat(CONVERT(%(trigger_name)s USING utf8mb4), '_i'),
        concat(CONVERT(%(trigger_name)s USING utf8mb4), '_d')
    );

-- name: compose_guard
-- The statements that make those triggers on the old column that aren't there. They let everything pass until the
-- adoption's phase is `ledger`.
-- locks: none; what it composes waits for whoever uses the table   returns: 1 row
SET
    @lastro_trigger = concat('`', replace(coalesce(%(table_schema)s, database()), '`', '``'), '`.`', %(trigger_name)s),
    @lastro_column = concat('`', replace(%(balance)s, '`', '``'), '`'),
    @lastro_table = concat(
        coalesce(concat('`', replace(%(table_schema)s, '`', '``'), '`.'), ''),
        '`', replace(%(table_name)s, '`', '``'), '`'
    ),
    @lastro_unless = concat(
        ' AND ''ledger'' = (SELECT adoption.phase FROM lastro.adoption AS adoption WHERE adoption.name = ',
        quote(%(adoption)s), ' LOCK IN SHARE MODE) AND NOT EXISTS (',
        'SELECT 1 FROM lastro.adoption_mirroring AS mirroring WHERE mirroring.adoption = ',
        quote(%(adoption)s), ') THEN SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ',
        '''the ledger has taken over this balance: post a transfer instead',
        ' (lastro adopt rollback gives the column back)''; END IF;'
    ),
    @lastro_held = concat(
        'EXISTS (SELECT 1 FROM lastro.adoption_row AS mapped INNER JOIN lastro.balance AS balance',
        ' ON mapped.account_id = balance.account_id WHERE mapped.adoption = ', quote(%(adoption)s),
        ' AND balance.posted <> 0 AND mapped.row_key = CAST(concat_ws(X''1F'', CONVERT(old.`',
        replace(%(id_1)s, '`', '``'), '` USING utf8mb4)',
        coalesce(concat(', CONVERT(old.`', replace(%(id_2)s, '`', '``'), '` USING utf8mb4)'), ''),
        ') AS binary))',
        ' AND ''ledger'' = (SELECT adoption.phase FROM lastro.adoption AS adoption WHERE adoption.name = ',
        quote(%(adoption)s), ' LOCK IN SHARE MODE) THEN SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ',
        '''the ledger has taken over this balance, and the account of this row holds something:',
        ' move it by a transfer first''; END IF;'
    );
SELECT
    CONVERT(concat(
        CASE
            WHEN count(CASE WHEN right(guard.trigger_name, 2) = '_u' THEN 1 END) = 0 THEN concat(
                'CREATE TRIGGER ', @lastro_trigger, '_u` BEFORE UPDATE ON ', @lastro_table, ' FOR EACH ROW',
                ' IF NOT (old.', @lastro_column, ' <=> new.', @lastro_column, ')', @lastro_unless
            ) ELSE ''
        END,
        CASE
            WHEN count(CASE WHEN right(guard.trigger_name, 2) = '_i' THEN 1 END) = 0 THEN concat(
                'CREATE TRIGGER ', @lastro_trigger, '_i` BEFORE INSERT ON ', @lastro_table, ' FOR EACH ROW',
                ' IF coalesce(new.', @lastro_column, ', 0) <> 0', @lastro_unless
            ) ELSE ''
        END,
        CASE
            WHEN count(CASE WHEN right(guard.trigger_name, 2) = '_d' THEN 1 END) = 0 THEN concat(
                'CREATE TRIGGER ', @lastro_trigger, '_d` BEFORE DELETE ON ', @lastro_table, ' FOR EACH ROW',
                ' IF ', @lastro_held
            ) ELSE ''
        END
    ) USING utf8mb4) AS script
FROM information_schema.triggers AS guard
WHERE
    guard.trigger_schema = coalesce(CONVERT(%(table_schema)s USING utf8mb4), database())
    AND guard.trigger_name IN (
        concat(CONVERT(%(trigger_name)s USING utf8mb4), '_u'),
        concat(CONVERT(%(trigger_name)s USING utf8mb4), '_i'),
        concat(CONVERT(%(trigger_name)s USING utf8mb4), '_d')
    );

-- name: compose_removal
-- The statements that take the triggers away.
-- locks: none; what it composes waits for whoever uses the table   returns: 1 row
SET @lastro_trigger = concat(
    '`', replace(coalesce(%(table_schema)s, database()), '`', '``'), '`.`', %(trigger_name)s
);
SELECT CONVERT(concat(
    'DROP TRIGGER IF EXISTS ', @lastro_trigger, '_u`; DROP TRIGGER IF EXISTS ', @lastro_trigger, '_i`;',
    ' DROP TRIGGER IF EXISTS ', @lastro_trigger, '_d`;'
) USING utf8mb4) AS script;
