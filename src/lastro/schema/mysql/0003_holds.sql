-- 0003 holds: money set aside, what became of it, and the small table of what is still open.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- History: what was set aside, once and for all. A key names one hold; the keys of transfers are another namespace. A
-- row without an amount that counts (account_id < 0) is a placeholder that the transaction which wrote it takes back.
CREATE TABLE IF NOT EXISTS lastro.hold (
    id bigint NOT NULL AUTO_INCREMENT,
    account_id bigint NOT NULL,
    amount bigint NOT NULL,
    capture_max bigint COMMENT 'What may be captured in all, where more than the amount may; NULL: the amount.',
    placed_at DATETIME(6) NOT NULL,
    expires_at DATETIME(6) NOT NULL,
    listed tinyint NOT NULL COMMENT 'Past its deadline it stands in its owner''s list and is never expired.',
    `key` varbinary(1600),
    owner varbinary(1020) NOT NULL,
    group_name varbinary(1600),
    cause varbinary(1020),
    source varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    actor varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    metadata text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    PRIMARY KEY (id),
    UNIQUE KEY hold_key_once (`key`),
    KEY hold_group (group_name, id),
    CONSTRAINT hold_named CHECK (`key` IS NOT NULL OR account_id < 0),
    CONSTRAINT hold_amount_positive CHECK (amount > 0 AND coalesce(capture_max, amount) >= amount),
    CONSTRAINT hold_listed_known CHECK (listed IN (0, 1)),
    CONSTRAINT hold_key_length CHECK (char_length(CONVERT(`key` USING utf8mb4)) BETWEEN 1 AND 400),
    CONSTRAINT hold_metadata_is_json CHECK (json_valid(metadata))
) ENGINE = InnoDB;

-- History: what became of a hold, as a chain. Each event says what was left before it and after it, and its number is
-- the next one. `amount` is what was captured, released or expired; `taken` is how much of the hold it used, which is
-- less only where more was captured than was held.
CREATE TABLE IF NOT EXISTS lastro.hold_event (
    hold_id bigint NOT NULL,
    number integer NOT NULL,
    kind varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    amount bigint NOT NULL,
    taken bigint NOT NULL,
    left_before bigint NOT NULL,
    left_after bigint NOT NULL,
    transfer_id bigint,
    recorded_at DATETIME(6) NOT NULL,
    `key` varbinary(1600) COMMENT 'The key of a release. A capture has its transfer''s key.',
    cause varbinary(1020),
    source varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    actor varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    PRIMARY KEY (hold_id, number),
    UNIQUE KEY hold_event_key_once (`key`),
    CONSTRAINT hold_event_adds_up CHECK (
        taken > 0 AND left_after >= 0 AND left_before - taken = left_after
        AND CASE kind
            WHEN 'captured' THEN amount >= taken AND transfer_id IS NOT NULL
            WHEN 'released' THEN amount = taken
            WHEN 'expired' THEN amount = taken AND left_after = 0
            ELSE 0
        END
    )
) ENGINE = InnoDB;

-- The live table: holds that are not at their end, deleted by the transaction that ends them. `due_at` is when the
-- expirer may come: the deadline, or later where the owner guards the hold.
CREATE TABLE IF NOT EXISTS lastro.open_hold (
    hold_id bigint NOT NULL,
    account_id bigint NOT NULL,
    left_over bigint NOT NULL,
    captured bigint NOT NULL DEFAULT 0,
    released bigint NOT NULL DEFAULT 0,
    events integer NOT NULL DEFAULT 0,
    listed tinyint NOT NULL,
    due_at DATETIME(6) NOT NULL,
    guard_ends_at DATETIME(6),
    PRIMARY KEY (hold_id),
    KEY open_hold_account (account_id, hold_id),
    KEY open_hold_due (listed, due_at, hold_id),
    CONSTRAINT open_hold_left_positive CHECK (left_over > 0 AND captured >= 0 AND released >= 0)
) ENGINE = InnoDB;

-- ON DUPLICATE KEY UPDATE fires these although it changes nothing: that is how a taken key is met without an error.
DROP TRIGGER IF EXISTS lastro.hold_not_updated;
CREATE TRIGGER lastro.hold_not_updated BEFORE UPDATE ON lastro.hold FOR EACH ROW
IF NOT (
    new.id <=> old.id AND new.account_id <=> old.account_id AND new.amount <=> old.amount
    AND new.capture_max <=> old.capture_max AND new.placed_at <=> old.placed_at AND new.expires_at <=> old.expires_at
    AND new.listed <=> old.listed AND new.`key` <=> old.`key` AND new.owner <=> old.owner
    AND new.group_name <=> old.group_name AND new.cause <=> old.cause AND new.source <=> old.source
    AND new.actor <=> old.actor AND new.metadata <=> old.metadata
) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'hold is append-only: UPDATE refused; capture or release the hold';
END IF;
DROP TRIGGER IF EXISTS lastro.hold_not_deleted;
CREATE TRIGGER lastro.hold_not_deleted BEFORE DELETE ON lastro.hold FOR EACH ROW
IF old.account_id >= 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'hold is append-only: DELETE refused; capture or release the hold';
END IF;
DROP TRIGGER IF EXISTS lastro.hold_event_not_updated;
CREATE TRIGGER lastro.hold_event_not_updated BEFORE UPDATE ON lastro.hold_event FOR EACH ROW
IF NOT (
    new.hold_id <=> old.hold_id AND new.number <=> old.number AND new.kind <=> old.kind
    AND new.amount <=> old.amount AND new.taken <=> old.taken AND new.left_before <=> old.left_before
    AND new.left_after <=> old.left_after AND new.transfer_id <=> old.transfer_id
    AND new.recorded_at <=> old.recorded_at AND new.`key` <=> old.`key` AND new.cause <=> old.cause
    AND new.source <=> old.source AND new.actor <=> old.actor
) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'hold_event is append-only: UPDATE refused';
END IF;
DROP TRIGGER IF EXISTS lastro.hold_event_not_deleted;
CREATE TRIGGER lastro.hold_event_not_deleted BEFORE DELETE ON lastro.hold_event FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'hold_event is append-only: DELETE refused';

-- How each hold stands.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW lastro.hold_standing AS
SELECT
    hold.`key`,
    account.name AS account,
    account.currency,
    hold.amount,
    coalesce((
        SELECT sum(event.amount) FROM lastro.hold_event AS event
        WHERE event.hold_id = hold.id AND event.kind = 'captured'
    ), 0) AS captured,
    coalesce((
        SELECT sum(event.amount) FROM lastro.hold_event AS event
        WHERE event.hold_id = hold.id AND event.kind = 'released'
    ), 0) AS released,
    coalesce((
        SELECT sum(event.amount) FROM lastro.hold_event AS event
        WHERE event.hold_id = hold.id AND event.kind = 'expired'
    ), 0) AS expired,
    coalesce(open_hold.left_over, 0) AS left_over,
    CASE
        WHEN open_hold.hold_id IS NOT NULL THEN 'open'
        WHEN EXISTS (
            SELECT 1 FROM lastro.hold_event AS event WHERE event.hold_id = hold.id AND event.kind = 'expired'
        ) THEN 'expired'
        WHEN EXISTS (
            SELECT 1 FROM lastro.hold_event AS event WHERE event.hold_id = hold.id AND event.kind = 'captured'
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
        SELECT max(event.recorded_at) FROM lastro.hold_event AS event
        WHERE event.hold_id = hold.id AND event.left_after = 0
    ) AS ended_at,
    hold.cause,
    hold.source,
    hold.actor,
    hold.metadata,
    hold.id AS hold_id,
    hold.account_id
FROM lastro.hold AS hold
INNER JOIN lastro.account AS account ON hold.account_id = account.id
LEFT JOIN lastro.open_hold AS open_hold ON hold.id = open_hold.hold_id;
