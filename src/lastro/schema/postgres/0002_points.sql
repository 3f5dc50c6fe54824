-- 0002 points: rules, members and their activity, what it earned, room under the caps, lots and their uses.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on
--
-- Everything here that changes belongs to one points account, and changes under the lock of that account's base row;
-- nothing here is locked by itself. History refuses changes, as the transfers do.

-- A changed rule is a new version, and the highest counts; a rule that has ended is one whose newest version gives 0.
CREATE TABLE lastro.points_rule (
    name text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    activity text COLLATE "C" NOT NULL,
    points bigint NOT NULL,
    currency text COLLATE "C" NOT NULL,
    cap bigint,
    period text NOT NULL,
    time_zone text NOT NULL,
    priority integer NOT NULL,
    beyond_cap text NOT NULL,
    lot_days integer,
    defined_at timestamptz NOT NULL,
    CONSTRAINT points_rule_version_once PRIMARY KEY (name, version),
    CONSTRAINT points_rule_texts_length CHECK (
        length(name) BETWEEN 1 AND 64 AND length(activity) BETWEEN 1 AND 64
        AND length(currency) BETWEEN 1 AND 32 AND length(time_zone) BETWEEN 1 AND 64
    ),
    CONSTRAINT points_rule_version_from_1 CHECK (version >= 1),
    CONSTRAINT points_rule_not_negative CHECK (points >= 0 AND coalesce(cap, 0) >= 0),
    CONSTRAINT points_rule_period_known CHECK (period IN ('day', 'week', 'month', 'ever')),
    CONSTRAINT points_rule_beyond_cap_known CHECK (beyond_cap IN ('fit', 'refuse')),
    CONSTRAINT points_rule_lot_days_from_1 CHECK (lot_days >= 1)
);
CREATE INDEX points_rule_activity ON lastro.points_rule (activity, name, version);

-- Who takes part. The name changes once at most, when the member is erased; ids are random and say nothing.
CREATE TABLE lastro.points_member (
    id bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    joined_at timestamptz NOT NULL,
    erased_at timestamptz,
    CONSTRAINT points_member_name_once UNIQUE (name),
    CONSTRAINT points_member_name_length CHECK (length(name) BETWEEN 1 AND 340)
);

CREATE TABLE lastro.activity (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key varchar(255) COLLATE "C" NOT NULL,
    member_id bigint NOT NULL,
    kind varchar(64) COLLATE "C" NOT NULL,
    units bigint NOT NULL,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT activity_key_once UNIQUE (key),
    CONSTRAINT activity_units_positive CHECK (units > 0)
);
-- What a member did of one kind in one period, in the order in which it happened.
CREATE INDEX activity_of_member ON lastro.activity (member_id, kind, occurred_at, id);

CREATE TABLE lastro.activity_cancelled (
    activity_id bigint PRIMARY KEY,
    cancelled_at timestamptz NOT NULL,
    actor varchar(255)
);

-- What an activity earned by a rule: a sum of movements, for a cancellation takes back and a rebuild sets right. The
-- number stands in the transfer's key.
CREATE TABLE lastro.earning (
    activity_id bigint NOT NULL,
    rule text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    version integer NOT NULL,
    transfer_id bigint NOT NULL,
    amount bigint NOT NULL,
    CONSTRAINT earning_once PRIMARY KEY (activity_id, rule, number),
    CONSTRAINT earning_not_nothing CHECK (amount <> 0)
);

-- How much of a cap is used up in one period: a sum over `earning` that is kept, so that nobody adds up history. Rows
-- of an older version are left behind; the first use under a new version, or in a new period, adds up its period once.
CREATE TABLE lastro.allowance (
    account_id bigint NOT NULL,
    rule text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    period_start timestamptz NOT NULL,
    used bigint NOT NULL,
    CONSTRAINT allowance_once PRIMARY KEY (account_id, rule, version, period_start)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000
);

-- Points that came in together and expire together. A gift that draws on several lots makes as many parts.
CREATE TABLE lastro.lot (
    transfer_id bigint NOT NULL,
    part integer NOT NULL,
    account_id bigint NOT NULL,
    amount bigint NOT NULL,
    earned_at timestamptz NOT NULL,
    expires_at timestamptz,
    CONSTRAINT lot_once PRIMARY KEY (transfer_id, part),
    CONSTRAINT lot_amount_positive CHECK (amount > 0)
);

-- The lots that still hold points: what is left of each is its amount less its uses, kept here so that nobody adds it
-- up. A live table: its rows go when their points do.
CREATE TABLE lastro.open_lot (
    account_id bigint NOT NULL,
    transfer_id bigint NOT NULL,
    part integer NOT NULL,
    left_over bigint NOT NULL,
    earned_at timestamptz NOT NULL,
    expires_at timestamptz,
    CONSTRAINT open_lot_once PRIMARY KEY (account_id, transfer_id, part),
    CONSTRAINT open_lot_holds_something CHECK (left_over > 0)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 5000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 5000
);
CREATE INDEX open_lot_due ON lastro.open_lot (expires_at, account_id) WHERE expires_at IS NOT NULL;

-- What a transfer took from which lots, in its order; a refund gives back and is below zero.
CREATE TABLE lastro.lot_use (
    transfer_id bigint NOT NULL,
    number integer NOT NULL,
    lot_transfer_id bigint NOT NULL,
    lot_part integer NOT NULL,
    amount bigint NOT NULL,
    CONSTRAINT lot_use_once PRIMARY KEY (transfer_id, number),
    CONSTRAINT lot_use_not_nothing CHECK (amount <> 0)
);
CREATE INDEX lot_use_of_lot ON lastro.lot_use (lot_transfer_id, lot_part);

-- How far a rebuild came. It moves on in the transaction that rebuilds a member, so a killed one goes on from there.
CREATE TABLE lastro.points_rebuild (
    rule text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    starts_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    after_member bigint NOT NULL,
    members bigint NOT NULL,
    changes bigint NOT NULL,
    given bigint NOT NULL,
    taken bigint NOT NULL,
    started_at timestamptz NOT NULL,
    done_at timestamptz,
    CONSTRAINT points_rebuild_once PRIMARY KEY (rule, version, starts_at, ends_at),
    CONSTRAINT points_rebuild_of_some_time CHECK (starts_at < ends_at)
);

CREATE TRIGGER points_rule_append_only BEFORE UPDATE OR DELETE ON lastro.points_rule
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER points_rule_not_truncated BEFORE TRUNCATE ON lastro.points_rule
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
-- A member is erased, never deleted: the activity would be nobody's.
CREATE TRIGGER points_member_not_deleted BEFORE DELETE ON lastro.points_member
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER activity_append_only BEFORE UPDATE OR DELETE ON lastro.activity
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER activity_not_truncated BEFORE TRUNCATE ON lastro.activity
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER activity_cancelled_append_only BEFORE UPDATE OR DELETE ON lastro.activity_cancelled
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER activity_cancelled_not_truncated BEFORE TRUNCATE ON lastro.activity_cancelled
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER earning_append_only BEFORE UPDATE OR DELETE ON lastro.earning
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER earning_not_truncated BEFORE TRUNCATE ON lastro.earning
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER lot_append_only BEFORE UPDATE OR DELETE ON lastro.lot
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER lot_not_truncated BEFORE TRUNCATE ON lastro.lot
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER lot_use_append_only BEFORE UPDATE OR DELETE ON lastro.lot_use
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER lot_use_not_truncated BEFORE TRUNCATE ON lastro.lot_use
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
