-- 0010 betting: markets and their odds, bets and what became of them, results and what is still to be settled.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on
--
-- No foreign keys: the check of one would lock the market's row for every bet.

CREATE SEQUENCE lastro.market_id AS bigint;
CREATE SEQUENCE lastro.selection_id AS bigint;
CREATE SEQUENCE lastro.bet_id AS bigint;

-- What can be bet on. Placements read it and lock nothing; who changes it locks its row.
CREATE TABLE lastro.market (
    id bigint NOT NULL,
    name varchar(200) COLLATE "C" NOT NULL,
    currency varchar(32) COLLATE "C" NOT NULL,
    state varchar(16) COLLATE "C" NOT NULL,
    closes_at timestamptz,
    settle_by timestamptz,
    stake_min bigint NOT NULL,
    stake_max bigint NOT NULL,
    liability_max bigint,
    opened_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT market_once PRIMARY KEY (id),
    CONSTRAINT market_name_once UNIQUE (name),
    CONSTRAINT market_state_known CHECK (state IN ('open', 'suspended', 'closed', 'settled', 'void')),
    CONSTRAINT market_limits_in_order CHECK (
        stake_min > 0 AND stake_max >= stake_min AND coalesce(liability_max, 1) > 0
    )
) WITH (fillfactor = 80);

-- Odds are thousandths: 2050 is 2.05.
CREATE TABLE lastro.selection (
    id bigint NOT NULL,
    market_id bigint NOT NULL,
    name varchar(100) COLLATE "C" NOT NULL,
    odds integer NOT NULL,
    state varchar(16) COLLATE "C" NOT NULL,
    changed_at timestamptz NOT NULL,
    CONSTRAINT selection_once PRIMARY KEY (id),
    CONSTRAINT selection_name_once UNIQUE (market_id, name),
    CONSTRAINT selection_odds_above_one CHECK (odds > 1000),
    CONSTRAINT selection_state_known CHECK (state IN ('open', 'suspended'))
) WITH (fillfactor = 80);

-- What a market's bets come to, by selection, in slices: a bet adds to one of them drawn at random, so that the bets on
-- one market don't queue behind one row. A read adds the slices.
CREATE TABLE lastro.exposure (
    market_id bigint NOT NULL,
    selection_id bigint NOT NULL,
    slice smallint NOT NULL,
    bets bigint NOT NULL,
    stakes numeric NOT NULL,
    returns numeric NOT NULL,
    CONSTRAINT exposure_once PRIMARY KEY (market_id, selection_id, slice)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 10000
);

CREATE TABLE lastro.barred_account (
    account varchar(340) COLLATE "C" NOT NULL,
    reason varchar(255),
    actor varchar(255),
    barred_at timestamptz NOT NULL,
    CONSTRAINT barred_account_once PRIMARY KEY (account)
);

-- History: the first answer to each submission, accepted or refused. `asked` is what was asked, to tell a repetition
-- from another bet under the same key.
CREATE TABLE lastro.submission (
    key varchar(396) COLLATE "C" NOT NULL,
    bet_id bigint,
    refused varchar(64) COLLATE "C",
    message text,
    details jsonb,
    asked jsonb NOT NULL,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT submission_once PRIMARY KEY (key),
    CONSTRAINT submission_answered CHECK ((bet_id IS NULL) <> (refused IS NULL))
);

-- History: bets as they were placed. What becomes of them are rows of other tables. The hold of the stake has the
-- submission's key behind `bet:`.
CREATE TABLE lastro.bet (
    id bigint NOT NULL,
    account_id bigint NOT NULL,
    stake bigint NOT NULL,
    potential_return bigint NOT NULL,
    return_max bigint NOT NULL,
    placed_at timestamptz NOT NULL,
    settle_by timestamptz NOT NULL,
    key varchar(396) COLLATE "C" NOT NULL,
    actor varchar(255),
    metadata jsonb,
    CONSTRAINT bet_once PRIMARY KEY (id),
    CONSTRAINT bet_stake_positive CHECK (stake > 0 AND return_max >= stake)
);

CREATE TABLE lastro.bet_leg (
    bet_id bigint NOT NULL,
    number smallint NOT NULL,
    market_id bigint NOT NULL,
    selection_id bigint NOT NULL,
    odds integer NOT NULL,
    CONSTRAINT bet_leg_once PRIMARY KEY (bet_id, number),
    CONSTRAINT bet_leg_market_once UNIQUE (market_id, bet_id)
);

-- The live table: a row for each leg whose market's result has not reached the bet. A bet that commits late is found
-- here like any other: nothing depends on ids being committed in order.
CREATE TABLE lastro.open_bet (
    market_id bigint NOT NULL,
    bet_id bigint NOT NULL,
    CONSTRAINT open_bet_once PRIMARY KEY (market_id, bet_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 5000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 5000
);

-- Bets that could not be settled: out of the settler's way, each with its reason, until somebody has them tried again.
CREATE TABLE lastro.stuck_bet (
    bet_id bigint NOT NULL,
    market_id bigint NOT NULL,
    code varchar(64) COLLATE "C" NOT NULL,
    message text NOT NULL,
    opened_at timestamptz NOT NULL,
    CONSTRAINT stuck_bet_once PRIMARY KEY (bet_id, market_id)
);

-- History: bets that a person has voided, whatever their markets' results are or become.
CREATE TABLE lastro.voided_bet (
    bet_id bigint NOT NULL,
    reason varchar(255) NOT NULL,
    actor varchar(255) NOT NULL,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT voided_bet_once PRIMARY KEY (bet_id)
);

-- History: how a bet was settled. A corrected result makes the next version. `outcomes` are the legs', in their order.
CREATE TABLE lastro.bet_settlement (
    bet_id bigint NOT NULL,
    version integer NOT NULL,
    returned bigint NOT NULL,
    is_void boolean NOT NULL,
    outcomes varchar(500) COLLATE "C" NOT NULL,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT bet_settlement_once PRIMARY KEY (bet_id, version),
    CONSTRAINT bet_settlement_from_1 CHECK (version > 0 AND returned >= 0)
);

-- History: what became of bets, for people. `shortfall` is how far below its floor an account was by a correction.
CREATE TABLE lastro.bet_event (
    bet_id bigint NOT NULL,
    number integer NOT NULL,
    kind varchar(16) COLLATE "C" NOT NULL,
    version integer,
    shortfall bigint,
    reason text,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT bet_event_once PRIMARY KEY (bet_id, number),
    CONSTRAINT bet_event_kind_known CHECK (kind IN ('settled', 'voided', 'corrected', 'overdue', 'stuck'))
);

-- History: the results of a market, each version once. `outcomes` has every selection's, by its id.
CREATE TABLE lastro.market_result (
    market_id bigint NOT NULL,
    version integer NOT NULL,
    outcomes jsonb NOT NULL,
    decided_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    source varchar(255),
    actor varchar(255),
    CONSTRAINT market_result_once PRIMARY KEY (market_id, version),
    CONSTRAINT market_result_from_1 CHECK (version > 0)
);

-- The live table: results not yet settled through. Settlers lock its rows, the oldest version of a market first; the
-- row is deleted with the market's last batch. `walked_to` is how far a correction went through the bets that were
-- settled before it; NULL where there is nothing to correct.
CREATE TABLE lastro.open_result (
    market_id bigint NOT NULL,
    version integer NOT NULL,
    walked_to bigint,
    bets bigint NOT NULL DEFAULT 0,
    opened_at timestamptz NOT NULL,
    CONSTRAINT open_result_once PRIMARY KEY (market_id, version)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 1000
);

-- Messages that could not be taken as results, each with its reason. `delivery` names where one came from, so that one
-- that is delivered again is kept once.
CREATE TABLE lastro.dead_letter (
    id bigint GENERATED BY DEFAULT AS IDENTITY,
    topic varchar(255) COLLATE "C" NOT NULL,
    code varchar(64) COLLATE "C" NOT NULL,
    reason text NOT NULL,
    message bytea NOT NULL,
    delivery varchar(400) COLLATE "C",
    received_at timestamptz NOT NULL,
    CONSTRAINT dead_letter_once PRIMARY KEY (id),
    CONSTRAINT dead_letter_delivery_once UNIQUE (delivery)
);

CREATE TRIGGER submission_append_only BEFORE UPDATE OR DELETE ON lastro.submission
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER submission_not_truncated BEFORE TRUNCATE ON lastro.submission
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER bet_append_only BEFORE UPDATE OR DELETE ON lastro.bet
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER bet_not_truncated BEFORE TRUNCATE ON lastro.bet
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER bet_leg_append_only BEFORE UPDATE OR DELETE ON lastro.bet_leg
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER bet_leg_not_truncated BEFORE TRUNCATE ON lastro.bet_leg
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER voided_bet_append_only BEFORE UPDATE OR DELETE ON lastro.voided_bet
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER voided_bet_not_truncated BEFORE TRUNCATE ON lastro.voided_bet
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER bet_settlement_append_only BEFORE UPDATE OR DELETE ON lastro.bet_settlement
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER bet_settlement_not_truncated BEFORE TRUNCATE ON lastro.bet_settlement
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER bet_event_append_only BEFORE UPDATE OR DELETE ON lastro.bet_event
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER bet_event_not_truncated BEFORE TRUNCATE ON lastro.bet_event
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER market_result_append_only BEFORE UPDATE OR DELETE ON lastro.market_result
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER market_result_not_truncated BEFORE TRUNCATE ON lastro.market_result
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER market_not_deleted BEFORE DELETE ON lastro.market
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER selection_not_deleted BEFORE DELETE ON lastro.selection
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();

-- How each bet stands, in one snapshot.
CREATE VIEW lastro.bet_standing AS
SELECT
    bet.key,
    account.name AS account,
    account.currency,
    bet.stake,
    bet.potential_return,
    CASE
        WHEN stuck.bet_id IS NOT NULL THEN 'stuck'
        WHEN settlement.bet_id IS NULL THEN 'open'
        WHEN settlement.is_void THEN 'void'
        ELSE 'settled'
    END AS state,
    coalesce(settlement.version, 0) AS version,
    settlement.returned,
    settlement.outcomes,
    bet.placed_at,
    bet.settle_by,
    settlement.recorded_at AS settled_at,
    bet.actor,
    bet.metadata,
    bet.id AS bet_id,
    bet.account_id
FROM lastro.bet AS bet
INNER JOIN lastro.account AS account ON bet.account_id = account.id
LEFT JOIN LATERAL (
    SELECT
        newest.bet_id,
        newest.version,
        newest.returned,
        newest.is_void,
        newest.outcomes,
        newest.recorded_at
    FROM lastro.bet_settlement AS newest
    WHERE newest.bet_id = bet.id
    ORDER BY newest.version DESC
    LIMIT 1
) AS settlement ON true
LEFT JOIN LATERAL (
    SELECT held_up.bet_id
    FROM lastro.stuck_bet AS held_up
    WHERE held_up.bet_id = bet.id
    LIMIT 1
) AS stuck ON true;
