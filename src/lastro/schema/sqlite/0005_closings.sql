-- 0005 closings: what each account stood at, mark by mark, so that a balance at a moment needn't read all before it.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- A mark cuts the history by ids; what lies between two marks never changes. `marked_at` only says where to look.
CREATE TABLE lastro_mark (
    id integer PRIMARY KEY,
    marked_at integer NOT NULL,
    id_floor integer NOT NULL,
    id_ceiling integer NOT NULL,
    closed_at integer NOT NULL,
    CONSTRAINT mark_follows CHECK (id > 0 AND id_floor <= id_ceiling)
) STRICT;
CREATE INDEX lastro_mark_marked_at ON lastro_mark (marked_at, id);

-- What an account stood at when a mark was made, where it had entries since the mark before: their sum is `amount` less
-- `opening`. The least and the greatest moments tell which entries a reader must look at, and mostly that it need none.
CREATE TABLE lastro_closing (
    account_id integer NOT NULL,
    mark_id integer NOT NULL,
    opening integer NOT NULL,
    amount integer NOT NULL,
    entries integer NOT NULL,
    blocks integer NOT NULL,
    first_id integer NOT NULL,
    last_id integer NOT NULL,
    recorded_min_at integer NOT NULL,
    recorded_max_at integer NOT NULL,
    occurred_min_at integer NOT NULL,
    occurred_max_at integer NOT NULL,
    CONSTRAINT closing_once PRIMARY KEY (account_id, mark_id),
    CONSTRAINT closing_of_entries CHECK (entries > 0 AND blocks >= 0 AND first_id <= last_id)
) STRICT, WITHOUT ROWID;

-- The same for a few hundred entries each, in the order of their ids, where an account had more than that.
CREATE TABLE lastro_closing_block (
    account_id integer NOT NULL,
    mark_id integer NOT NULL,
    number integer NOT NULL,
    moved integer NOT NULL,
    entries integer NOT NULL,
    first_id integer NOT NULL,
    last_id integer NOT NULL,
    recorded_min_at integer NOT NULL,
    recorded_max_at integer NOT NULL,
    occurred_min_at integer NOT NULL,
    occurred_max_at integer NOT NULL,
    CONSTRAINT closing_block_once PRIMARY KEY (account_id, mark_id, number),
    CONSTRAINT closing_block_of_entries CHECK (entries > 0 AND number >= 0 AND first_id <= last_id)
) STRICT, WITHOUT ROWID;

-- The one row of the mark that is being made: how far it has come.
CREATE TABLE lastro_open_mark (
    only_row integer NOT NULL DEFAULT 1,
    id integer NOT NULL DEFAULT 1,
    id_floor integer NOT NULL DEFAULT 0,
    id_ceiling integer,
    marked_at integer,
    waits_for text,
    settled integer NOT NULL DEFAULT 0,
    after_account_id integer NOT NULL DEFAULT -1,
    newest_at integer,
    CONSTRAINT open_mark_once PRIMARY KEY (only_row),
    CONSTRAINT open_mark_is_one CHECK (only_row = 1),
    CONSTRAINT open_mark_follows CHECK (id > 0 AND id_floor <= coalesce(id_ceiling, id_floor) AND settled IN (0, 1))
) STRICT, WITHOUT ROWID;
INSERT INTO lastro_open_mark (only_row) VALUES (1);

CREATE TRIGGER lastro_mark_not_updated BEFORE UPDATE ON lastro_mark
BEGIN
    SELECT raise(ABORT, 'mark is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_mark_not_deleted BEFORE DELETE ON lastro_mark
BEGIN
    SELECT raise(ABORT, 'mark is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_mark_not_replaced BEFORE INSERT ON lastro_mark
WHEN EXISTS (SELECT 1 FROM lastro_mark AS kept WHERE kept.id = new.id)
BEGIN
    SELECT raise(ABORT, 'mark is append-only: REPLACE refused');
END;
CREATE TRIGGER lastro_closing_not_updated BEFORE UPDATE ON lastro_closing
BEGIN
    SELECT raise(ABORT, 'closing is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_closing_not_deleted BEFORE DELETE ON lastro_closing
BEGIN
    SELECT raise(ABORT, 'closing is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_closing_not_replaced BEFORE INSERT ON lastro_closing
WHEN EXISTS (
    SELECT 1 FROM lastro_closing AS kept WHERE kept.account_id = new.account_id AND kept.mark_id = new.mark_id
)
BEGIN
    SELECT raise(ABORT, 'closing is append-only: REPLACE refused');
END;
CREATE TRIGGER lastro_closing_block_not_updated BEFORE UPDATE ON lastro_closing_block
BEGIN
    SELECT raise(ABORT, 'closing_block is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_closing_block_not_deleted BEFORE DELETE ON lastro_closing_block
BEGIN
    SELECT raise(ABORT, 'closing_block is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_closing_block_not_replaced BEFORE INSERT ON lastro_closing_block
WHEN EXISTS (
    SELECT 1 FROM lastro_closing_block AS kept
    WHERE kept.account_id = new.account_id AND kept.mark_id = new.mark_id AND kept.number = new.number
)
BEGIN
    SELECT raise(ABORT, 'closing_block is append-only: REPLACE refused');
END;
CREATE TRIGGER lastro_open_mark_not_deleted BEFORE DELETE ON lastro_open_mark
BEGIN
    SELECT raise(ABORT, 'open_mark keeps its one row: DELETE refused');
END;
CREATE TRIGGER lastro_open_mark_not_replaced BEFORE INSERT ON lastro_open_mark
BEGIN
    SELECT raise(ABORT, 'open_mark keeps its one row: INSERT refused');
END;
