"""Kinds are registered while others post: who was under way is waited for, and nobody passes the database by."""

from __future__ import annotations

from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel, errors

import lastro
from lastro import PREPAID, Kind, KindConflict, KindNotAllowed, Ledger
from lastro.plans.patience import giving_way
from tests.support.money import fund, posted, transfer
from tests.support.sessions import Background, Observer, Sessions, pid_of, together
from tests.support.stores import on_every_store

FEE = Kind("test", debit="*", credit="world")
RIVALS = 3


def wrong(key: str, **more: Any) -> dict[str, Any]:
    """A transfer that FEE doesn't allow."""
    return transfer(key, "world", "shop", 5, **more)


@pytest.mark.req("2.3")
def test_a_registration_waits_for_who_is_posting(ledger: Ledger, session: Sessions, observer: Observer) -> None:
    """A transfer under way commits before the kind is there; one that comes meanwhile waits, and is judged by it."""
    fund(ledger, "shop", 0)
    caller = session()
    with caller.transaction():
        ledger.within(caller).post(**wrong("before"))
        registering = Background(lambda: ledger.register_kinds([FEE]))
        observer.until_anyone_waits_for(pid_of(caller))
        other = session()
        other.execute("SELECT 1")
        late = Background(lambda: ledger.within(other).post(**wrong("after")))
        observer.until_blocked(pid_of(other))
        assert not registering.done
    assert registering.result() == ["test"]
    assert isinstance(late.error(), KindNotAllowed)
    other.rollback()
    assert posted(ledger, "shop") == 5


@pytest.mark.req("2.3")
@pytest.mark.parametrize("many", [1, 60])
def test_an_old_snapshot_doesnt_pass_the_kinds_by(
    ledger: Ledger, session: Sessions, server_url: str, ledger_name: str, many: int
) -> None:
    """A transaction in REPEATABLE READ from before the registration is held to it, by COPY as well."""
    fund(ledger, "shop", 0, "hot")
    with lastro.connect(server_url, ledger=ledger_name) as unaware:
        unaware.post(**wrong("learn"))
        caller = session()
        caller.isolation_level = IsolationLevel.REPEATABLE_READ
        caller.execute("SELECT 1")
        ledger.register_kinds([FEE, *PREPAID])
        with pytest.raises(KindNotAllowed):
            unaware.within(caller).post_many([wrong(f"k{number}") for number in range(many)])
        caller.rollback()
    assert posted(ledger, "shop") == 5


@pytest.mark.req("2.3")
def test_every_partition_holds_to_the_kinds(ledger: Ledger, connection: psycopg.Connection[Any]) -> None:
    """Partitions there before, made later or adopted, and the default one: none takes a row on the wrong side."""
    fund(ledger, "shop", 0)
    ledger.register_kinds([FEE])
    ledger.register_kinds([FEE, *PREPAID])
    ids = dict(connection.execute("SELECT name, id FROM account").fetchall())
    last = ledger.partitions()[-1]
    plant = (
        "INSERT INTO {} (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind) "
        "VALUES (%s, %s, %s, 5, now(), now(), 'planted', %s)"
    )
    stray = last.to_id + 7
    connection.execute(plant.format("transfer").encode(), [stray, ids["shop"], ids["world"], "test"])
    connection.execute("SELECT setval('transfer_id', %s)", [stray])
    connection.commit()
    assert ledger.keep_partitions() > 0
    names = [partition.name for partition in ledger.partitions()]
    assert len(names) > 2
    for number in (1, stray + 1, ledger.partitions()[-1].to_id + 9):
        for kind in ("test", "debit"):
            with pytest.raises(errors.IntegrityError, match="goes from") as caught:
                connection.execute(plant.format("transfer").encode(), [number, ids["world"], ids["shop"], kind])
            assert caught.value.diag.constraint_name == "transfer_kind_sides"
            connection.rollback()
    connection.execute(plant.format("transfer").encode(), [2, ids["world"], ids["shop"], "free"])
    connection.rollback()


def test_two_registrations_at_once(ledger: Ledger, server_url: str, ledger_name: str) -> None:
    """Of two that say otherwise about a kind the first wins; nothing was posted, so the second changes it."""
    with lastro.connect(server_url, ledger=ledger_name) as other:
        both = [
            Background(lambda: ledger.register_kinds([Kind("a", debit="world"), Kind("b")])),
            Background(lambda: other.register_kinds([Kind("b"), Kind("c", credit="world")])),
        ]
        assert sorted(name for going in both for name in going.result()) == ["a", "b", "c"]
        assert [kind.name for kind in other.kinds()] == ["a", "b", "c"]


def test_new_terms_wait_for_a_transfer_under_the_old(ledger: Ledger, session: Sessions, observer: Observer) -> None:
    """A transfer of the kind that isn't committed yet counts: when it commits, the new terms are a conflict."""
    fund(ledger, "shop", 0)
    ledger.register_kinds([Kind("test", credit="shop")])
    caller = session()
    with caller.transaction():
        ledger.within(caller).post(**wrong("under way"))
        changing = Background(lambda: ledger.register_kinds([FEE]))
        observer.until_anyone_waits_for(pid_of(caller))
    assert isinstance(changing.error(), KindConflict)
    assert ledger.kinds() == [Kind("test", credit="shop")]


@on_every_store
def test_several_register_at_once(ledger: Ledger, store_url: str) -> None:
    """Each registers a kind of its own and one that all want on other terms: every kind is there, and is held to."""
    fund(ledger, "shop", 0)
    fund(ledger, "bank", 100)
    ledgers = [
        lastro.connect(store_url, ledger=ledger._operations.ledger, lock_timeout_ms=45_000) for _ in range(RIVALS)
    ]
    kinds = [
        [Kind(f"own {number}", debit="shop"), Kind("contested", debit=f"shop{number}*")] for number in range(RIVALS)
    ]
    answers = together([partial(one.register_kinds, wanted) for one, wanted in zip(ledgers, kinds, strict=True)])
    for one in ledgers:
        one.close()
    assert answers == [["own 0", "contested"], ["own 1", "contested"], ["own 2", "contested"]]
    stored = ledger.kinds()
    assert [kind for kind in stored if kind.name != "contested"] == [own for own, _ in kinds]
    assert next(kind for kind in stored if kind.name == "contested") in [contested for _, contested in kinds]
    for kind in stored:
        # As a process that knows of none: what refuses is the database.
        ledger._operations.kinds_known.learn([])
        with pytest.raises(KindNotAllowed):
            ledger.post(**(transfer("k", "bank", "shop", 5) | {"kind": kind.name}))
    assert posted(ledger, "shop") == 0


def test_registering_gives_way(ledger: Ledger, session: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a transaction that doesn't end, the registration lets others post, and ends as LockTimeout."""
    monkeypatch.setattr("lastro.plans.kinds.LOCK_TIMEOUT_MS", 20)
    monkeypatch.setattr("lastro.plans.kinds.giving_way", lambda make: giving_way(make, tries_max=3, pause_ms=1))
    fund(ledger, "shop", 0)
    caller = session()
    with caller.transaction():
        ledger.within(caller).post(**wrong("held"))
        with pytest.raises(lastro.LockTimeout):
            ledger.register_kinds([FEE])
    assert ledger.kinds() == []
    ledger.post(**wrong("still free"))


def test_unregistered_kinds_are_not_slowed(ledger: Ledger, connection: psycopg.Connection[Any]) -> None:
    """The trigger's condition names the kinds, so that no function is called for another one."""
    fund(ledger, "shop", 0)
    assert connection.execute("SELECT count(*) FROM pg_trigger WHERE tgname = 'transfer_kind_rules'").fetchone() == (0,)
    ledger.register_kinds(PREPAID)
    rows = connection.execute(
        "SELECT pg_get_triggerdef(t.oid) FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = tgrelid "
        "WHERE tgname = 'transfer_kind_rules' AND tgparentid = 0 AND relnamespace = current_schema()::regnamespace"
    ).fetchall()
    ((definition,),) = rows
    when = definition.partition(" WHEN ")[2].partition("EXECUTE")[0]
    assert all(kind.name in when for kind in PREPAID)
    assert "AFTER INSERT" in definition
