-- 0004 kinds: which accounts may stand on the sides of a transfer, by its kind.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- What a ledger says of its kinds. A kind that isn't here may stand between any two accounts.
CREATE TABLE IF NOT EXISTS lastro.kind (
    name varbinary(64) NOT NULL,
    debit varbinary(1360) NOT NULL,
    credit varbinary(1360) NOT NULL,
    either_way boolean NOT NULL,
    undone_by varbinary(64),
    registered_at DATETIME(6) NOT NULL,
    PRIMARY KEY (name),
    CONSTRAINT kind_names_something CHECK (
        length(name) > 0 AND length(debit) > 0 AND length(credit) > 0 AND coalesce(length(undone_by), 1) > 0
    )
) ENGINE = InnoDB;

-- It says no, as the triggers of 0001 do. Text is compared byte by byte.
-- noqa: disable=RF01
DROP TRIGGER IF EXISTS lastro.transfer_kind_sides;
CREATE TRIGGER lastro.transfer_kind_sides BEFORE INSERT ON lastro.transfer FOR EACH ROW
IF EXISTS (
    SELECT 1
    FROM lastro.kind AS kind
    LEFT JOIN lastro.account AS debit ON debit.id = new.debit_id
    LEFT JOIN lastro.account AS credit ON credit.id = new.credit_id
    WHERE kind.name = new.kind
        AND NOT coalesce(
            CASE WHEN right(kind.debit, 1) = '*'
                THEN left(debit.name, length(kind.debit) - 1) = left(kind.debit, length(kind.debit) - 1)
                ELSE debit.name = kind.debit END
            AND CASE WHEN right(kind.credit, 1) = '*'
                THEN left(credit.name, length(kind.credit) - 1) = left(kind.credit, length(kind.credit) - 1)
                ELSE credit.name = kind.credit END,
            0
        )
        AND NOT coalesce(
            kind.either_way
            AND CASE WHEN right(kind.debit, 1) = '*'
                THEN left(credit.name, length(kind.debit) - 1) = left(kind.debit, length(kind.debit) - 1)
                ELSE credit.name = kind.debit END
            AND CASE WHEN right(kind.credit, 1) = '*'
                THEN left(debit.name, length(kind.credit) - 1) = left(kind.credit, length(kind.credit) - 1)
                ELSE debit.name = kind.credit END,
            0
        )
) THEN
    SIGNAL SQLSTATE '45000' SET
        MYSQL_ERRNO = 31401,
        MESSAGE_TEXT = 'kind refused: a transfer of this kind may not stand between these accounts';
END IF;
