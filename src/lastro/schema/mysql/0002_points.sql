-- 0002 points: rules, members and their activity, what it earned, room under the caps, lots and their uses.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on
--
-- Everything here that changes belongs to one points account, and changes under the lock of that account's base row;
-- nothing here is locked by itself. History refuses changes, as the transfers do. Names and keys are VARBINARY, moments
-- DATETIME(6) in UTC, and each statement may run twice, as in 0001.

-- A changed rule is a new version, and the highest counts; a rule that has ended is one whose newest version gives 0.
CREATE TABLE IF NOT EXISTS lastro.points_rule (
    name varbinary(256) NOT NULL,
    version integer NOT NULL,
    activity varbinary(256) NOT NULL,
    points bigint NOT NULL,
    currency varbinary(128) NOT NULL,
    cap bigint,
    period varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    time_zone varbinary(256) NOT NULL,
    priority integer NOT NULL,
    beyond_cap varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    lot_days integer,
    defined_at DATETIME(6) NOT NULL,
    PRIMARY KEY (name, version),
    KEY points_rule_activity (activity, name, version),
    CONSTRAINT points_rule_texts_length CHECK (
        char_length(CONVERT(name USING utf8mb4)) BETWEEN 1 AND 64
        AND char_length(CONVERT(activity USING utf8mb4)) BETWEEN 1 AND 64
        AND char_length(CONVERT(currency USING utf8mb4)) BETWEEN 1 AND 32
        AND char_length(CONVERT(time_zone USING utf8mb4)) BETWEEN 1 AND 64
    ),
    CONSTRAINT points_rule_version_from_1 CHECK (version >= 1),
    CONSTRAINT points_rule_not_negative CHECK (points >= 0 AND coalesce(cap, 0) >= 0),
    CONSTRAINT points_rule_period_known CHECK (period IN ('day', 'week', 'month', 'ever')),
    CONSTRAINT points_rule_beyond_cap_known CHECK (beyond_cap IN ('fit', 'refuse')),
    CONSTRAINT points_rule_lot_days_from_1 CHECK (lot_days >= 1)
) ENGINE = InnoDB;

-- Who takes part. The name changes once at most, when the member is erased; ids are random and say nothing.
CREATE TABLE IF NOT EXISTS lastro.points_member (
    id bigint NOT NULL,
    name varbinary(1360) NOT NULL,
    joined_at DATETIME(6) NOT NULL,
    erased_at DATETIME(6),
    PRIMARY KEY (id),
    UNIQUE KEY points_member_name_once (name),
    CONSTRAINT points_member_name_length CHECK (char_length(CONVERT(name USING utf8mb4)) BETWEEN 1 AND 340)
) ENGINE = InnoDB;

-- A row of nobody (member_id < 0) is a placeholder that the statement which wrote it takes back.
CREATE TABLE IF NOT EXISTS lastro.activity (
    id bigint NOT NULL AUTO_INCREMENT,
    `key` varbinary(1020) NOT NULL,
    member_id bigint NOT NULL,
    kind varbinary(256) NOT NULL,
    units bigint NOT NULL,
    occurred_at DATETIME(6) NOT NULL,
    recorded_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY activity_key_once (`key`),
    -- What a member did of one kind in one period, in the order in which it happened.
    KEY activity_of_member (member_id, kind, occurred_at, id),
    CONSTRAINT activity_texts_length CHECK (
        char_length(CONVERT(`key` USING utf8mb4)) BETWEEN 1 AND 255
        AND char_length(CONVERT(kind USING utf8mb4)) BETWEEN 1 AND 64
    ),
    CONSTRAINT activity_units_positive CHECK (units > 0)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS lastro.activity_cancelled (
    activity_id bigint NOT NULL,
    cancelled_at DATETIME(6) NOT NULL,
    actor varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    PRIMARY KEY (activity_id)
) ENGINE = InnoDB;

-- What an activity earned by a rule: a sum of movements, for a cancellation takes back and a rebuild sets right. The
-- number stands in the transfer's key.
CREATE TABLE IF NOT EXISTS lastro.earning (
    activity_id bigint NOT NULL,
    rule varbinary(256) NOT NULL,
    number integer NOT NULL,
    version integer NOT NULL,
    transfer_id bigint NOT NULL,
    amount bigint NOT NULL,
    PRIMARY KEY (activity_id, rule, number),
    CONSTRAINT earning_not_nothing CHECK (amount <> 0)
) ENGINE = InnoDB;

-- How much of a cap is used up in one period: a sum over `earning` that is kept, so that nobody adds up history. Rows
-- of an older version are left behind; the first use under a new version, or in a new period, adds up its period once.
-- Below zero it wasn't added up yet: such a row is only there to be locked.
CREATE TABLE IF NOT EXISTS lastro.allowance (
    account_id bigint NOT NULL,
    rule varbinary(256) NOT NULL,
    version integer NOT NULL,
    period_start DATETIME(6) NOT NULL,
    used bigint NOT NULL,
    PRIMARY KEY (account_id, rule, version, period_start)
) ENGINE = InnoDB;

-- Points that came in together and expire together. A gift that draws on several lots makes as many parts.
CREATE TABLE IF NOT EXISTS lastro.lot (
    transfer_id bigint NOT NULL,
    part integer NOT NULL,
    account_id bigint NOT NULL,
    amount bigint NOT NULL,
    earned_at DATETIME(6) NOT NULL,
    expires_at DATETIME(6),
    PRIMARY KEY (transfer_id, part),
    CONSTRAINT lot_amount_positive CHECK (amount > 0)
) ENGINE = InnoDB;

-- The lots that still hold points: what is left of each is its amount less its uses, kept here so that nobody adds it
-- up. A live table: its rows go when their points do.
CREATE TABLE IF NOT EXISTS lastro.open_lot (
    account_id bigint NOT NULL,
    transfer_id bigint NOT NULL,
    part integer NOT NULL,
    left_over bigint NOT NULL,
    earned_at DATETIME(6) NOT NULL,
    expires_at DATETIME(6),
    PRIMARY KEY (account_id, transfer_id, part),
    KEY open_lot_due (expires_at, account_id),
    CONSTRAINT open_lot_holds_something CHECK (left_over > 0)
) ENGINE = InnoDB;

-- What a transfer took from which lots, in its order; a refund gives back and is below zero.
CREATE TABLE IF NOT EXISTS lastro.lot_use (
    transfer_id bigint NOT NULL,
    number integer NOT NULL,
    lot_transfer_id bigint NOT NULL,
    lot_part integer NOT NULL,
    amount bigint NOT NULL,
    PRIMARY KEY (transfer_id, number),
    KEY lot_use_of_lot (lot_transfer_id, lot_part),
    CONSTRAINT lot_use_not_nothing CHECK (amount <> 0)
) ENGINE = InnoDB;

-- How far a rebuild came. It moves on in the transaction that rebuilds a member, so a killed one goes on from there.
CREATE TABLE IF NOT EXISTS lastro.points_rebuild (
    rule varbinary(256) NOT NULL,
    version integer NOT NULL,
    starts_at DATETIME(6) NOT NULL,
    ends_at DATETIME(6) NOT NULL,
    after_member bigint NOT NULL,
    members bigint NOT NULL,
    changes bigint NOT NULL,
    given bigint NOT NULL,
    taken bigint NOT NULL,
    started_at DATETIME(6) NOT NULL,
    done_at DATETIME(6),
    PRIMARY KEY (rule, version, starts_at, ends_at),
    CONSTRAINT points_rebuild_of_some_time CHECK (starts_at < ends_at)
) ENGINE = InnoDB;

-- ON DUPLICATE KEY UPDATE fires the first three although it changes nothing: that is how a taken key is met without an
-- error.
DROP TRIGGER IF EXISTS lastro.points_rule_not_updated;
CREATE TRIGGER lastro.points_rule_not_updated BEFORE UPDATE ON lastro.points_rule FOR EACH ROW
IF NOT (
    new.name <=> old.name AND new.version <=> old.version AND new.activity <=> old.activity
    AND new.points <=> old.points AND new.currency <=> old.currency AND new.cap <=> old.cap
    AND new.period <=> old.period AND new.time_zone <=> old.time_zone AND new.priority <=> old.priority
    AND new.beyond_cap <=> old.beyond_cap AND new.lot_days <=> old.lot_days AND new.defined_at <=> old.defined_at
) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'points_rule is append-only: UPDATE refused';
END IF;
DROP TRIGGER IF EXISTS lastro.activity_not_updated;
CREATE TRIGGER lastro.activity_not_updated BEFORE UPDATE ON lastro.activity FOR EACH ROW
IF NOT (
    new.id <=> old.id AND new.`key` <=> old.`key` AND new.member_id <=> old.member_id AND new.kind <=> old.kind
    AND new.units <=> old.units AND new.occurred_at <=> old.occurred_at AND new.recorded_at <=> old.recorded_at
) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'activity is append-only: UPDATE refused';
END IF;
DROP TRIGGER IF EXISTS lastro.activity_cancelled_not_updated;
CREATE TRIGGER lastro.activity_cancelled_not_updated BEFORE UPDATE ON lastro.activity_cancelled FOR EACH ROW
IF NOT (
    new.activity_id <=> old.activity_id AND new.cancelled_at <=> old.cancelled_at AND new.actor <=> old.actor
) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'activity_cancelled is append-only: UPDATE refused';
END IF;
DROP TRIGGER IF EXISTS lastro.earning_not_updated;
CREATE TRIGGER lastro.earning_not_updated BEFORE UPDATE ON lastro.earning FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'earning is append-only: UPDATE refused';
DROP TRIGGER IF EXISTS lastro.lot_not_updated;
CREATE TRIGGER lastro.lot_not_updated BEFORE UPDATE ON lastro.lot FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'lot is append-only: UPDATE refused';
DROP TRIGGER IF EXISTS lastro.lot_use_not_updated;
CREATE TRIGGER lastro.lot_use_not_updated BEFORE UPDATE ON lastro.lot_use FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'lot_use is append-only: UPDATE refused';
DROP TRIGGER IF EXISTS lastro.points_rule_not_deleted;
CREATE TRIGGER lastro.points_rule_not_deleted BEFORE DELETE ON lastro.points_rule FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'points_rule is append-only: DELETE refused';
-- A member is erased, never deleted: the activity would be nobody's.
DROP TRIGGER IF EXISTS lastro.points_member_not_deleted;
CREATE TRIGGER lastro.points_member_not_deleted BEFORE DELETE ON lastro.points_member FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a member is erased, never deleted: DELETE refused';
DROP TRIGGER IF EXISTS lastro.activity_not_deleted;
CREATE TRIGGER lastro.activity_not_deleted BEFORE DELETE ON lastro.activity FOR EACH ROW
IF old.member_id >= 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'activity is append-only: DELETE refused';
END IF;
DROP TRIGGER IF EXISTS lastro.activity_cancelled_not_deleted;
CREATE TRIGGER lastro.activity_cancelled_not_deleted BEFORE DELETE ON lastro.activity_cancelled FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'activity_cancelled is append-only: DELETE refused';
DROP TRIGGER IF EXISTS lastro.earning_not_deleted;
CREATE TRIGGER lastro.earning_not_deleted BEFORE DELETE ON lastro.earning FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'earning is append-only: DELETE refused';
DROP TRIGGER IF EXISTS lastro.lot_not_deleted;
CREATE TRIGGER lastro.lot_not_deleted BEFORE DELETE ON lastro.lot FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'lot is append-only: DELETE refused';
DROP TRIGGER IF EXISTS lastro.lot_use_not_deleted;
CREATE TRIGGER lastro.lot_use_not_deleted BEFORE DELETE ON lastro.lot_use FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'lot_use is append-only: DELETE refused';
