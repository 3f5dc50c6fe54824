-- 0005 closings: what each account stood at, mark by mark, so that a balance at a moment needn't read all before it.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- A mark cuts the history by ids: all that has an id up to its ceiling is committed, or never will be, before the mark
-- is written. So what lies between two marks never changes, whatever the clocks say; `marked_at` says where to look.
CREATE TABLE lastro.mark (
    id bigint NOT NULL,
    marked_at timestamptz NOT NULL,
    id_floor bigint NOT NULL,
    id_ceiling bigint NOT NULL,
    closed_at timestamptz NOT NULL,
    CONSTRAINT mark_once PRIMARY KEY (id),
    CONSTRAINT mark_follows CHECK (id > 0 AND id_floor <= id_ceiling)
);
CREATE INDEX mark_marked_at ON lastro.mark (marked_at, id);

-- What an account stood at when a mark was made, where it had entries since the mark before: their sum is `amount` less
-- `opening`. The least and the greatest moments tell which entries a reader must look at, and mostly that it need none.
CREATE TABLE lastro.closing (
    account_id bigint NOT NULL,
    mark_id bigint NOT NULL,
    opening bigint NOT NULL,
    amount bigint NOT NULL,
    entries bigint NOT NULL,
    blocks bigint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    recorded_min_at timestamptz NOT NULL,
    recorded_max_at timestamptz NOT NULL,
    occurred_min_at timestamptz NOT NULL,
    occurred_max_at timestamptz NOT NULL,
    CONSTRAINT closing_once PRIMARY KEY (account_id, mark_id),
    CONSTRAINT closing_of_entries CHECK (entries > 0 AND blocks >= 0 AND first_id <= last_id)
);

-- The same for a few hundred entries each, in the order of their ids, where an account had more than that.
CREATE TABLE lastro.closing_block (
    account_id bigint NOT NULL,
    mark_id bigint NOT NULL,
    number bigint NOT NULL,
    moved bigint NOT NULL,
    entries bigint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    recorded_min_at timestamptz NOT NULL,
    recorded_max_at timestamptz NOT NULL,
    occurred_min_at timestamptz NOT NULL,
    occurred_max_at timestamptz NOT NULL,
    CONSTRAINT closing_block_once PRIMARY KEY (account_id, mark_id, number),
    CONSTRAINT closing_block_of_entries CHECK (entries > 0 AND number >= 0 AND first_id <= last_id)
);

-- The one row of the mark that is being made, for whoever makes it to lock: how far it has come.
CREATE TABLE lastro.open_mark (
    only_row boolean NOT NULL DEFAULT true,
    id bigint NOT NULL DEFAULT 1,
    id_floor bigint NOT NULL DEFAULT 0,
    id_ceiling bigint,
    marked_at timestamptz,
    waits_for text,
    settled boolean NOT NULL DEFAULT false,
    after_account_id bigint NOT NULL DEFAULT -1,
    newest_at timestamptz,
    CONSTRAINT open_mark_once PRIMARY KEY (only_row),
    CONSTRAINT open_mark_is_one CHECK (only_row),
    CONSTRAINT open_mark_follows CHECK (id > 0 AND id_floor <= coalesce(id_ceiling, id_floor))
);
COMMENT ON COLUMN lastro.open_mark.waits_for IS
'The transactions that were open when the ceiling was read, as JSON, less those seen to have ended since.';
INSERT INTO lastro.open_mark (only_row) VALUES (true);

CREATE TRIGGER mark_append_only BEFORE UPDATE OR DELETE ON lastro.mark
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER mark_not_truncated BEFORE TRUNCATE ON lastro.mark
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER closing_append_only BEFORE UPDATE OR DELETE ON lastro.closing
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER closing_not_truncated BEFORE TRUNCATE ON lastro.closing
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER closing_block_append_only BEFORE UPDATE OR DELETE ON lastro.closing_block
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER closing_block_not_truncated BEFORE TRUNCATE ON lastro.closing_block
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER open_mark_not_deleted BEFORE DELETE ON lastro.open_mark
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER open_mark_not_truncated BEFORE TRUNCATE ON lastro.open_mark
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
