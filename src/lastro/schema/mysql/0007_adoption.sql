-- 0007 adoption: taking over balances that an application keeps in a column of its own.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- An adoption and where it stands. The application asks for its phase under a share lock, and so does the trigger on
-- the old column; whoever changes the phase waits for them.
CREATE TABLE IF NOT EXISTS lastro.adoption (
    name varbinary(128) NOT NULL,
    phase varbinary(16) NOT NULL,
    declaration mediumblob NOT NULL,
    started_at DATETIME(6) NOT NULL,
    changed_at DATETIME(6) NOT NULL,
    actor varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    PRIMARY KEY (name),
    CONSTRAINT adoption_phase_known CHECK (phase IN ('importing', 'shadow', 'ledger', 'finished', 'abandoned'))
) ENGINE = InnoDB;

-- Whose account a row of the old table is, and the amount on which both sides last agreed: what changed since tells
-- what went wrong.
CREATE TABLE IF NOT EXISTS lastro.adoption_row (
    adoption varbinary(128) NOT NULL,
    row_key varbinary(960) NOT NULL,
    account_id bigint NOT NULL,
    units bigint NOT NULL,
    agreed_at DATETIME(6) NOT NULL,
    PRIMARY KEY (adoption, row_key),
    UNIQUE KEY adoption_account_once (account_id)
) ENGINE = InnoDB;

-- What is different now: a live table. What was different stands in adoption_event.
CREATE TABLE IF NOT EXISTS lastro.adoption_difference (
    adoption varbinary(128) NOT NULL,
    row_key varbinary(960) NOT NULL,
    account varbinary(1360),
    currency varbinary(128),
    cause varbinary(64) NOT NULL,
    expected varbinary(1360),
    found bigint,
    first_seen_at DATETIME(6) NOT NULL,
    last_seen_at DATETIME(6) NOT NULL,
    PRIMARY KEY (adoption, row_key)
) ENGINE = InnoDB;

-- When both sides were last compared from end to end.
CREATE TABLE IF NOT EXISTS lastro.adoption_look (
    adoption varbinary(128) NOT NULL,
    rows_seen bigint NOT NULL,
    differences bigint NOT NULL,
    looked_at DATETIME(6) NOT NULL,
    PRIMARY KEY (adoption)
) ENGINE = InnoDB;

-- Whoever writes the old column for the ledger leaves a row here for as long as that takes. It is never committed: the
-- trigger on the column sees it in this transaction, and in no other.
CREATE TABLE IF NOT EXISTS lastro.adoption_mirroring (
    adoption varbinary(128) NOT NULL,
    PRIMARY KEY (adoption)
) ENGINE = InnoDB;

-- What was done and what was found, for good.
CREATE TABLE IF NOT EXISTS lastro.adoption_event (
    id bigint NOT NULL AUTO_INCREMENT,
    adoption varbinary(128) NOT NULL,
    what varbinary(32) NOT NULL,
    row_key varbinary(960),
    detail mediumblob,
    actor varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    recorded_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    KEY adoption_event_of (adoption, id)
) ENGINE = InnoDB;

-- noqa: disable=RF01
DROP TRIGGER IF EXISTS lastro.adoption_event_not_updated;
CREATE TRIGGER lastro.adoption_event_not_updated BEFORE UPDATE ON lastro.adoption_event FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'adoption_event is append-only: UPDATE refused';
DROP TRIGGER IF EXISTS lastro.adoption_event_not_deleted;
CREATE TRIGGER lastro.adoption_event_not_deleted BEFORE DELETE ON lastro.adoption_event FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'adoption_event is append-only: DELETE refused';
