-- 0005 closings: what each account stood at, mark by mark, so that a balance at a moment needn't read all before it.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- A mark cuts the history by ids: all that has an id up to its ceiling is committed, or never will be, before the mark
-- is written. So what lies between two marks never changes, whatever the clocks say; `marked_at` says where to look.
CREATE TABLE IF NOT EXISTS lastro.mark (
    id bigint NOT NULL,
    marked_at DATETIME(6) NOT NULL,
    id_floor bigint NOT NULL,
    id_ceiling bigint NOT NULL,
    closed_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    KEY mark_marked_at (marked_at, id),
    CONSTRAINT mark_follows CHECK (id > 0 AND id_floor <= id_ceiling)
) ENGINE = InnoDB;

-- What an account stood at when a mark was made, where it had entries since the mark before: their sum is `amount` less
-- `opening`. The least and the greatest moments tell which entries a reader must look at, and mostly that it need none.
CREATE TABLE IF NOT EXISTS lastro.closing (
    account_id bigint NOT NULL,
    mark_id bigint NOT NULL,
    opening bigint NOT NULL,
    amount bigint NOT NULL,
    entries bigint NOT NULL,
    blocks bigint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    recorded_min_at DATETIME(6) NOT NULL,
    recorded_max_at DATETIME(6) NOT NULL,
    occurred_min_at DATETIME(6) NOT NULL,
    occurred_max_at DATETIME(6) NOT NULL,
    PRIMARY KEY (account_id, mark_id),
    CONSTRAINT closing_of_entries CHECK (entries > 0 AND blocks >= 0 AND first_id <= last_id)
) ENGINE = InnoDB;

-- The same for a few hundred entries each, in the order of their ids, where an account had more than that.
CREATE TABLE IF NOT EXISTS lastro.closing_block (
    account_id bigint NOT NULL,
    mark_id bigint NOT NULL,
    number bigint NOT NULL,
    moved bigint NOT NULL,
    entries bigint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    recorded_min_at DATETIME(6) NOT NULL,
    recorded_max_at DATETIME(6) NOT NULL,
    occurred_min_at DATETIME(6) NOT NULL,
    occurred_max_at DATETIME(6) NOT NULL,
    PRIMARY KEY (account_id, mark_id, number),
    CONSTRAINT closing_block_of_entries CHECK (entries > 0 AND number >= 0 AND first_id <= last_id)
) ENGINE = InnoDB;

-- The one row of the mark that is being made, for whoever makes it to lock: how far it has come.
CREATE TABLE IF NOT EXISTS lastro.open_mark (
    only_row boolean NOT NULL DEFAULT 1,
    id bigint NOT NULL DEFAULT 1,
    id_floor bigint NOT NULL DEFAULT 0,
    id_ceiling bigint,
    marked_at DATETIME(6),
    waits_for mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    settled boolean NOT NULL DEFAULT 0,
    after_account_id bigint NOT NULL DEFAULT -1,
    newest_at DATETIME(6),
    PRIMARY KEY (only_row),
    CONSTRAINT open_mark_is_one CHECK (only_row = 1),
    CONSTRAINT open_mark_follows CHECK (id > 0 AND id_floor <= coalesce(id_ceiling, id_floor))
) ENGINE = InnoDB;
INSERT INTO lastro.open_mark (only_row)
SELECT 1 FROM dual
WHERE (SELECT count(*) FROM lastro.open_mark) = 0;

DROP TRIGGER IF EXISTS lastro.mark_not_updated;
CREATE TRIGGER lastro.mark_not_updated BEFORE UPDATE ON lastro.mark FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'mark is append-only: UPDATE refused';
DROP TRIGGER IF EXISTS lastro.mark_not_deleted;
CREATE TRIGGER lastro.mark_not_deleted BEFORE DELETE ON lastro.mark FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'mark is append-only: DELETE refused';
DROP TRIGGER IF EXISTS lastro.closing_not_updated;
CREATE TRIGGER lastro.closing_not_updated BEFORE UPDATE ON lastro.closing FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'closing is append-only: UPDATE refused';
DROP TRIGGER IF EXISTS lastro.closing_not_deleted;
CREATE TRIGGER lastro.closing_not_deleted BEFORE DELETE ON lastro.closing FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'closing is append-only: DELETE refused';
DROP TRIGGER IF EXISTS lastro.closing_block_not_updated;
CREATE TRIGGER lastro.closing_block_not_updated BEFORE UPDATE ON lastro.closing_block FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'closing_block is append-only: UPDATE refused';
DROP TRIGGER IF EXISTS lastro.closing_block_not_deleted;
CREATE TRIGGER lastro.closing_block_not_deleted BEFORE DELETE ON lastro.closing_block FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'closing_block is append-only: DELETE refused';
DROP TRIGGER IF EXISTS lastro.open_mark_not_deleted;
CREATE TRIGGER lastro.open_mark_not_deleted BEFORE DELETE ON lastro.open_mark FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'open_mark keeps its one row: DELETE refused';
