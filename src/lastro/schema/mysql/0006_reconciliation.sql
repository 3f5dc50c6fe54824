-- 0006 reconciliation: how far each account's history was added up, and what was found to differ.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- What an account's history summed to up to a transfer, and its base row as it was when both agreed. Up to `id_floor`
-- nothing is under way any more, so the sum can't change. A cache: without a row the whole history is added up.
CREATE TABLE IF NOT EXISTS lastro.reconciled (
    account_id bigint NOT NULL,
    amount bigint NOT NULL,
    held bigint NOT NULL,
    payments bigint NOT NULL,
    changed_at DATETIME(6) NOT NULL,
    id_floor bigint NOT NULL,
    history_amount bigint COMMENT 'NULL where nothing was added up: an account kept summed.',
    tailed tinyint NOT NULL COMMENT 'Whether entries of the account stood in the tail.',
    PRIMARY KEY (account_id)
) ENGINE = InnoDB;

-- How far reconciliation has come, in one row. Up to `settled_id` every transfer is there or never will be; up to
-- `checked_id` a complete round has counted them all. `candidate_id` becomes the settled one as soon as the
-- transactions in `waits_for` have ended.
CREATE TABLE IF NOT EXISTS lastro.reconciliation (
    only_row tinyint NOT NULL DEFAULT 1,
    checked_id bigint NOT NULL DEFAULT 0,
    settled_id bigint NOT NULL DEFAULT 0,
    candidate_id bigint,
    waits_for mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    finished_at DATETIME(6),
    PRIMARY KEY (only_row),
    CONSTRAINT reconciliation_is_one CHECK (only_row = 1)
) ENGINE = InnoDB;
INSERT INTO lastro.reconciliation (only_row) VALUES (1) ON DUPLICATE KEY UPDATE only_row = 1;

-- Drift that was found: it stays open until somebody says what it was. `cleared_at` says that a later look didn't find
-- it any more, which explains nothing. Amounts are minor units; for a rule that counts rows, rows.
CREATE TABLE IF NOT EXISTS lastro.incident (
    id bigint NOT NULL AUTO_INCREMENT,
    account_id bigint NOT NULL,
    rule varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    expected decimal(38, 0) NOT NULL,
    found decimal(38, 0) NOT NULL,
    agreed_id bigint COMMENT 'The last transfer at which the numbers still agreed; NULL: never compared before.',
    transfer_id bigint,
    opened_at DATETIME(6) NOT NULL,
    last_seen_at DATETIME(6) NOT NULL,
    cleared_at DATETIME(6),
    explained_at DATETIME(6),
    explanation varchar(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    explained_by varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    standing tinyint AS (CASE WHEN explained_at IS NULL AND cleared_at IS NULL THEN 1 END) STORED,
    PRIMARY KEY (id),
    UNIQUE KEY incident_open_once (account_id, rule, standing),
    CONSTRAINT incident_rule_known CHECK (rule IN ('balance', 'held', 'tail', 'chain', 'account')),
    CONSTRAINT incident_differs CHECK (expected <> found),
    CONSTRAINT incident_explained_by_name CHECK (
        CASE
            WHEN explained_at IS NULL THEN explanation IS NULL AND explained_by IS NULL
            ELSE coalesce(char_length(explanation), 0) > 0 AND coalesce(char_length(explained_by), 0) > 0
        END
    )
) ENGINE = InnoDB;

DROP TRIGGER IF EXISTS lastro.incident_not_deleted;
CREATE TRIGGER lastro.incident_not_deleted BEFORE DELETE ON lastro.incident FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'incident is never deleted: explain it';
