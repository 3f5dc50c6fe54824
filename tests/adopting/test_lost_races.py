"""Steps of an adoption that come in one another's way: whoever loses says so, and nothing is left half done."""

from __future__ import annotations

from typing import Any

import pytest

from lastro import AdoptionNotReady, Ledger
from lastro.adopting import guarding, switching
from tests.adopting.old_table import OldTable, cut
from tests.adopting.test_ending import triggers_on
from tests.support.sessions import Background, observer_of
from tests.support.stores import MARIADB, on_every_server, on_every_store

pytestmark = [pytest.mark.case("C001"), pytest.mark.case("C039")]

WAITING = {
    MARIADB: "SELECT count(*) FROM information_schema.processlist WHERE state IN ('User lock', 'Updating')",
}
WAITING_ON_POSTGRES = "SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"


def rolled_back_but_for_the_triggers(ledger: Ledger, table: OldTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bring an adoption to where a roll-back was killed before it took the triggers away."""
    cut(ledger, table)
    with monkeypatch.context() as patched:
        patched.setattr(switching, "remove_guard", lambda *_: iter(()))
        ledger.adopting.roll_back("users")
    stands = ledger.adopting.status("users")
    assert (stands.phase, stands.guarded) == ("shadow", True)


@on_every_server
def test_a_cut_over_while_the_triggers_are_taken_away(
    ledger: Ledger, store: str, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A roll-back has seen that the ledger isn't the truth and drops the triggers: a cut-over in between has its own."""
    table, adopting, cutting = OldTable(ledger, store_url), ledger.adopting, []
    table.add({1: 100})
    rolled_back_but_for_the_triggers(ledger, table, monkeypatch)
    make = guarding.step
    with observer_of(store_url) as observer:

        def meanwhile(statement: str, **params: Any) -> Any:
            if statement == "adopting.compose_removal":
                cutting.append(Background(lambda: adopting.cut_over("users")))
                waiting = WAITING.get(store, WAITING_ON_POSTGRES)
                observer.until(lambda: cutting[0].done or observer.value(waiting) > 0, "the cut-over to end or wait")
            return make(statement, **params)

        monkeypatch.setattr(guarding, "step", meanwhile)
        assert adopting.roll_back("users").done
        assert cutting[0].result().done
    stands = adopting.status("users")
    assert (stands.phase, stands.guarded) == ("ledger", True)
    with pytest.raises(Exception, match="taken over"):
        table.change(1, 5)


@on_every_store
def test_triggers_that_are_gone_before_the_cut(ledger: Ledger, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A roll-back between the making of the triggers and the cut takes them away: the cut-over is refused, and may come again."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    rolled_back_but_for_the_triggers(ledger, table, monkeypatch)
    make = switching._patiently_cut

    def too_late(*given: Any, **named: Any) -> Any:
        assert adopting.roll_back("users").done
        return make(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(switching, "_patiently_cut", too_late)
        with pytest.raises(AdoptionNotReady, match="took the triggers away meanwhile"):
            adopting.cut_over("users")
    assert adopting.status("users").phase == "shadow"
    assert adopting.cut_over("users").done
    with pytest.raises(Exception, match="taken over"):
        table.change(1, 5)


@pytest.mark.parametrize("store", [MARIADB], indirect=True)
@pytest.mark.parametrize("kept", ["u", "i", "d"])
def test_triggers_half_made(ledger: Ledger, store_url: str, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On MariaDB each trigger is made and dropped by itself: whichever were when it broke off, the next one does the rest."""
    table, adopting = OldTable(ledger, store_url), ledger.adopting
    table.add({1: 100})
    rolled_back_but_for_the_triggers(ledger, table, monkeypatch)
    for other in "uid".replace(kept, ""):
        table.run(f"DROP TRIGGER {ledger._operations.ledger}.adopted_users_by_{ledger._operations.ledger}_{other}")
    assert not adopting.status("users").guarded
    assert adopting.cut_over("users").done
    assert (adopting.status("users").guarded, triggers_on(table)) == (True, 3)
    for refused in (
        f"UPDATE {table.name} SET {table.balance} = 5",
        f"INSERT INTO {table.name} VALUES (2, 5)",
        f"DELETE FROM {table.name}",
    ):
        with pytest.raises(Exception, match="taken over"):
            table.run(refused)
    for other in "uid".replace(kept, ""):
        table.run(f"DROP TRIGGER {ledger._operations.ledger}.adopted_users_by_{ledger._operations.ledger}_{other}")
    adopting.roll_back("users")
    assert triggers_on(table) == 0


@on_every_store
def test_abandoned_during_a_cut_over(ledger: Ledger, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut-over whose adoption was abandoned meanwhile is refused, and leaves no triggers behind."""
    table, adopting, make = OldTable(ledger, store_url), ledger.adopting, switching.put_guard
    table.add({1: 100})
    rolled_back_but_for_the_triggers(ledger, table, monkeypatch)

    def too_late(*given: Any) -> Any:
        adopting.abandon("users")
        return make(*given)

    monkeypatch.setattr(switching, "put_guard", too_late)
    with pytest.raises(AdoptionNotReady, match="'abandoned' meanwhile"):
        adopting.cut_over("users")
    assert (adopting.status("users").phase, triggers_on(table)) == ("abandoned", 0)
