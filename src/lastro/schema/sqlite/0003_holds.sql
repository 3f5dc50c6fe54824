-- 0003 holds: money set aside, what became of it, and the small table of what is still open.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- History: what was set aside, once and for all. A key names one hold; the keys of transfers are another namespace.
-- `capture_max`: what may be captured in all, where more than the amount may. `listed`: past its deadline it stands in
-- its owner's list and is never expired.
CREATE TABLE lastro_hold (
    id integer PRIMARY KEY,
    account_id integer NOT NULL,
    amount integer NOT NULL,
    capture_max integer,
    placed_at integer NOT NULL,
    expires_at integer NOT NULL,
    listed integer NOT NULL,
    key text NOT NULL,
    owner text NOT NULL,
    group_name text,
    cause text,
    source text,
    actor text,
    metadata text,
    CONSTRAINT hold_key_once UNIQUE (key),
    CONSTRAINT hold_amount_positive CHECK (amount > 0 AND coalesce(capture_max, amount) >= amount),
    CONSTRAINT hold_listed_known CHECK (listed IN (0, 1)),
    CONSTRAINT hold_key_length CHECK (length(key) BETWEEN 1 AND 400),
    CONSTRAINT hold_texts_length CHECK (
        length(owner) BETWEEN 1 AND 255 AND coalesce(length(group_name), 1) <= 400
        AND coalesce(length(cause), 1) <= 255 AND coalesce(length(source), 1) <= 255
        AND coalesce(length(actor), 1) <= 255
    ),
    CONSTRAINT hold_metadata_is_json CHECK (metadata IS NULL OR json_valid(metadata))
) STRICT;
CREATE INDEX lastro_hold_group ON lastro_hold (group_name, id) WHERE group_name IS NOT NULL;

-- History: what became of a hold, as a chain. Each event says what was left before it and after it, and its number is
-- the next one. `amount` is what was captured, released or expired; `taken` is how much of the hold it used, which is
-- less only where more was captured than was held. `key` is that of a release.
CREATE TABLE lastro_hold_event (
    hold_id integer NOT NULL,
    number integer NOT NULL,
    kind text NOT NULL,
    amount integer NOT NULL,
    taken integer NOT NULL,
    left_before integer NOT NULL,
    left_after integer NOT NULL,
    transfer_id integer,
    recorded_at integer NOT NULL,
    key text,
    cause text,
    source text,
    actor text,
    CONSTRAINT hold_event_once PRIMARY KEY (hold_id, number),
    CONSTRAINT hold_event_key_once UNIQUE (key),
    CONSTRAINT hold_event_adds_up CHECK (
        taken > 0 AND left_after >= 0 AND left_before - taken = left_after
        AND CASE kind
            WHEN 'captured' THEN amount >= taken AND transfer_id IS NOT NULL
            WHEN 'released' THEN amount = taken
            WHEN 'expired' THEN amount = taken AND left_after = 0
            ELSE 0
        END
    ),
    CONSTRAINT hold_event_texts_length CHECK (
        coalesce(length(key), 1) <= 400 AND coalesce(length(cause), 1) <= 255
        AND coalesce(length(source), 1) <= 255 AND coalesce(length(actor), 1) <= 255
    )
) STRICT;

-- The live table: holds that are not at their end, deleted by the transaction that ends them. `due_at` is when the
-- expirer may come: the deadline, or later where the owner guards the hold.
CREATE TABLE lastro_open_hold (
    hold_id integer PRIMARY KEY,
    account_id integer NOT NULL,
    left_over integer NOT NULL,
    captured integer NOT NULL DEFAULT 0,
    released integer NOT NULL DEFAULT 0,
    events integer NOT NULL DEFAULT 0,
    listed integer NOT NULL,
    due_at integer NOT NULL,
    guard_ends_at integer,
    CONSTRAINT open_hold_left_positive CHECK (left_over > 0 AND captured >= 0 AND released >= 0)
) STRICT;
CREATE INDEX lastro_open_hold_account ON lastro_open_hold (account_id, hold_id);
CREATE INDEX lastro_open_hold_due ON lastro_open_hold (listed, due_at, hold_id);

CREATE TRIGGER lastro_hold_not_updated BEFORE UPDATE ON lastro_hold
BEGIN
    SELECT raise(ABORT, 'hold is append-only: UPDATE refused; capture or release the hold');
END;
CREATE TRIGGER lastro_hold_not_deleted BEFORE DELETE ON lastro_hold
BEGIN
    SELECT raise(ABORT, 'hold is append-only: DELETE refused; capture or release the hold');
END;
-- REPLACE deletes without asking the triggers above; the ledger itself looks for the key in the same statement.
CREATE TRIGGER lastro_hold_not_replaced BEFORE INSERT ON lastro_hold
WHEN EXISTS (SELECT 1 FROM lastro_hold AS kept WHERE kept.id = new.id OR kept.key = new.key)
BEGIN
    SELECT raise(ABORT, 'hold is append-only: REPLACE refused; its id or its key is there already');
END;
CREATE TRIGGER lastro_hold_event_not_updated BEFORE UPDATE ON lastro_hold_event
BEGIN
    SELECT raise(ABORT, 'hold_event is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_hold_event_not_deleted BEFORE DELETE ON lastro_hold_event
BEGIN
    SELECT raise(ABORT, 'hold_event is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_hold_event_not_replaced BEFORE INSERT ON lastro_hold_event
WHEN EXISTS (
    SELECT 1 FROM lastro_hold_event AS kept
    WHERE (kept.hold_id = new.hold_id AND kept.number = new.number) OR kept.key = new.key
)
BEGIN
    SELECT raise(ABORT, 'hold_event is append-only: REPLACE refused; its number or its key is there already');
END;

-- How each hold stands. The ledger reads it itself, so that moments are microseconds here.
CREATE VIEW lastro_hold_standing AS
SELECT
    hold.key,
    account.name AS account,
    account.currency,
    hold.amount,
    coalesce((
        SELECT sum(event.amount) FROM lastro_hold_event AS event
        WHERE event.hold_id = hold.id AND event.kind = 'captured'
    ), 0) AS captured,
    coalesce((
        SELECT sum(event.amount) FROM lastro_hold_event AS event
        WHERE event.hold_id = hold.id AND event.kind = 'released'
    ), 0) AS released,
    coalesce((
        SELECT sum(event.amount) FROM lastro_hold_event AS event
        WHERE event.hold_id = hold.id AND event.kind = 'expired'
    ), 0) AS expired,
    coalesce(open_hold.left_over, 0) AS left_over,
    CASE
        WHEN open_hold.hold_id IS NOT NULL THEN 'open'
        WHEN EXISTS (
            SELECT 1 FROM lastro_hold_event AS event WHERE event.hold_id = hold.id AND event.kind = 'expired'
        ) THEN 'expired'
        WHEN EXISTS (
            SELECT 1 FROM lastro_hold_event AS event WHERE event.hold_id = hold.id AND event.kind = 'captured'
        ) THEN 'captured'
        ELSE 'released'
    END AS state,
    hold.owner,
    hold.group_name,
    hold.capture_max,
    hold.listed,
    hold.placed_at,
    hold.expires_at,
    open_hold.guard_ends_at,
    (
        SELECT max(event.recorded_at) FROM lastro_hold_event AS event
        WHERE event.hold_id = hold.id AND event.left_after = 0
    ) AS ended_at,
    hold.cause,
    hold.source,
    hold.actor,
    hold.metadata,
    hold.id AS hold_id,
    hold.account_id
FROM lastro_hold AS hold
INNER JOIN lastro_account AS account ON hold.account_id = account.id
LEFT JOIN lastro_open_hold AS open_hold ON hold.id = open_hold.hold_id;
