"""
Declaring a sheet: its table is made from its spec, or gets the fields that are new; and which sheets there are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lastro.errors import InvalidInput
from lastro.imports.columns import Column
from lastro.imports.sheet_tables import TYPES, check_fits, check_storable, misfit, stored_spec, table_of
from lastro.imports.spec_files import document_of, specs_of
from lastro.imports.specs import SheetSpec
from lastro.plans.plan import TOGETHER, Plan, Step, step

LOCK_TIMEOUT_MS = 2_000


def declared() -> Plan[dict[str, SheetSpec]]:
    """
    Return the sheets that were declared, by name. The ready ones are there without.
    """
    rows = yield step("imports_sheets.list")
    return {row["name"]: _read(row["name"], row["spec"]) for row in rows}


def check_all(specs: Sequence[SheetSpec]) -> Plan[None]:
    """
    Raise InvalidInput unless each of *specs* fits the table of its sheet.
    """
    known = yield from declared()
    for spec in specs:
        check_storable(spec)
        check_fits(spec, stored_spec(spec.name, known))


def declare(spec: SheetSpec, *, ledger: str, now: datetime | None) -> Plan[bool]:
    """
    Make the table of a sheet, or add what *spec* has more; return whether there was anything to do.

    Raises InvalidInput where the table that is there can't hold its rows: another key, another type.
    """
    check_storable(spec)
    yield TOGETHER
    yield step("schema.limit_lock_wait", lock_timeout=f"{LOCK_TIMEOUT_MS}ms")
    yield step("imports_sheets.lock", ledger=ledger)
    rows = yield step("imports_sheets.find", name=spec.name)
    stored = stored_spec(spec.name, {spec.name: _read(spec.name, rows[0]["spec"])} if rows else {})
    if stored is None:
        yield from _make(spec)
        yield from _put(spec, now)
        return True
    refused = misfit(spec, stored)
    if refused:
        raise InvalidInput(f"sheet {spec.name} can't be declared so: {refused}", argument="spec")
    fresh = [column for column in spec.columns if column.name not in stored.fields]
    if not fresh:
        return False
    required = next((column.name for column in fresh if column.required), None)
    if required is not None:
        spec.refuse(f"columns.{required}", "is new and required: the rows that are there don't have it")
    yield from _compose("imports_sheets.compose_columns", spec, fresh)
    yield from _put(_with(stored, fresh), now)
    return True


def _make(spec: SheetSpec) -> Plan[None]:
    yield from _compose("imports_sheets.compose_table", spec, spec.columns)
    if spec.period is not None:
        rows = yield step("imports_sheets.compose_period", table=table_of(spec.name), period=spec.period)
        yield Step("script", {}, script=rows[0]["script"])


def _compose(statement: str, spec: SheetSpec, columns: Sequence[Column]) -> Plan[None]:
    given: dict[str, Any] = {
        "table": table_of(spec.name),
        "names": [column.name for column in columns],
        "types": [TYPES[column.type] for column in columns],
    }
    if statement == "imports_sheets.compose_table":
        given |= {"requireds": [column.required for column in columns], "key": list(spec.key)}
    rows = yield step(statement, **given)
    yield Step("script", {}, script=rows[0]["script"])


def _put(spec: SheetSpec, now: datetime | None) -> Plan[None]:
    document = json.dumps(document_of([spec])[spec.name])
    yield step("imports_sheets.put", name=spec.name, spec=document, now=now)


def _read(name: str, spec: str) -> SheetSpec:
    return specs_of({name: json.loads(spec)})[0]


def _with(stored: SheetSpec, fresh: Sequence[Column]) -> SheetSpec:
    document = document_of([stored])[stored.name]
    more = SheetSpec(name=stored.name, columns=(*stored.columns, *fresh), key=stored.key)
    return specs_of({stored.name: {**document, "columns": document_of([more])[stored.name]["columns"]}})[0]
