"""Rounds of reconciliation: what they skip, what they wait for, what a killed one leaves, and what is retired."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

import lastro
from lastro import Ledger
from lastro.ledger.operations import Operations
from lastro.plans import reconciling
from lastro.plans.course import Act, Pause, Rest
from lastro.schema.migrations import migrations
from lastro.sql.catalogue import texts_of
from lastro.testing import temporary_ledger
from tests.reconciling.planting import Hands
from tests.support.stores import STORES, connected, transaction

pytestmark = pytest.mark.req("2.7")


def rounds_until_quiet(ledger: Ledger, *, rounds_max: int = 4) -> None:
    """Reconcile until nothing is compared any more."""
    for _ in range(rounds_max):
        if ledger.reconcile().accounts == 0:
            return
    raise AssertionError("something is compared again and again")


def test_only_what_moved_is_compared(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over pages of three accounts and batches of two: all at first, then those that moved; a full round all again."""
    monkeypatch.setattr(reconciling, "RECONCILIATION_SCANNED_MAX", 3)
    monkeypatch.setattr(reconciling, "RECONCILIATION_ACCOUNTS_MAX", 2)
    for number in range(7):
        hands.open(f"a{number}", entries=1)
    hands.open("hot", "hot", entries=1)
    first = hands.ledger.reconcile()
    # The world counts.
    assert (first.accounts, first.skipped, first.complete) == (9, 0, True)
    hands.ledger.consolidate()
    rounds_until_quiet(hands.ledger)
    for account in ("a2", "a5", "hot"):
        hands.credit(account, 1)
    moved = hands.ledger.reconcile()
    assert (moved.accounts, moved.skipped) == (3, 6)
    assert hands.ledger.reconcile(full=True).accounts == 9


def test_a_round_ends_where_it_is_told_to(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told to end after its first batch, it says that it isn't complete; the next one has only the rest to do."""
    monkeypatch.setattr(reconciling, "RECONCILIATION_ACCOUNTS_MAX", 2)
    for number in range(4):
        hands.open(f"a{number}", entries=0)
    hands.open("fed", entries=1)
    ended = hands.ledger.reconcile(after_batch=lambda _: False)
    assert (ended.accounts, ended.complete) == (2, False)
    rest = hands.ledger.reconcile()
    assert rest.complete
    assert rest.accounts < 6
    assert rest.accounts + rest.skipped == 6


@pytest.mark.parametrize("hands", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("rest", "expected"), [(0, []), (100, [7, 7, 7])])
def test_a_round_rests_after_each_page_and_batch(
    hands: Hands, monkeypatch: pytest.MonkeyPatch, rest: float, expected: list[int]
) -> None:
    """A hundred times as long as they took is longer than it may: of one page and its two batches three times the most."""
    monkeypatch.setattr(reconciling, "RECONCILIATION_ACCOUNTS_MAX", 2)
    monkeypatch.setattr(reconciling, "RECONCILIATION_REST_MS_MAX", 7)
    for number in range(3):
        hands.open(f"a{number}", entries=1)
    rested: list[int] = []
    walk_act = hands.ledger._act

    def watched(going: Any) -> Any:
        return walk_act(going) if isinstance(going, Act) else rested.append(going.ms)

    hands.ledger._act = watched  # type: ignore[method-assign]
    assert hands.ledger.reconcile(rest=rest).accounts == 4
    assert rested == expected


def test_a_rest_is_as_long_as_it_is_told() -> None:
    """So many times as long as what was done took, and no longer than it may."""
    assert Rest(2.5, ms_max=80).after(1 / 64) == Pause(39)
    assert Rest(100, ms_max=80).after(1 / 64) == Pause(80)
    assert Rest(0, ms_max=80).after(1 / 64) == Pause(0)


class Killed(BaseException):
    """A reconciler that is no more."""


def test_a_reconciler_killed_anywhere_leaves_nothing_to_mend(hands: Hands) -> None:
    """Killed before each of its transactions in turn: the next round finds all drift, each once."""
    hands.open("a")
    hands.open("hot", "hot")
    hands.hold("a", 10)
    hands.base("a", "amount = amount + 5")
    acts = 0
    walk_act = hands.ledger._act
    killed = True
    while killed:
        left = acts

        def dying(going: Any) -> Any:
            nonlocal left
            if isinstance(going, Act):
                if left == 0:
                    raise Killed
                left -= 1
            return walk_act(going)

        hands.ledger._act = dying  # type: ignore[method-assign]
        try:
            hands.ledger.reconcile()
            killed = False
        except Killed:
            acts += 1
        finally:
            hands.ledger._act = walk_act  # type: ignore[method-assign]
    assert acts > 8
    assert hands.found() == {("a", "balance", 300, 305)}
    assert len(hands.ledger.incidents(open=False)) == 1


@pytest.mark.case("C072")
def test_what_only_one_look_sees_is_no_drift(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the sum that a round goes on from is wrong, the second look reads all of history, and sets it right."""
    hands.open("a")
    hands.open("hot", "hot")
    hands.found()
    hands.raw("UPDATE {s}.reconciled SET history_amount = history_amount + 1, id_floor = 0 WHERE history_amount > 0")
    for account in ("a", "hot"):
        hands.credit(account, 1)
    assert hands.found() == set()
    for account in ("a", "hot"):
        hands.credit(account, 1)
    monkeypatch.setattr(reconciling, "_confirm", None)
    assert hands.found() == set()


# SQLite has one writer at a time: no id is ever late.
@pytest.mark.parametrize("hands", [store for store in STORES if store != "sqlite"], indirect=True)
@pytest.mark.case("C062")
def test_a_lower_id_that_commits_late_is_counted(hands: Hands) -> None:
    """While a transaction is open, nothing from its id on is taken for settled; whatever commits late is no drift."""
    ledger = hands.ledger
    hands.open("hot", "hot")
    ledger.consolidate()
    url = hands.url
    late = connected(url)
    with transaction(late):
        ledger.within(late).post(key="late", kind="fund", debit="world", credit="hot", amount=1, currency="BRL")
        for _ in range(3):
            hands.credit("hot", 10)
            ledger.consolidate()
            assert hands.found() == set()
        settled = hands.raw.one("SELECT settled_id FROM {s}.reconciliation")
    late.close()
    assert settled < ledger.transfer("late").id  # type: ignore[union-attr]
    for _ in range(3):
        assert hands.found() == set()
        ledger.consolidate()
    assert hands.raw.one("SELECT settled_id FROM {s}.reconciliation") >= ledger.transfer("late").id  # type: ignore[union-attr]
    rounds_until_quiet(ledger)


def test_what_is_retired_is_carried_over(server_url: str) -> None:
    """Partitions go before and after their accounts were compared, in any order; no account differs, all are compared."""
    with temporary_ledger(server_url) as ledger, closing(Hands(ledger, "postgres", server_url)) as hands:
        for part in ledger.partitions():
            hands.raw(f"DROP TABLE {{s}}.{part.name}")
        ledger._run(ledger._operations.keep_partitions(transfers=10, ahead=5))
        for account, keeping in (("d", "direct"), ("h", "hot"), ("s", "summed")):
            hands.open(account, keeping, entries=2)
        for number in range(40):
            hands.credit("dhs"[number % 3], 3)
        ledger.consolidate()
        parts = [part.name for part in ledger.partitions()]
        ledger.retire_partition(parts[1])
        assert hands.found(full=True) == set()
        ledger.retire_partition(parts[0])
        assert hands.found() == set()
        hands.credit("d", 1)
        assert hands.found() == set()
        ledger.retire_partition(parts[2])
        hands.credit("h", 1)
        assert hands.found() == set()
        assert hands.found(full=True) == set()
        # Kept otherwise, the sums go other ways.
        ledger.keep("s", "BRL", "direct")
        ledger.keep("d", "BRL", "hot")
        ledger.keep("h", "BRL", "summed")
        for account in "dhs":
            hands.credit(account, 1)
        assert hands.found() == set()
        taken = hands.raw("SELECT account_id, amount FROM {s}.carried_over ORDER BY 1")
        assert len(taken) == 4
        # Partitions that were retired before there was a table of what they took: the migration works it out.
        hands.raw("DELETE FROM {s}.carried_over")
        script = next(each.script for each in migrations("postgres", hands.raw.schema) if each.name == "reconciliation")
        hands.raw(next(text for text in texts_of(uncommented(script)) if ".carried_over (account_id, amount, " in text))
        assert hands.raw("SELECT account_id, amount FROM {s}.carried_over ORDER BY 1") == taken
        hands.base("h", "amount = amount + 1")
        assert {(account, rule) for account, rule, _, _ in hands.found()} == {("h", "balance")}


def uncommented(script: str) -> str:
    """The script without its comments."""
    return "\n".join(line for line in script.splitlines() if not line.startswith("--"))


def test_where_nothing_was_retired_the_migration_adds_up_nothing(server_url: str) -> None:
    """Drift from before isn't taken for what partitions took: the first round finds it."""
    with temporary_ledger(server_url) as ledger, closing(Hands(ledger, "postgres", server_url)) as hands:
        hands.open("a")
        hands.base("a", "amount = amount + 5")
        script = next(each.script for each in migrations("postgres", hands.raw.schema) if each.name == "reconciliation")
        hands.raw(next(text for text in texts_of(uncommented(script)) if ".carried_over (account_id, amount, " in text))
        assert hands.found() == {("a", "balance", 300, 305)}


def test_two_reconcilers_at_once_open_an_incident_once(hands: Hands) -> None:
    """The one that comes second takes the first one's incident for its own."""
    hands.open("a")
    hands.base("a", "amount = amount + 5")
    other = lastro.Ledger(hands.ledger._engine, Operations(hands.ledger._operations.ledger))
    walk_act = hands.ledger._act

    def overtaken(going: Any) -> Any:
        if isinstance(going, Act) and getattr(going.make, "func", None) is reconciling.note_drift:
            hands.ledger._act = walk_act  # type: ignore[method-assign]
            assert other.reconcile().opened == 1
        return walk_act(going)

    hands.ledger._act = overtaken  # type: ignore[method-assign]
    done = hands.ledger.reconcile()
    assert (done.drifted, done.opened, done.open_incidents) == (1, 0, 1)


@pytest.mark.case("S03")
def test_an_account_is_found_by_the_indexes(server_url: str) -> None:
    """Where every transfer comes from the world, no round reads all of the history for each account that moved."""
    accounts = 2_000
    with temporary_ledger(server_url) as ledger, closing(Hands(ledger, "postgres", server_url)) as hands:
        hands.open("a", entries=1)
        numbers = f"FROM generate_series(1, {accounts}) AS n"
        hands.raw(
            f"INSERT INTO {{s}}.account (id, name, currency, opened_at) SELECT n, 'n' || n, 'BRL', now() {numbers}"
        )
        hands.raw(
            f"INSERT INTO {{s}}.base (account_id, keeping, changed_at, amount) SELECT n, 'direct', now(), 2 {numbers}"
        )
        hands.raw(
            "INSERT INTO {s}.transfer (id, debit_id, credit_id, amount, occurred_at, recorded_at, key, kind) "
            "SELECT nextval('{s}.transfer_id'), account.id, n, 1, now(), now(), gen_random_uuid(), 'fund' "
            f"{numbers}, generate_series(1, 2), {{s}}.account WHERE account.name = 'world'"
        )
        hands.raw("VACUUM ANALYZE {s}.reconciled, {s}.transfer, {s}.base")
        assert ledger.reconcile().accounts == accounts + 2
        # Something is new, and so often that the driver prepares the statements, and the server keeps a plan.
        for _ in range(12):
            hands.credit("a", 1)
            assert ledger.reconcile().skipped >= accounts
        # The sessions tell what they read as they end.
        ledger.close()
        read = (
            "SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables WHERE schemaname = '{s}' AND relname ~ %s"
        )
        assert hands.raw.one(read, "^(transfer_p|reconciled|base$)") <= 10 * accounts
