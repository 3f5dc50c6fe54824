-- The kinds of transfer that a ledger has registered, and the trigger that holds every writer to them.

-- name: list
-- The registered kinds.
-- locks: none   returns: 1 row a kind
SELECT
    kind.name,
    kind.debit,
    kind.credit,
    kind.either_way,
    kind.undone_by
FROM lastro.kind AS kind
ORDER BY kind.name;

-- name: lock
-- Let one registration at a time through.
-- locks: advisory, by ledger   returns: nothing
SELECT pg_advisory_xact_lock(hashtextextended('lastro registers kinds of ' || 'lastro.transfer'::regclass::oid, 0));

-- name: is_used
-- Whether anything was posted under this kind. Reads the history until it finds one.
-- locks: none   returns: 1 row
SELECT count(*) > 0 AS found
FROM (SELECT 1 AS one FROM lastro.transfer AS transfer WHERE transfer.kind = %(kind)s::text LIMIT 1) AS used;

-- name: hold_writers
-- Wait for whoever is posting, and let nobody post until the registration commits.
-- locks: transfer, in SHARE ROW EXCLUSIVE mode   returns: nothing
LOCK TABLE lastro.transfer IN SHARE ROW EXCLUSIVE MODE;

-- name: put
-- Register a kind, or change its terms.
-- locks: none that isn't held already   returns: nothing
INSERT INTO lastro.kind AS kind (name, debit, credit, either_way, undone_by, registered_at)
VALUES (
    %(name)s::text, %(debit)s::text, %(credit)s::text, %(either_way)s::boolean, %(undone_by)s::text,
    coalesce(%(now)s::timestamptz, now())
)
ON CONFLICT (name) DO UPDATE SET
debit = excluded.debit,
credit = excluded.credit,
either_way = excluded.either_way,
undone_by = excluded.undone_by,
registered_at = excluded.registered_at;

-- name: compose_guard
-- The statement that makes the trigger for the kinds as they are now. Its condition names them in one array, which
-- costs a transfer of another kind half of what a list of words would; it fires after the row is written, so that COPY
-- may still write many rows at a time. Where a kind says what undoes it, whatever reverses anything is looked at.
-- locks: none   returns: 1 row; what it composes takes SHARE ROW EXCLUSIVE on transfer
SELECT
    'CREATE OR REPLACE TRIGGER transfer_kind_rules AFTER INSERT ON lastro.transfer FOR EACH ROW WHEN ('
    || 'new.kind = ANY (' || quote_literal(array_agg(kind.name::text ORDER BY kind.name)) || '::text[])'
    || CASE WHEN bool_or(kind.undone_by IS NOT NULL) THEN ' OR new.reverses IS NOT NULL' ELSE '' END
    || ') EXECUTE FUNCTION lastro.refuse_wrong_kind('
    || quote_literal(array_agg(kind.name::text ORDER BY kind.name)) || ', '
    || quote_literal(array_agg(kind.debit::text ORDER BY kind.name)) || ', '
    || quote_literal(array_agg(kind.credit::text ORDER BY kind.name)) || ', '
    || quote_literal(array_agg(kind.either_way ORDER BY kind.name)) || ', '
    || quote_literal(array_agg(kind.undone_by::text ORDER BY kind.name))
    || ');' AS script
FROM lastro.kind AS kind;

-- name: under_way
-- Transactions that may still post by the terms from before: none, for the registration held them off.
-- locks: none   returns: no row
SELECT
    ''::text AS transaction,
    0 AS pid,
    ''::text AS application,
    0::bigint AS age_s
WHERE false;
