-- 0004 kinds: which accounts may stand on the sides of a transfer, by its kind.
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
