-- The application's own table, under the names that its adoption declares: `own_table`, `own_id` and so on stand for
-- them here, and `own_id_2` for `own_id` where one column is enough.

-- name: first
-- Where the pages of the table begin.
-- locks: none   returns: 0 or 1 row
SELECT
    own.own_id AS id_1,
    own.own_id_2 AS id_2
FROM own_table AS own
ORDER BY own.own_id, own.own_id_2
LIMIT 1;

-- name: survey
-- What is in the table: rows, and what no account can take over.
-- locks: none   returns: 1 row
WITH seen AS (
    SELECT
        CASE WHEN own.own_id IS NULL OR own.own_id_2 IS NULL THEN 1 ELSE 0 END AS nameless,
        CAST(own.own_id AS text)
        || CASE WHEN %(two_ids)s THEN char(31) || CAST(own.own_id_2 AS text) ELSE '' END AS row_key,
        CASE WHEN own.own_balance IS NULL THEN 1 ELSE 0 END AS empty,
        CASE
            WHEN own.own_balance IS NULL AND %(null_is_zero)s THEN 0
            WHEN typeof(own.own_balance) = 'integer' THEN own.own_balance * %(factor)s
        END AS units
    FROM own_table AS own
    WHERE
        (%(only_value)s IS NULL OR CAST(own.own_only AS text) = %(only_value)s)
        AND (NOT %(only_null)s OR own.own_null IS NULL)
)

SELECT
    count(*) AS rows_seen,
    coalesce(sum(seen.nameless), 0) AS nameless,
    count(DISTINCT seen.row_key) AS keys_seen,
    coalesce(sum(seen.empty), 0) AS null_count,
    count(CASE WHEN seen.units < 0 THEN 1 END) AS negative,
    count(CASE WHEN seen.units IS NULL AND NOT seen.empty THEN 1 END) AS unreadable,
    CAST(min(seen.units) AS text) AS least,
    CAST(max(seen.units) AS text) AS most
FROM seen;

-- name: currencies
-- The currencies that the table names, and how many rows name each.
-- locks: none   returns: 1 … rows_max rows, none for an empty table
SELECT
    coalesce(%(currency)s, CAST(own.own_currency AS text)) AS currency,
    count(*) AS rows_seen
FROM own_table AS own
WHERE
    (%(only_value)s IS NULL OR CAST(own.own_only AS text) = %(only_value)s)
    AND (NOT %(only_null)s OR own.own_null IS NULL)
GROUP BY 1
ORDER BY 2 DESC, 1
LIMIT %(rows_max)s;

-- name: to_import
-- A page of rows that have no account yet, in the order of their ids. A row that somebody writes just now is passed
-- over, and comes another time: so an import never waits for the application's rows, and what it reads stays as it is
-- until the opening balance is committed.
-- locks: none that is not held already   returns: 0 … rows_max rows
SELECT
    own.own_id AS id_1,
    own.own_id_2 AS id_2,
    CAST(own.own_id AS text)
    || CASE WHEN %(two_ids)s THEN char(31) || CAST(own.own_id_2 AS text) ELSE '' END AS row_key,
    coalesce(%(currency)s, CAST(own.own_currency AS text)) AS currency,
    CAST(own.own_balance AS text) AS raw,
    CASE
        WHEN own.own_balance IS NULL AND %(null_is_zero)s THEN 0
        WHEN typeof(own.own_balance) = 'integer' THEN own.own_balance * %(factor)s
    END AS units
FROM own_table AS own
WHERE
    own.own_id >= %(from_1)s
    AND (
        own.own_id > %(from_1)s
        OR own.own_id_2 > %(from_2)s
        OR (%(inclusive)s AND own.own_id_2 = %(from_2)s)
    )
    AND (%(only_value)s IS NULL OR CAST(own.own_only AS text) = %(only_value)s)
    AND (NOT %(only_null)s OR own.own_null IS NULL)
    AND NOT EXISTS (
        SELECT 1
        FROM lastro_adoption_row AS mapped
        WHERE mapped.adoption = %(adoption)s AND mapped.row_key = CAST(own.own_id AS text)
            || CASE WHEN %(two_ids)s THEN char(31) || CAST(own.own_id_2 AS text) ELSE '' END
    )
ORDER BY own.own_id, own.own_id_2
LIMIT %(rows_max)s;

-- name: left_to_import
-- How many rows have no account yet.
-- locks: none   returns: 1 row
SELECT count(*) AS rows_left
FROM own_table AS own
WHERE
    (%(only_value)s IS NULL OR CAST(own.own_only AS text) = %(only_value)s)
    AND (NOT %(only_null)s OR own.own_null IS NULL)
    AND NOT EXISTS (
        SELECT 1
        FROM lastro_adoption_row AS mapped
        WHERE mapped.adoption = %(adoption)s AND mapped.row_key = CAST(own.own_id AS text)
            || CASE WHEN %(two_ids)s THEN char(31) || CAST(own.own_id_2 AS text) ELSE '' END
    );

-- name: hold_row
-- One row, which nobody else may write until this transaction ends.
-- locks: none that is not held already   returns: 0 or 1 row
SELECT
    own.own_id AS id_1,
    own.own_id_2 AS id_2,
    CAST(own.own_id AS text)
    || CASE WHEN %(two_ids)s THEN char(31) || CAST(own.own_id_2 AS text) ELSE '' END AS row_key,
    coalesce(%(currency)s, CAST(own.own_currency AS text)) AS currency,
    CAST(own.own_balance AS text) AS raw,
    CASE
        WHEN own.own_balance IS NULL AND %(null_is_zero)s THEN 0
        WHEN typeof(own.own_balance) = 'integer' THEN own.own_balance * %(factor)s
    END AS units
FROM own_table AS own
WHERE
    own.own_id = %(from_1)s
    AND own.own_id_2 = %(from_2)s
    AND CAST(own.own_id AS text)
    || CASE WHEN %(two_ids)s THEN char(31) || CAST(own.own_id_2 AS text) ELSE '' END = %(row_key)s
    AND (%(only_value)s IS NULL OR CAST(own.own_only AS text) = %(only_value)s)
    AND (NOT %(only_null)s OR own.own_null IS NULL);

-- name: compare
-- A page of rows beside their accounts, in one snapshot: those that are not as they were when both sides last agreed,
-- and the last one of the page, where the next page begins.
-- locks: none   returns: 0 … rows_max rows
WITH page AS (
    SELECT
        own.id_1,
        own.id_2,
        own.row_key,
        own.currency,
        own.raw,
        own.units,
        row_number() OVER (ORDER BY own.sort_1, own.sort_2) AS place
    FROM (
        SELECT
            own.own_id AS id_1,
            own.own_id_2 AS id_2,
            CAST(own.own_id AS text)
            || CASE WHEN %(two_ids)s THEN char(31) || CAST(own.own_id_2 AS text) ELSE '' END AS row_key,
            coalesce(%(currency)s, CAST(own.own_currency AS text)) AS currency,
            CAST(own.own_balance AS text) AS raw,
            CASE
                WHEN own.own_balance IS NULL AND %(null_is_zero)s THEN 0
                WHEN typeof(own.own_balance) = 'integer' THEN own.own_balance * %(factor)s
            END AS units,
            own.own_id AS sort_1,
            own.own_id_2 AS sort_2
        FROM own_table AS own
        WHERE
            own.own_id >= %(from_1)s
            AND (
                own.own_id > %(from_1)s
                OR own.own_id_2 > %(from_2)s
                OR (%(inclusive)s AND own.own_id_2 = %(from_2)s)
            )
            AND (%(only_value)s IS NULL OR CAST(own.own_only AS text) = %(only_value)s)
            AND (NOT %(only_null)s OR own.own_null IS NULL)
        ORDER BY own.own_id, own.own_id_2
        LIMIT %(rows_max)s
    ) AS own
)

SELECT
    page.id_1,
    page.id_2,
    page.row_key,
    page.currency,
    page.raw,
    page.units,
    page.place,
    mapped.account_id,
    mapped.units AS agreed,
    balance.account,
    balance.currency AS account_currency,
    balance.posted
FROM page
LEFT JOIN lastro_adoption_row AS mapped ON page.row_key = mapped.row_key AND mapped.adoption = %(adoption)s
LEFT JOIN lastro_balance AS balance ON mapped.account_id = balance.account_id
WHERE
    NOT coalesce(
        page.units = balance.posted AND page.currency = balance.currency AND mapped.units = balance.posted, 0
    )
    OR page.place = (SELECT max(every.place) FROM page AS every)
ORDER BY page.place;

-- name: lost
-- Accounts that hold something and whose row is no longer there, or no longer among those that were declared.
-- locks: none   returns: 0 … rows_max rows
SELECT
    mapped.row_key,
    mapped.account_id,
    mapped.units AS agreed,
    balance.account,
    balance.currency AS account_currency,
    balance.posted
FROM lastro_adoption_row AS mapped
INNER JOIN lastro_balance AS balance ON mapped.account_id = balance.account_id
WHERE
    mapped.adoption = %(adoption)s
    AND balance.posted <> 0
    AND mapped.row_key NOT IN (
        SELECT CAST(own.own_id AS text)
            || CASE WHEN %(two_ids)s THEN char(31) || CAST(own.own_id_2 AS text) ELSE '' END
        FROM own_table AS own
        WHERE
            (%(only_value)s IS NULL OR CAST(own.own_only AS text) = %(only_value)s)
            AND (NOT %(only_null)s OR own.own_null IS NULL)
            AND own.own_id IS NOT NULL AND own.own_id_2 IS NOT NULL
    )
ORDER BY mapped.row_key
LIMIT %(rows_max)s;

-- name: unequal
-- The whole table against the ledger, in one snapshot: how many rows, and how many of them have no account, or one that
-- holds something else.
-- locks: none   returns: 1 row
WITH seen AS (
    SELECT
        CAST(own.own_id AS text)
        || CASE WHEN %(two_ids)s THEN char(31) || CAST(own.own_id_2 AS text) ELSE '' END AS row_key,
        coalesce(%(currency)s, CAST(own.own_currency AS text)) AS currency,
        CASE
            WHEN own.own_balance IS NULL AND %(null_is_zero)s THEN 0
            WHEN typeof(own.own_balance) = 'integer' THEN own.own_balance * %(factor)s
        END AS units
    FROM own_table AS own
    WHERE
        (%(only_value)s IS NULL OR CAST(own.own_only AS text) = %(only_value)s)
        AND (NOT %(only_null)s OR own.own_null IS NULL)
)

SELECT
    count(*) AS rows_seen,
    count(CASE WHEN mapped.account_id IS NULL THEN 1 END) AS without_account,
    count(
        CASE
            WHEN mapped.account_id IS NOT NULL AND NOT coalesce(
                seen.units = balance.posted AND seen.currency = balance.currency, 0
            ) THEN 1
        END
    ) AS unequal,
    count(
        CASE WHEN mapped.account_id IS NOT NULL AND NOT coalesce(seen.currency = balance.currency, 0) THEN 1 END
    ) AS other_currency
FROM seen
LEFT JOIN lastro_adoption_row AS mapped ON seen.row_key = mapped.row_key AND mapped.adoption = %(adoption)s
LEFT JOIN lastro_balance AS balance ON mapped.account_id = balance.account_id;

-- name: write_row
-- Let the old column of one row say what the ledger says.
-- locks: the row   returns: nothing
UPDATE own_table
SET own_balance = CAST(%(written)s AS integer)
WHERE
    own_id = %(from_1)s
    AND own_id_2 = %(from_2)s
    AND CAST(own_id AS text)
    || CASE WHEN %(two_ids)s THEN char(31) || CAST(own_id_2 AS text) ELSE '' END = %(row_key)s;
