-- Earning rules. Every version stays; the highest version of a rule counts.

-- name: define
-- Write a version of a rule, or nothing where somebody else has written that version.
-- locks: none that another posting waits for   returns: 0 or 1 row
INSERT INTO lastro.points_rule (
    name, version, activity, points, currency, cap, period, time_zone, priority, beyond_cap, lot_days, defined_at
)
VALUES (
    %(name)s::text, %(version)s::integer, %(activity)s::text, %(points)s::bigint, %(currency)s::text, %(cap)s::bigint,
    %(period)s::text, %(time_zone)s::text, %(priority)s::integer, %(beyond_cap)s::text, %(lot_days)s::integer,
    coalesce(%(now)s::timestamptz, now())
)
ON CONFLICT (name, version) DO NOTHING
RETURNING defined_at;

-- name: newest
-- The newest version of a rule.
-- locks: none   returns: 0 or 1 row
SELECT
    rule.name,
    rule.version,
    rule.activity,
    rule.points,
    rule.currency,
    rule.cap,
    rule.period,
    rule.time_zone,
    rule.priority,
    rule.beyond_cap,
    rule.lot_days,
    rule.defined_at
FROM lastro.points_rule AS rule
WHERE
    rule.name = %(name)s::text
    AND rule.version = (SELECT max(other.version) FROM lastro.points_rule AS other WHERE other.name = %(name)s::text);

-- name: for_activity
-- The newest version of every rule for a kind of activity, those that have ended as well.
-- locks: none   returns: 1 row a rule
SELECT
    rule.name,
    rule.version,
    rule.activity,
    rule.points,
    rule.currency,
    rule.cap,
    rule.period,
    rule.time_zone,
    rule.priority,
    rule.beyond_cap,
    rule.lot_days,
    rule.defined_at
FROM lastro.points_rule AS rule
WHERE
    rule.activity = %(activity)s::text
    AND NOT EXISTS (
        SELECT 1 FROM lastro.points_rule AS newer WHERE newer.name = rule.name AND newer.version > rule.version
    )
ORDER BY rule.name;

-- name: list
-- A page of rules in the order of their names, each in its newest version.
-- locks: none   returns: 0 … rows_max rows
SELECT
    rule.name,
    rule.version,
    rule.activity,
    rule.points,
    rule.currency,
    rule.cap,
    rule.period,
    rule.time_zone,
    rule.priority,
    rule.beyond_cap,
    rule.lot_days,
    rule.defined_at
FROM lastro.points_rule AS rule
WHERE
    rule.name > %(after_name)s::text
    AND NOT EXISTS (
        SELECT 1 FROM lastro.points_rule AS newer WHERE newer.name = rule.name AND newer.version > rule.version
    )
ORDER BY rule.name
LIMIT %(rows_max)s;
