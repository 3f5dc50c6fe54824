-- 0004 kinds: which accounts may stand on the sides of a transfer, by its kind; and which periods are closed.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- What a ledger says of its kinds. A kind that isn't here may stand between any two accounts.
CREATE TABLE lastro_kind (
    name text NOT NULL,
    debit text NOT NULL,
    credit text NOT NULL,
    either_way integer NOT NULL,
    undone_by text,
    registered_at integer NOT NULL,
    CONSTRAINT kind_once PRIMARY KEY (name),
    CONSTRAINT kind_texts_length CHECK (
        length(name) BETWEEN 1 AND 16 AND length(debit) BETWEEN 1 AND 340 AND length(credit) BETWEEN 1 AND 340
        AND coalesce(length(undone_by), 1) BETWEEN 1 AND 16
    ),
    CONSTRAINT kind_either_way_known CHECK (either_way IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER lastro_transfer_kind_sides BEFORE INSERT ON lastro_transfer
WHEN EXISTS (
    SELECT 1
    FROM lastro_kind AS kind
    LEFT JOIN lastro_account AS debit ON debit.id = new.debit_id
    LEFT JOIN lastro_account AS credit ON credit.id = new.credit_id
    WHERE kind.name = new.kind
        AND NOT coalesce(
            CASE WHEN substr(kind.debit, -1) = '*'
                THEN substr(debit.name, 1, length(kind.debit) - 1) = substr(kind.debit, 1, length(kind.debit) - 1)
                ELSE debit.name = kind.debit END
            AND CASE WHEN substr(kind.credit, -1) = '*'
                THEN substr(credit.name, 1, length(kind.credit) - 1) = substr(kind.credit, 1, length(kind.credit) - 1)
                ELSE credit.name = kind.credit END,
            0
        )
        AND NOT coalesce(
            kind.either_way
            AND CASE WHEN substr(kind.debit, -1) = '*'
                THEN substr(credit.name, 1, length(kind.debit) - 1) = substr(kind.debit, 1, length(kind.debit) - 1)
                ELSE credit.name = kind.debit END
            AND CASE WHEN substr(kind.credit, -1) = '*'
                THEN substr(debit.name, 1, length(kind.credit) - 1) = substr(kind.credit, 1, length(kind.credit) - 1)
                ELSE debit.name = kind.credit END,
            0
        )
)
BEGIN
    SELECT raise(ABORT, 'kind refused: a transfer of this kind may not stand between these accounts');
END;

CREATE TRIGGER lastro_transfer_kind_undone BEFORE INSERT ON lastro_transfer
WHEN new.reverses IS NOT NULL AND EXISTS (
    SELECT 1
    FROM lastro_transfer AS original
    INNER JOIN lastro_kind AS kind ON kind.name = original.kind
    WHERE original.key = new.reverses AND kind.undone_by <> new.kind
)
BEGIN
    SELECT raise(ABORT, 'kind refused: a transfer of this kind may not undo one of the other''s');
END;

-- Periods that were closed, and opened again: who, when and why, for good. `closed_until` is the bound from then on.
CREATE TABLE lastro_period_closing (
    id integer PRIMARY KEY,
    key text,
    closed_until integer NOT NULL,
    reopens integer NOT NULL,
    reason text,
    actor text,
    recorded_at integer NOT NULL,
    CONSTRAINT period_closing_key_once UNIQUE (key),
    CONSTRAINT period_closing_texts_length CHECK (
        coalesce(length(key), 1) BETWEEN 1 AND 400 AND coalesce(length(reason), 1) <= 255
        AND coalesce(length(actor), 1) <= 255
    ),
    CONSTRAINT period_reopened_by_name CHECK (
        reopens = 0 OR (
            reopens = 1 AND coalesce(length(key), 0) > 0 AND coalesce(length(reason), 0) > 0
            AND coalesce(length(actor), 0) > 0
        )
    )
) STRICT;

-- The one row that says what is closed now.
CREATE TABLE lastro_closed_period (
    only_row integer NOT NULL DEFAULT 1,
    closed_until integer,
    closing_id integer NOT NULL DEFAULT 0,
    CONSTRAINT closed_period_once PRIMARY KEY (only_row),
    CONSTRAINT closed_period_is_one CHECK (only_row = 1)
) STRICT, WITHOUT ROWID;
INSERT INTO lastro_closed_period (only_row) VALUES (1);

CREATE TRIGGER lastro_period_closing_not_updated BEFORE UPDATE ON lastro_period_closing
BEGIN
    SELECT raise(ABORT, 'period_closing is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_period_closing_not_deleted BEFORE DELETE ON lastro_period_closing
BEGIN
    SELECT raise(ABORT, 'period_closing is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_period_closing_not_replaced BEFORE INSERT ON lastro_period_closing
WHEN EXISTS (SELECT 1 FROM lastro_period_closing AS kept WHERE kept.id = new.id OR kept.key = new.key)
BEGIN
    SELECT raise(ABORT, 'period_closing is append-only: REPLACE refused');
END;
CREATE TRIGGER lastro_closed_period_not_deleted BEFORE DELETE ON lastro_closed_period
BEGIN
    SELECT raise(ABORT, 'closed_period keeps its one row: DELETE refused');
END;
CREATE TRIGGER lastro_closed_period_not_replaced BEFORE INSERT ON lastro_closed_period
BEGIN
    SELECT raise(ABORT, 'closed_period keeps its one row: INSERT refused');
END;
-- The bound moves only to what the history of closings says last.
CREATE TRIGGER lastro_closed_period_explained BEFORE UPDATE ON lastro_closed_period
WHEN new.closing_id <= old.closing_id OR NOT EXISTS (
    SELECT 1 FROM lastro_period_closing AS closing
    WHERE closing.id = new.closing_id AND closing.closed_until = new.closed_until
)
BEGIN
    SELECT raise(ABORT, 'what is closed changes only with a row of period_closing that says so: UPDATE refused');
END;

CREATE TRIGGER lastro_transfer_period_open BEFORE INSERT ON lastro_transfer
WHEN new.occurred_at < (SELECT closed.closed_until FROM lastro_closed_period AS closed)
BEGIN
    SELECT raise(ABORT, 'period closed: the books are closed for the moment at which this transfer occurred');
END;
