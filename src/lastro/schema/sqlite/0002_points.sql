-- 0002 points: rules, members and their activity, what it earned, room under the caps, lots and their uses.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on
--
-- Everything here that changes belongs to one points account, and changes under the lock of that account's base row;
-- nothing here is locked by itself. History refuses changes, as the transfers do.
--
-- Tables are STRICT, and moments whole microseconds since 1970 in UTC, as in 0001.

-- A changed rule is a new version, and the highest counts; a rule that has ended is one whose newest version gives 0.
CREATE TABLE lastro_points_rule (
    name text NOT NULL,
    version integer NOT NULL,
    activity text NOT NULL,
    points integer NOT NULL,
    currency text NOT NULL,
    cap integer,
    period text NOT NULL,
    time_zone text NOT NULL,
    priority integer NOT NULL,
    beyond_cap text NOT NULL,
    lot_days integer,
    defined_at integer NOT NULL,
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
) STRICT, WITHOUT ROWID;
CREATE INDEX lastro_points_rule_activity ON lastro_points_rule (activity, name, version);

-- Who takes part. The name changes once at most, when the member is erased; ids are random and say nothing.
CREATE TABLE lastro_points_member (
    id integer PRIMARY KEY,
    name text NOT NULL,
    joined_at integer NOT NULL,
    erased_at integer,
    CONSTRAINT points_member_name_once UNIQUE (name),
    CONSTRAINT points_member_name_length CHECK (length(name) BETWEEN 1 AND 340)
) STRICT;

CREATE TABLE lastro_activity (
    id integer PRIMARY KEY,
    key text NOT NULL,
    member_id integer NOT NULL,
    kind text NOT NULL,
    units integer NOT NULL,
    occurred_at integer NOT NULL,
    recorded_at integer NOT NULL,
    CONSTRAINT activity_key_once UNIQUE (key),
    CONSTRAINT activity_texts_length CHECK (length(key) BETWEEN 1 AND 255 AND length(kind) BETWEEN 1 AND 64),
    CONSTRAINT activity_units_positive CHECK (units > 0)
) STRICT;
-- What a member did of one kind in one period, in the order in which it happened.
CREATE INDEX lastro_activity_of_member ON lastro_activity (member_id, kind, occurred_at, id);

CREATE TABLE lastro_activity_cancelled (
    activity_id integer PRIMARY KEY,
    cancelled_at integer NOT NULL,
    actor text,
    CONSTRAINT activity_cancelled_actor_length CHECK (coalesce(length(actor), 1) <= 255)
) STRICT;

-- What an activity earned by a rule: a sum of movements, for a cancellation takes back and a rebuild sets right. The
-- number stands in the transfer's key.
CREATE TABLE lastro_earning (
    activity_id integer NOT NULL,
    rule text NOT NULL,
    number integer NOT NULL,
    version integer NOT NULL,
    transfer_id integer NOT NULL,
    amount integer NOT NULL,
    CONSTRAINT earning_once PRIMARY KEY (activity_id, rule, number),
    CONSTRAINT earning_not_nothing CHECK (amount <> 0)
) STRICT, WITHOUT ROWID;

-- How much of a cap is used up in one period: a sum over `earning` that is kept, so that nobody adds up history. Rows
-- of an older version are left behind; the first use under a new version, or in a new period, adds up its period once.
CREATE TABLE lastro_allowance (
    account_id integer NOT NULL,
    rule text NOT NULL,
    version integer NOT NULL,
    period_start integer NOT NULL,
    used integer NOT NULL,
    CONSTRAINT allowance_once PRIMARY KEY (account_id, rule, version, period_start)
) STRICT, WITHOUT ROWID;

-- Points that came in together and expire together. A gift that draws on several lots makes as many parts.
CREATE TABLE lastro_lot (
    transfer_id integer NOT NULL,
    part integer NOT NULL,
    account_id integer NOT NULL,
    amount integer NOT NULL,
    earned_at integer NOT NULL,
    expires_at integer,
    CONSTRAINT lot_once PRIMARY KEY (transfer_id, part),
    CONSTRAINT lot_amount_positive CHECK (amount > 0)
) STRICT, WITHOUT ROWID;

-- The lots that still hold points: what is left of each is its amount less its uses, kept here so that nobody adds it
-- up. A live table: its rows go when their points do.
CREATE TABLE lastro_open_lot (
    account_id integer NOT NULL,
    transfer_id integer NOT NULL,
    part integer NOT NULL,
    left_over integer NOT NULL,
    earned_at integer NOT NULL,
    expires_at integer,
    CONSTRAINT open_lot_once PRIMARY KEY (account_id, transfer_id, part),
    CONSTRAINT open_lot_holds_something CHECK (left_over > 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX lastro_open_lot_due ON lastro_open_lot (expires_at, account_id) WHERE expires_at IS NOT NULL;

-- What a transfer took from which lots, in its order; a refund gives back and is below zero.
CREATE TABLE lastro_lot_use (
    transfer_id integer NOT NULL,
    number integer NOT NULL,
    lot_transfer_id integer NOT NULL,
    lot_part integer NOT NULL,
    amount integer NOT NULL,
    CONSTRAINT lot_use_once PRIMARY KEY (transfer_id, number),
    CONSTRAINT lot_use_not_nothing CHECK (amount <> 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX lastro_lot_use_of_lot ON lastro_lot_use (lot_transfer_id, lot_part);

-- How far a rebuild came. It moves on in the transaction that rebuilds a member, so a killed one goes on from there.
CREATE TABLE lastro_points_rebuild (
    rule text NOT NULL,
    version integer NOT NULL,
    starts_at integer NOT NULL,
    ends_at integer NOT NULL,
    after_member integer NOT NULL,
    members integer NOT NULL,
    changes integer NOT NULL,
    given integer NOT NULL,
    taken integer NOT NULL,
    started_at integer NOT NULL,
    done_at integer,
    CONSTRAINT points_rebuild_once PRIMARY KEY (rule, version, starts_at, ends_at),
    CONSTRAINT points_rebuild_of_some_time CHECK (starts_at < ends_at)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER lastro_points_rule_not_updated BEFORE UPDATE ON lastro_points_rule
BEGIN
    SELECT raise(ABORT, 'points_rule is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_points_rule_not_deleted BEFORE DELETE ON lastro_points_rule
BEGIN
    SELECT raise(ABORT, 'points_rule is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_activity_not_updated BEFORE UPDATE ON lastro_activity
BEGIN
    SELECT raise(ABORT, 'activity is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_activity_not_deleted BEFORE DELETE ON lastro_activity
BEGIN
    SELECT raise(ABORT, 'activity is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_activity_cancelled_not_updated BEFORE UPDATE ON lastro_activity_cancelled
BEGIN
    SELECT raise(ABORT, 'activity_cancelled is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_activity_cancelled_not_deleted BEFORE DELETE ON lastro_activity_cancelled
BEGIN
    SELECT raise(ABORT, 'activity_cancelled is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_earning_not_updated BEFORE UPDATE ON lastro_earning
BEGIN
    SELECT raise(ABORT, 'earning is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_earning_not_deleted BEFORE DELETE ON lastro_earning
BEGIN
    SELECT raise(ABORT, 'earning is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_lot_not_updated BEFORE UPDATE ON lastro_lot
BEGIN
    SELECT raise(ABORT, 'lot is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_lot_not_deleted BEFORE DELETE ON lastro_lot
BEGIN
    SELECT raise(ABORT, 'lot is append-only: DELETE refused');
END;
CREATE TRIGGER lastro_lot_use_not_updated BEFORE UPDATE ON lastro_lot_use
BEGIN
    SELECT raise(ABORT, 'lot_use is append-only: UPDATE refused');
END;
CREATE TRIGGER lastro_lot_use_not_deleted BEFORE DELETE ON lastro_lot_use
BEGIN
    SELECT raise(ABORT, 'lot_use is append-only: DELETE refused');
END;
-- A member is erased, never deleted: the activity would be nobody's.
CREATE TRIGGER lastro_points_member_not_deleted BEFORE DELETE ON lastro_points_member
BEGIN
    SELECT raise(ABORT, 'points_member is append-only: DELETE refused; erase the member');
END;
