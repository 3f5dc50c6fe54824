-- 0009 outbox: events to publish, written in the transaction of what they tell.
-- phase: pre (runs before new code; only ever adds)
-- serves: code from 0001 on

-- A live table: the relay deletes what it has published. An event's id names it for whoever receives it twice.
CREATE TABLE lastro.outbox (
    id bigint GENERATED ALWAYS AS IDENTITY,
    event_id varchar(400) COLLATE "C" NOT NULL,
    topic varchar(255) COLLATE "C" NOT NULL,
    ordering_key varchar(400) COLLATE "C" NOT NULL,
    payload jsonb NOT NULL,
    opened_at timestamptz NOT NULL,
    CONSTRAINT outbox_once PRIMARY KEY (id),
    CONSTRAINT outbox_event_once UNIQUE (event_id)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 5000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 5000
);
