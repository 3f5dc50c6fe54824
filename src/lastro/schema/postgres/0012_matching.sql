-- 0012 matching: which lines of a merged sheet are which transfers of the ledger, run by run.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on
--
-- No foreign keys: nothing that is written here may lock a row of the ledger or of a sheet.

CREATE SEQUENCE lastro.match_run_id AS bigint;

-- History: a run, by which spec (all of it, as it was), and what came of it. The newest one of a spec, a period and an
-- account stands; the others stay to be compared with it.
CREATE TABLE lastro.match_run (
    run_id bigint NOT NULL,
    spec_name varchar(63) COLLATE "C" NOT NULL,
    period varchar(7) COLLATE "C" NOT NULL,
    account varchar(340) COLLATE "C",
    spec jsonb NOT NULL,
    lines bigint NOT NULL,
    transfers bigint NOT NULL,
    internal bigint NOT NULL,
    matched bigint NOT NULL,
    amount_differs bigint NOT NULL,
    missing_in_ledger bigint NOT NULL,
    missing_in_statement bigint NOT NULL,
    cut_short bigint NOT NULL,
    actor varchar(255),
    recorded_at timestamptz NOT NULL,
    CONSTRAINT match_run_once PRIMARY KEY (run_id),
    CONSTRAINT match_run_period_is_month CHECK (period ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
    CONSTRAINT match_run_counts_not_negative CHECK (
        least(
            lines, transfers, internal, matched, amount_differs, missing_in_ledger, missing_in_statement, cut_short
        ) >= 0
    )
);

-- What a run found, group by group. Those of a run that another one has taken the place of may be deleted.
CREATE TABLE lastro.match_group (
    run_id bigint NOT NULL,
    number integer NOT NULL,
    outcome varchar(20) COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    reference text COLLATE "C",
    difference numeric NOT NULL,
    cut_short boolean NOT NULL,
    CONSTRAINT match_group_once PRIMARY KEY (run_id, number),
    CONSTRAINT match_group_outcome_known CHECK (
        outcome IN ('matched', 'amount_differs', 'missing_in_ledger', 'missing_in_statement')
    )
);
CREATE INDEX match_group_differing ON lastro.match_group (run_id, number) WHERE outcome <> 'matched';

-- The lines (place: their line_id) and transfers (place: their id) of the groups: each in one group of a run.
CREATE TABLE lastro.match_item (
    run_id bigint NOT NULL,
    group_number integer NOT NULL,
    is_line boolean NOT NULL,
    place bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    on_date date NOT NULL,
    amount bigint NOT NULL,
    is_inside boolean NOT NULL,
    CONSTRAINT match_item_once PRIMARY KEY (run_id, is_line, place)
);
CREATE INDEX match_item_of_group ON lastro.match_item (run_id, group_number);

-- What a run has still to judge, in the order of references. Each run fills and empties it in its one transaction, so
-- nothing is lost with what isn't logged.
CREATE UNLOGGED TABLE lastro.match_waiting (
    run_id bigint NOT NULL,
    currency text COLLATE "C" NOT NULL,
    reference text COLLATE "C" NOT NULL,
    is_line boolean NOT NULL,
    place bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    on_date date NOT NULL,
    amount bigint NOT NULL,
    is_inside boolean NOT NULL,
    CONSTRAINT match_waiting_once PRIMARY KEY (run_id, currency, reference, is_line, place)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE TRIGGER match_run_append_only BEFORE UPDATE OR DELETE ON lastro.match_run
FOR EACH ROW EXECUTE FUNCTION lastro.refuse_change();
CREATE TRIGGER match_run_not_truncated BEFORE TRUNCATE ON lastro.match_run
FOR EACH STATEMENT EXECUTE FUNCTION lastro.refuse_change();
