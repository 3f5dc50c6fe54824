-- 0004 kinds: which accounts may stand on the sides of a transfer, by its kind; and which periods are closed.
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

-- It says no, as the triggers of 0001 do. Text is compared byte by byte. A row without an id is one that refuses itself
-- (the mark "or none" of the statements): nothing is written, so no rule is broken.
-- noqa: disable=RF01
DROP TRIGGER IF EXISTS lastro.transfer_kind_sides;
CREATE TRIGGER lastro.transfer_kind_sides BEFORE INSERT ON lastro.transfer FOR EACH ROW
IF new.id IS NOT NULL AND EXISTS (
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

DROP TRIGGER IF EXISTS lastro.transfer_kind_undone;
CREATE TRIGGER lastro.transfer_kind_undone BEFORE INSERT ON lastro.transfer FOR EACH ROW
IF new.id IS NOT NULL AND new.reverses IS NOT NULL AND EXISTS (
    SELECT 1
    FROM lastro.transfer_key AS named
    INNER JOIN lastro.transfer AS original
        ON named.debit_id = original.debit_id AND named.transfer_id = original.id
    INNER JOIN lastro.kind AS kind ON original.kind = kind.name
    WHERE named.`key` = new.reverses AND kind.undone_by <> new.kind
) THEN
    SIGNAL SQLSTATE '45000' SET
        MYSQL_ERRNO = 31401,
        MESSAGE_TEXT = 'kind refused: a transfer of this kind may not undo one of the other''s';
END IF;

-- Periods that were closed, and opened again: who, when and why, for good. `closed_until` is the bound from then on.
CREATE TABLE IF NOT EXISTS lastro.period_closing (
    id bigint NOT NULL AUTO_INCREMENT,
    `key` varbinary(1600),
    closed_until DATETIME(6) NOT NULL,
    reopens boolean NOT NULL,
    reason varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    actor varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    recorded_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY period_closing_key_once (`key`),
    CONSTRAINT period_reopened_by_name CHECK (
        NOT reopens OR (
            coalesce(length(`key`), 0) > 0 AND coalesce(length(reason), 0) > 0 AND coalesce(length(actor), 0) > 0
        )
    )
) ENGINE = InnoDB;

-- The one row that says what is closed now. Whoever posts with an older moment share-locks it: so a closing waits for
-- those who are under way, and they read what is committed, whatever their snapshot shows.
CREATE TABLE IF NOT EXISTS lastro.closed_period (
    only_row boolean NOT NULL DEFAULT 1,
    closed_until DATETIME(6),
    closing_id bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (only_row),
    CONSTRAINT closed_period_is_one CHECK (only_row = 1)
) ENGINE = InnoDB;
INSERT INTO lastro.closed_period (only_row)
SELECT 1 FROM dual
WHERE (SELECT count(*) FROM lastro.closed_period) = 0;

DROP TRIGGER IF EXISTS lastro.period_closing_not_updated;
CREATE TRIGGER lastro.period_closing_not_updated BEFORE UPDATE ON lastro.period_closing FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'period_closing is append-only: UPDATE refused';
DROP TRIGGER IF EXISTS lastro.period_closing_not_deleted;
CREATE TRIGGER lastro.period_closing_not_deleted BEFORE DELETE ON lastro.period_closing FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'period_closing is append-only: DELETE refused';
DROP TRIGGER IF EXISTS lastro.closed_period_not_deleted;
CREATE TRIGGER lastro.closed_period_not_deleted BEFORE DELETE ON lastro.closed_period FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'closed_period keeps its one row: DELETE refused';
-- The bound moves only to what the history of closings says last.
DROP TRIGGER IF EXISTS lastro.closed_period_explained;
CREATE TRIGGER lastro.closed_period_explained BEFORE UPDATE ON lastro.closed_period FOR EACH ROW
IF new.closing_id <= old.closing_id OR NOT EXISTS (
    SELECT 1 FROM lastro.period_closing AS closing
    WHERE closing.id = new.closing_id AND closing.closed_until = new.closed_until
) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'what is closed changes only by period_closing: UPDATE refused';
END IF;

-- What is at most a minute old is compared without a lock: a closing waits for who may still write it. A session may
-- have set a clock of its own (SET timestamp), so it is compared all the same.
DROP TRIGGER IF EXISTS lastro.transfer_period_open;
CREATE TRIGGER lastro.transfer_period_open BEFORE INSERT ON lastro.transfer FOR EACH ROW
BEGIN
    DECLARE bound datetime(6);
    IF new.id IS NOT NULL AND (
        new.occurred_at < new.recorded_at - INTERVAL 1 MINUTE OR new.occurred_at < utc_timestamp(6) - INTERVAL 1 MINUTE
        OR new.occurred_at < (SELECT closed.closed_until FROM lastro.closed_period AS closed WHERE closed.only_row = 1)
    ) THEN
        SELECT closed.closed_until INTO bound
        FROM lastro.closed_period AS closed
        WHERE closed.only_row = 1
        LOCK IN SHARE MODE;
        IF new.occurred_at < bound THEN
            SIGNAL SQLSTATE '45000' SET
                MYSQL_ERRNO = 31402,
                MESSAGE_TEXT = 'period closed: the books are closed for the moment at which this transfer occurred';
        END IF;
    END IF;
END;
