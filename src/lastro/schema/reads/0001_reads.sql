-- 0001 reads: what screens show, in a schema or a database of its own. All of it can be filled again from the history.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- One side of a transfer. Key and side say whether it was seen before: an event that comes again changes nothing.
CREATE TABLE lastro.read_entry (
    key varchar(400) COLLATE "C" NOT NULL,
    side varchar(6) COLLATE "C" NOT NULL,
    account varchar(340) COLLATE "C" NOT NULL,
    currency varchar(32) COLLATE "C" NOT NULL,
    amount bigint NOT NULL,
    counter_account varchar(340) COLLATE "C" NOT NULL,
    kind varchar(16) COLLATE "C" NOT NULL,
    cause varchar(255) COLLATE "C",
    transfer_id bigint NOT NULL,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT read_entry_once PRIMARY KEY (key, side),
    CONSTRAINT read_entry_side_known CHECK (side IN ('debit', 'credit'))
);
CREATE INDEX read_entry_account ON lastro.read_entry (account, currency, transfer_id);

-- What is posted on an account: the sum of its entries here.
CREATE TABLE lastro.read_balance (
    account varchar(340) COLLATE "C" NOT NULL,
    currency varchar(32) COLLATE "C" NOT NULL,
    posted bigint NOT NULL,
    entries bigint NOT NULL,
    newest_at timestamptz NOT NULL,
    CONSTRAINT read_balance_once PRIMARY KEY (account, currency)
) WITH (fillfactor = 70);

-- What became of a bet, event by event; and the bet as it stands by the newest version that came.
CREATE TABLE lastro.read_bet_event (
    event_id varchar(500) COLLATE "C" NOT NULL,
    bet varchar(400) COLLATE "C" NOT NULL,
    event varchar(32) COLLATE "C" NOT NULL,
    version integer NOT NULL,
    payload jsonb NOT NULL,
    opened_at timestamptz NOT NULL,
    CONSTRAINT read_bet_event_once PRIMARY KEY (event_id)
);
CREATE INDEX read_bet_event_bet ON lastro.read_bet_event (bet, version);
CREATE TABLE lastro.read_bet (
    bet varchar(400) COLLATE "C" NOT NULL,
    account varchar(340) COLLATE "C" NOT NULL,
    currency varchar(32) COLLATE "C" NOT NULL,
    state varchar(32) COLLATE "C" NOT NULL,
    version integer NOT NULL,
    stake bigint NOT NULL,
    potential_return bigint,
    returned bigint,
    legs jsonb,
    placed_at timestamptz,
    changed_at timestamptz NOT NULL,
    CONSTRAINT read_bet_once PRIMARY KEY (bet)
) WITH (fillfactor = 70);
CREATE INDEX read_bet_open ON lastro.read_bet (account, placed_at, bet) WHERE state = 'placed';
CREATE INDEX read_bet_account ON lastro.read_bet (account, placed_at, bet);

-- How far it came: one row.
CREATE TABLE lastro.read_progress (
    only_row boolean NOT NULL DEFAULT true,
    events bigint NOT NULL DEFAULT 0,
    newest_opened_at timestamptz,
    applied_at timestamptz,
    CONSTRAINT read_progress_once PRIMARY KEY (only_row),
    CONSTRAINT read_progress_is_one CHECK (only_row)
);
INSERT INTO lastro.read_progress (only_row) VALUES (true);
