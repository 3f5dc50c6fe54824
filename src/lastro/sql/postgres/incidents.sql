-- Incidents: drift that was found, until somebody has said what it was.

-- name: unsettled
-- Incidents of some accounts that aren't explained, or whose drift isn't gone.
-- locks: none   returns: 1 row an incident
SELECT
    incident.id,
    incident.account_id,
    incident.rule,
    incident.expected,
    incident.found,
    incident.transfer_id,
    incident.cleared_at,
    incident.explained_at
FROM lastro.incident AS incident
WHERE
    incident.account_id = ANY(%(account_ids)s::bigint[])
    AND (incident.cleared_at IS NULL OR incident.explained_at IS NULL)
ORDER BY incident.id;

-- name: open
-- Note drift that was found, unless another round has done so: of a rule of an account one incident stands at a time.
-- locks: none that a posting waits for   returns: 0 or 1 row: its id
INSERT INTO lastro.incident (
    account_id, rule, expected, found, agreed_id, transfer_id, opened_at, last_seen_at
)
VALUES (
    %(account_id)s::bigint, %(rule)s::text, %(expected)s::numeric, %(found)s::numeric, %(agreed_id)s::bigint,
    %(transfer_id)s::bigint, coalesce(%(now)s::timestamptz, now()), coalesce(%(now)s::timestamptz, now())
)
ON CONFLICT (account_id, rule) WHERE explained_at IS NULL AND cleared_at IS NULL DO NOTHING
RETURNING id;

-- name: see
-- An incident that stands was met again, with these numbers.
-- locks: the incident   returns: nothing
UPDATE lastro.incident
SET
    expected = %(expected)s::numeric,
    found = %(found)s::numeric,
    transfer_id = %(transfer_id)s::bigint,
    last_seen_at = coalesce(%(now)s::timestamptz, now())
WHERE id = %(incident_id)s::bigint AND explained_at IS NULL AND cleared_at IS NULL;

-- name: clear
-- These incidents were looked for and their drift is gone, or another one has taken its place.
-- locks: the incidents   returns: nothing
UPDATE lastro.incident
SET cleared_at = coalesce(%(now)s::timestamptz, now())
WHERE id = ANY(%(incident_ids)s::bigint[]) AND cleared_at IS NULL;

-- name: explain
-- Say what an incident was, unless somebody has.
-- locks: the incident   returns: nothing
UPDATE lastro.incident
SET
    explained_at = coalesce(%(now)s::timestamptz, now()),
    explanation = %(explanation)s::text,
    explained_by = %(actor)s::text
WHERE id = %(incident_id)s::bigint AND explained_at IS NULL;

-- name: find
-- One incident.
-- locks: none   returns: 0 or 1 row
SELECT
    incident.id,
    account.name AS account,
    account.currency,
    incident.account_id,
    incident.rule,
    incident.expected,
    incident.found,
    incident.agreed_id,
    incident.transfer_id,
    incident.opened_at,
    incident.last_seen_at,
    incident.cleared_at,
    incident.explained_at,
    incident.explanation,
    incident.explained_by
FROM lastro.incident AS incident
LEFT JOIN lastro.account AS account ON incident.account_id = account.id
WHERE incident.id = %(incident_id)s::bigint;

-- name: list
-- A page of incidents, the newest first; those that nobody has explained, or all.
-- locks: none   returns: up to rows_max rows
SELECT
    incident.id,
    account.name AS account,
    account.currency,
    incident.account_id,
    incident.rule,
    incident.expected,
    incident.found,
    incident.agreed_id,
    incident.transfer_id,
    incident.opened_at,
    incident.last_seen_at,
    incident.cleared_at,
    incident.explained_at,
    incident.explanation,
    incident.explained_by
FROM lastro.incident AS incident
LEFT JOIN lastro.account AS account ON incident.account_id = account.id
WHERE
    (incident.explained_at IS NULL OR NOT %(only_open)s::boolean)
    AND incident.id < %(before_id)s::bigint
ORDER BY incident.id DESC
LIMIT %(rows_max)s;

-- name: count_open
-- How many incidents nobody has explained.
-- locks: none   returns: 1 row
SELECT count(*) AS incidents
FROM lastro.incident AS incident
WHERE incident.explained_at IS NULL;
