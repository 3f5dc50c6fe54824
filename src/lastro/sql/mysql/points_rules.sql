-- Earning rules. Every version stays; the highest version of a rule counts.

-- name: define
-- Write a version of a rule, or nothing where somebody else has written that version: LAST_INSERT_ID() says which.
-- locks: none that another posting waits for   returns: 0 or 1 row
SELECT last_insert_id(1) INTO @lastro_new;
INSERT INTO lastro.points_rule (
    name, version, activity, points, currency, cap, period, time_zone, priority, beyond_cap, lot_days, defined_at
)
VALUES (
    %(name)s, %(version)s, %(activity)s, %(points)s, %(currency)s, %(cap)s, %(period)s, %(time_zone)s, %(priority)s,
    %(beyond_cap)s, %(lot_days)s, coalesce(%(now)s, utc_timestamp(6))
)
ON DUPLICATE KEY UPDATE version = points_rule.version + 0 * last_insert_id(0);
SELECT rule.defined_at
FROM lastro.points_rule AS rule
WHERE last_insert_id() = 1 AND rule.name = %(name)s AND rule.version = %(version)s;

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
FROM lastro.points_rule AS rule FORCE INDEX (primary)
WHERE
    rule.name = %(name)s
    AND rule.version = (
        SELECT max(other.version) FROM lastro.points_rule AS other FORCE INDEX (primary)
        WHERE other.name = %(name)s /* current */
    )
/* current */;

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
FROM lastro.points_rule AS rule FORCE INDEX (points_rule_activity)
WHERE
    rule.activity = %(activity)s
    AND NOT EXISTS (
        SELECT 1 FROM lastro.points_rule AS newer FORCE INDEX (primary)
        WHERE newer.name = rule.name AND newer.version > rule.version /* current */
    )
ORDER BY rule.name
/* current */;

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
    rule.name > %(after_name)s
    AND NOT EXISTS (
        SELECT 1 FROM lastro.points_rule AS newer WHERE newer.name = rule.name AND newer.version > rule.version
    )
ORDER BY rule.name
LIMIT %(rows_max)s;
