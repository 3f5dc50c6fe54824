-- 0003 holds: money set aside, what became of it, and the small table of what is still open.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

CREATE SEQUENCE lastro.hold_id AS bigint;

-- History: what was set aside, once and for all. A key names one hold; the keys of transfers are another namespace.
-- No foreign key to `account`: its check would lock the account's row for every hold.
CREATE TABLE lastro.hold (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    amount bigint NOT NULL,
    capture_max bigint,
    placed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    listed boolean NOT NULL,
    key varchar(400) COLLATE "C" NOT NULL,
    owner varchar(255) COLLATE "C" NOT NULL,
    group_name varchar(400) COLLATE "C",
    cause varchar(255) COLLATE "C",
    source varchar(255),
    actor varchar(255),
    metadata jsonb,
    CONSTRAINT hold_once PRIMARY KEY (id),
    CONSTRAINT hold_key_once UNIQUE (key),
    CONSTRAINT hold_amount_positive CHECK (amount > 0 AND coalesce(capture_max, amount) >= amount)
);
COMMENT ON COLUMN lastro.hold.capture_max IS
'What may be captured in all, where more than the amount may; NULL: the amount.';
COMMENT ON COLUMN lastro.hold.listed IS
'Past its deadline it stands in its owner''s list and is never expired.';
CREATE INDEX hold_group ON lastro.hold (group_name, id) WHERE group_name IS NOT NULL;

-- History: what became of a hold, as a chain. Each event says what was left before it and after it, and its number is
-- the next one: of two rivals that end a hold exactly one can write it. `amount` is what was captured, released or
-- expired; `taken` is how much of the hold it used, which is less only where more was captured than was held.
CREATE TABLE lastro.hold_event (
    hold_id bigint NOT NULL,
    number integer NOT NULL,
    kind varchar(16) COLLATE "C" NOT NULL,
    amount bigint NOT NULL,
    taken bigint NOT NULL,
    left_before bigint NOT NULL,
    left_after bigint NOT NULL,
    transfer_id bigint,
    recorded_at timestamptz NOT NULL,
    key varchar(400) COLLATE "C",
    cause varchar(255) COLLATE "C",
    source varchar(255),
    actor varchar(255),
    CONSTRAINT hold_event_once PRIMARY KEY (hold_id, number),
    CONSTRAINT hold_event_adds_up CHECK (
        taken > 0 AND left_after >= 0 AND left_before - taken = left_after
        AND CASE kind
            WHEN 'captured' THEN amount >= taken AND transfer_id IS NOT NULL
            WHEN 'released' THEN amount = taken
            WHEN 'expired' THEN amount = taken AND left_after = 0
            ELSE false
        END
    )
);
COMMENT ON COLUMN lastro.hold_event.key IS
'The key of a release. A capture has its transfer''s key, and what it gives back of the rest has none.';
CREATE UNIQUE INDEX hold_event_key_once ON lastro.hold_event (key) WHERE key IS NOT NULL;

-- The live table: holds that are not at their end. The row is deleted by the transaction that ends the hold, and
-- base.held is the sum of an account's rows. `due_at` is when the expirer may come: the deadline, or later where the
-- owner guards the hold because its settlement is still queued. What changes with a capture stands in no index.
CREATE TABLE lastro.open_hold (
    hold_id bigint NOT NULL,
    account_id bigint NOT NULL,
    left_over bigint NOT NULL,
    captured bigint NOT NULL DEFAULT 0,
    released bigint NOT NULL DEFAULT 0,
    events integer NOT NULL DEFAULT 0,
    listed boolean NOT NULL,
    due_at timestamptz NOT NULL,
    guard_ends_at timestamptz,
    CONSTRAINT open_hold_once PRIMARY KEY (hold_id),
    CONSTRAINT open_hold_left_positive CHECK (left_over > 0 AND captured >= 0 AND released >= 0)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 5000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 5000
);
CREATE INDEX open_hold_account ON lastro.open_hold (account_id, hold_id);
CREATE INDEX open_hold_due ON lastro.open_hold (listed, due_at, hold_id);

CREATE TRIGGER hold_append_only BEFORE UPDATE OR DELETE ON lastro.hold
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER hold_not_truncated BEFORE TRUNCATE ON lastro.hold
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER hold_event_append_only BEFORE UPDATE OR DELETE ON lastro.hold_event
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER hold_event_not_truncated BEFORE TRUNCATE ON lastro.hold_event
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();

-- How each hold stands, in one snapshot.
CREATE VIEW lastro.hold_standing AS
SELECT
    hold.key,
    account.name AS account,
    account.currency,
    hold.amount,
    done.captured,
    done.released,
    done.expired,
    coalesce(open_hold.left_over, 0) AS left_over,
    CASE
        WHEN open_hold.hold_id IS NOT NULL THEN 'open'
        WHEN done.ended_by = 'expired' THEN 'expired'
        WHEN done.captured > 0 THEN 'captured'
        ELSE 'released'
    END AS state,
    hold.owner,
    hold.group_name,
    hold.capture_max,
    hold.listed,
    hold.placed_at,
    hold.expires_at,
    open_hold.guard_ends_at,
    done.ended_at,
    hold.cause,
    hold.source,
    hold.actor,
    hold.metadata,
    hold.id AS hold_id,
    hold.account_id
FROM lastro.hold AS hold
INNER JOIN lastro.account AS account ON hold.account_id = account.id
LEFT JOIN lastro.open_hold AS open_hold ON hold.id = open_hold.hold_id
CROSS JOIN LATERAL (
    SELECT
        coalesce(sum(event.amount) FILTER (WHERE event.kind = 'captured'), 0) AS captured,
        coalesce(sum(event.amount) FILTER (WHERE event.kind = 'released'), 0) AS released,
        coalesce(sum(event.amount) FILTER (WHERE event.kind = 'expired'), 0) AS expired,
        max(event.kind) FILTER (WHERE event.left_after = 0) AS ended_by,
        max(event.recorded_at) FILTER (WHERE event.left_after = 0) AS ended_at
    FROM lastro.hold_event AS event
    WHERE event.hold_id = hold.id
) AS done;
