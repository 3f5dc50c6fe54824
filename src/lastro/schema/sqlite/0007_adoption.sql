-- 0007 adoption: taking over balances that an application keeps in a column of its own.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- An adoption and where it stands.
CREATE TABLE lastro_adoption (
    name text NOT NULL,
    phase text NOT NULL,
    declaration text NOT NULL,
    started_at integer NOT NULL,
    changed_at integer NOT NULL,
    actor text,
    CONSTRAINT adoption_once PRIMARY KEY (name),
    CONSTRAINT adoption_phase_known CHECK (phase IN ('importing', 'shadow', 'ledger', 'finished', 'abandoned')),
    CONSTRAINT adoption_texts_length CHECK (length(name) BETWEEN 1 AND 32 AND coalesce(length(actor), 1) <= 255)
) STRICT, WITHOUT ROWID;

-- Whose account a row of the old table is, and the amount on which both sides last agreed: what changed since tells
-- what went wrong.
CREATE TABLE lastro_adoption_row (
    adoption text NOT NULL,
    row_key text NOT NULL,
    account_id integer NOT NULL,
    units integer NOT NULL,
    agreed_at integer NOT NULL,
    CONSTRAINT adoption_row_once PRIMARY KEY (adoption, row_key),
    CONSTRAINT adoption_account_once UNIQUE (account_id),
    CONSTRAINT adoption_row_key_length CHECK (length(row_key) <= 240)
) STRICT, WITHOUT ROWID;

-- What is different now: a live table. What was different stands in adoption_event.
CREATE TABLE lastro_adoption_difference (
    adoption text NOT NULL,
    row_key text NOT NULL,
    account text,
    currency text,
    cause text NOT NULL,
    expected text,
    found integer,
    first_seen_at integer NOT NULL,
    last_seen_at integer NOT NULL,
    CONSTRAINT adoption_difference_once PRIMARY KEY (adoption, row_key)
) STRICT, WITHOUT ROWID;

-- When both sides were last compared from end to end.
CREATE TABLE lastro_adoption_look (
    adoption text NOT NULL,
    rows_seen integer NOT NULL,
    differences integer NOT NULL,
    looked_at integer NOT NULL,
    CONSTRAINT adoption_look_once PRIMARY KEY (adoption)
) STRICT, WITHOUT ROWID;

-- Whoever writes the old column for the ledger leaves a row here for as long as that takes. It is never committed: the
-- trigger on the column sees it in this transaction, and in no other.
CREATE TABLE lastro_adoption_mirroring (
    adoption text NOT NULL,
    CONSTRAINT adoption_mirroring_once PRIMARY KEY (adoption)
) STRICT, WITHOUT ROWID;

-- What was done and what was found, for good.
CREATE TABLE lastro_adoption_event (
    id integer PRIMARY KEY,
    adoption text NOT NULL,
    what text NOT NULL,
    row_key text,
    detail text,
    actor text,
    recorded_at integer NOT NULL,
    CONSTRAINT adoption_event_texts_length CHECK (length(what) BETWEEN 1 AND 32 AND coalesce(length(actor), 1) <= 255)
) STRICT;
CREATE INDEX lastro_adoption_event_of ON lastro_adoption_event (adoption, id);

CREATE TRIGGER lastro_adoption_event_not_updated BEFORE UPDATE ON lastro_adoption_event
BEGIN
    SELECT raise(ABORT, 'adoption_event is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_adoption_event_not_deleted BEFORE DELETE ON lastro_adoption_event
BEGIN
    SELECT raise(ABORT, 'adoption_event is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_adoption_event_not_replaced BEFORE INSERT ON lastro_adoption_event
WHEN EXISTS (SELECT 1 FROM lastro_adoption_event AS kept WHERE kept.id = new.id)
BEGIN
    SELECT raise(ABORT, 'adoption_event is append-only: REPLACE refused');
END;
