"""
Kinds in the database: reading what is registered, and registering more while others post.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from lastro.errors import InvalidInput, KindConflict, LockTimeout
from lastro.model.kind import Kind, Registry
from lastro.model.limits import KEEPING_WAIT_MS, KINDS_MAX
from lastro.plans.course import Act, Course
from lastro.plans.patience import LOCK_TIMEOUT_MS, giving_way, outlast
from lastro.plans.plan import TOGETHER, Effect, Plan, Row, Rows, Step, step
from lastro.plans.stored import read_kind
from lastro.plans.waiting import patiently


def list_kinds(registry: Registry) -> Plan[list[Kind]]:
    """
    Return the registered kinds in the order of their names.
    """
    return list((yield from read_kinds(registry)).values())


def read_kinds(registry: Registry) -> Plan[Mapping[str, Kind]]:
    """
    Return the registered kinds by name, for *registry* to know as well.
    """
    rows = yield step("kinds.list")
    return registry.learn(map(read_kind, rows))


def register_kinds(kinds: Sequence[Kind], registry: Registry, *, now: datetime | None) -> Course[list[str]]:
    """
    Register *kinds* and return the names of those that are new or have new terms. From then on the database refuses a
    transfer of one of them between accounts that it doesn't allow.

    Raises KindConflict, with nothing registered, where a kind has other terms and transfers stand under it.
    """
    changed: list[str] = yield from giving_way(
        lambda: patiently(_register(kinds, registry, now=now), LOCK_TIMEOUT_MS),
    )
    if changed:
        yield Act(lambda: read_kinds(registry), Effect.READ)
        yield from outlast(_under_way, _still_open, wait_ms=KEEPING_WAIT_MS)
    return changed


def _register(kinds: Sequence[Kind], registry: Registry, *, now: datetime | None) -> Plan[list[str]]:
    yield TOGETHER
    yield step("kinds.lock")
    stored = yield from read_kinds(registry)
    changed = [kind for kind in kinds if stored.get(kind.name) != kind]
    if not changed:
        return []
    if len(stored.keys() | {kind.name for kind in changed}) > KINDS_MAX:
        raise InvalidInput(f"a ledger has at most {KINDS_MAX} kinds; with these it would have more", argument="kinds")
    # Once while others post, for it may read the whole history, and once more with nothing under way.
    yield from _refuse_used(changed, stored)
    yield step("kinds.hold_writers")
    yield from _refuse_used(changed, stored)
    for kind in changed:
        yield step("kinds.put", **kind._asdict(), now=now)
    rows = yield step("kinds.compose_guard")
    if rows[0]["script"]:
        yield Step("script", {}, script=rows[0]["script"])
    return [kind.name for kind in changed]


def _refuse_used(changed: Sequence[Kind], stored: Mapping[str, Kind]) -> Plan[None]:
    for kind in changed:
        there = stored.get(kind.name)
        if there is None or not (yield step("kinds.is_used", kind=kind.name))[0]["found"]:
            continue
        fields = _differing(there, kind)
        differences = "; ".join(
            f"{field}: registered {was!r}, given {given!r}" for field, (was, given) in fields.items()
        )
        raise KindConflict(
            f"kind {kind.name!r} is registered on other terms, and transfers stand under it ({differences}); "
            "nothing was registered: give the new terms a kind of their own",
            kind=kind.name,
            fields=fields,
        )


def _differing(there: Kind, given: Kind) -> dict[str, tuple[Any, Any]]:
    return {field: (was, now) for field, was, now in zip(Kind._fields, there, given, strict=True) if was != now}


def _under_way() -> Plan[Rows]:
    return (yield step("kinds.under_way"))


def _still_open(oldest: Row) -> LockTimeout:
    return LockTimeout(
        "the kinds are registered and hold for whatever begins now, but a transaction from before may still post "
        f"without regard to them until it ends: pid {oldest['pid']} ({oldest['application']}), {oldest['age_s']} s old",
        pid=oldest["pid"],
    )
