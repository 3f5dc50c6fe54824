-- 0006 reconciliation: how far each account's history was added up, and what was found to differ.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- What an account's history summed to up to a transfer, and its base row as it was when both agreed. A cache: without a
-- row the whole history is added up.
CREATE TABLE lastro_reconciled (
    account_id integer NOT NULL,
    amount integer NOT NULL,
    held integer NOT NULL,
    payments integer NOT NULL,
    changed_at integer NOT NULL,
    id_floor integer NOT NULL,
    history_amount integer,
    tailed integer NOT NULL,
    CONSTRAINT reconciled_once PRIMARY KEY (account_id)
) STRICT, WITHOUT ROWID;

-- How far reconciliation has come, in one row.
CREATE TABLE lastro_reconciliation (
    only_row integer NOT NULL DEFAULT 1,
    checked_id integer NOT NULL DEFAULT 0,
    settled_id integer NOT NULL DEFAULT 0,
    candidate_id integer,
    waits_for text,
    finished_at integer,
    CONSTRAINT reconciliation_once PRIMARY KEY (only_row),
    CONSTRAINT reconciliation_is_one CHECK (only_row = 1)
) STRICT, WITHOUT ROWID;
INSERT INTO lastro_reconciliation (only_row) VALUES (1);

-- Drift that was found: it stays open until somebody says what it was. `cleared_at` says that a later look didn't find
-- it any more, which explains nothing. Amounts are minor units; for a rule that counts rows, rows.
CREATE TABLE lastro_incident (
    id integer PRIMARY KEY,
    account_id integer NOT NULL,
    rule text NOT NULL,
    expected integer NOT NULL,
    found integer NOT NULL,
    agreed_id integer,
    transfer_id integer,
    opened_at integer NOT NULL,
    last_seen_at integer NOT NULL,
    cleared_at integer,
    explained_at integer,
    explanation text,
    explained_by text,
    CONSTRAINT incident_rule_known CHECK (rule IN ('balance', 'held', 'tail', 'chain', 'account')),
    CONSTRAINT incident_differs CHECK (expected <> found),
    CONSTRAINT incident_texts_length CHECK (
        coalesce(length(explanation), 1) <= 1000 AND coalesce(length(explained_by), 1) <= 255
    ),
    CONSTRAINT incident_explained_by_name CHECK (
        CASE
            WHEN explained_at IS NULL THEN explanation IS NULL AND explained_by IS NULL
            ELSE coalesce(length(explanation), 0) > 0 AND coalesce(length(explained_by), 0) > 0
        END
    )
) STRICT;
CREATE UNIQUE INDEX lastro_incident_open_once ON lastro_incident (account_id, rule)
WHERE explained_at IS NULL AND cleared_at IS NULL;
CREATE INDEX lastro_incident_unsettled ON lastro_incident (account_id, rule)
WHERE cleared_at IS NULL OR explained_at IS NULL;

CREATE TRIGGER lastro_incident_not_deleted BEFORE DELETE ON lastro_incident
BEGIN
    SELECT raise(ABORT, 'incident is never deleted: explain it');
END;
