"""The schema of a ledger as text: whatever a migration can change, in an order that doesn't depend on chance."""

from __future__ import annotations

from typing import Any

import psycopg

# title, query; each returns lines. `%(schema)s` is the ledger's.
PARTS = (
    (
        "tables",
        """
        SELECT format('%%s %%s%%s%%s', CASE relkind WHEN 'p' THEN 'partitioned table' WHEN 'v' THEN 'view'
                   WHEN 'S' THEN 'sequence' ELSE 'table' END, relname,
               coalesce(' ' || pg_get_partkeydef(c.oid), ' ' || pg_get_expr(relpartbound, c.oid), ''),
               coalesce(' with ' || array_to_string(reloptions, ', '), ''))
        FROM pg_class AS c WHERE relnamespace = %(schema)s::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
        """,
    ),
    (
        "columns",
        """
        SELECT format('%%s.%%s %%s %%s%%s%%s%%s', relname, to_char(attnum, 'FM00'), attname,
               format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN ' not null' ELSE '' END,
               coalesce(' default ' || pg_get_expr(adbin, adrelid), ''),
               CASE WHEN collname <> 'default' THEN ' collate ' || collname ELSE '' END)
        FROM pg_attribute
        JOIN pg_class AS c ON c.oid = attrelid AND relkind IN ('r', 'p', 'v') AND NOT relispartition
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        LEFT JOIN pg_collation AS l ON l.oid = attcollation
        WHERE relnamespace = %(schema)s::regnamespace AND attnum > 0 AND NOT attisdropped
        """,
    ),
    (
        "constraints",
        """
        SELECT format('%%s %%s %%s%%s', relname, conname, pg_get_constraintdef(k.oid),
               CASE WHEN convalidated THEN '' ELSE ' NOT VALID' END)
        FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = conrelid AND NOT relispartition
        WHERE connamespace = %(schema)s::regnamespace AND contype <> 'n'
        """,
    ),
    (
        "indexes",
        """
        SELECT format('%%s%%s', pg_get_indexdef(indexrelid), CASE WHEN indisvalid THEN '' ELSE ' INVALID' END)
        FROM pg_index JOIN pg_class AS c ON c.oid = indrelid AND NOT relispartition
        WHERE relnamespace = %(schema)s::regnamespace
        """,
    ),
    (
        "triggers",
        """
        SELECT pg_get_triggerdef(t.oid)
        FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = tgrelid
        WHERE relnamespace = %(schema)s::regnamespace AND NOT tgisinternal AND tgparentid = 0
        """,
    ),
    (
        "functions",
        """
        SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = %(schema)s::regnamespace
        """,
    ),
    (
        "views",
        """
        SELECT format(E'%%s\n%%s', relname, pg_get_viewdef(oid))
        FROM pg_class WHERE relnamespace = %(schema)s::regnamespace AND relkind = 'v'
        """,
    ),
    (
        "comments",
        """
        SELECT format('%%s%%s: %%s', relname, coalesce('.' || attname, ''), description)
        FROM pg_description JOIN pg_class AS c ON c.oid = objoid AND classoid = 'pg_class'::regclass
        LEFT JOIN pg_attribute ON attrelid = objoid AND attnum = objsubid AND objsubid > 0
        WHERE relnamespace = %(schema)s::regnamespace
        """,
    ),
    (
        "other objects",
        """
        SELECT format('type %%s', typname) FROM pg_type AS t
        WHERE typnamespace = %(schema)s::regnamespace AND typtype IN ('e', 'd', 'r')
        UNION ALL
        SELECT format('rule %%s', rulename) FROM pg_rewrite JOIN pg_class AS c ON c.oid = ev_class
        WHERE relnamespace = %(schema)s::regnamespace AND rulename <> '_RETURN'
        UNION ALL
        SELECT format('policy %%s', polname) FROM pg_policy JOIN pg_class AS c ON c.oid = polrelid
        WHERE relnamespace = %(schema)s::regnamespace
        """,
    ),
)


def described(connection: psycopg.Connection[Any], schema: str) -> str:
    """The schema as text, with its name replaced by `lastro`."""
    # Names are printed with their schema unless it is on the search path; which it is can't matter then.
    connection.execute("SET LOCAL search_path = pg_catalog")
    parts = []
    for title, query in PARTS:
        rows = connection.execute(query.encode(), {"schema": schema}).fetchall()
        # A function's body says the name as the migration wrote it: in quotes.
        quoted = '"{}".'.format(schema.strip('"'))
        lines = sorted(str(row[0]).replace(quoted, "lastro.").replace(f"{schema}.", "lastro.").rstrip() for row in rows)
        parts.append("\n".join([f"-- {title}", *lines]))
    return "\n\n".join(parts) + "\n"
