"""The faults of the hot account's article: its own statements fail as recorded, and Lastro doesn't."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from lastro import Ledger, TransferConflict
from lastro.testing import assert_balanced
from tests.support.money import KEEPINGS, fold_within, fund, posted, transfer
from tests.support.sessions import Background, Observer, Sessions, pid_of

BURST = 2_000
BATCH = 5
IDLE_ROUNDS = 8

# The article's tables and its consolidation, as it prints them.
TABLES = """
CREATE TABLE conta_saldo (conta_id bigint PRIMARY KEY, saldo bigint NOT NULL);
CREATE TABLE lancamento (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, conta_id bigint, valor bigint, referencia text UNIQUE
);
CREATE TABLE pendente (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, conta_id bigint, valor bigint);
"""
CONSOLIDATE = """
WITH lote AS (
    DELETE FROM pendente WHERE id IN (
        SELECT id FROM pendente WHERE conta_id = 7 ORDER BY id LIMIT {limit} FOR UPDATE SKIP LOCKED
    ) RETURNING valor
), soma AS (SELECT count(*) AS linhas, coalesce(sum(valor), 0) AS total FROM lote)
UPDATE conta_saldo s SET saldo = s.saldo + soma.total FROM soma WHERE s.conta_id = 7 AND soma.linhas > 0
RETURNING soma.linhas
"""


@pytest.fixture
def article(connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A session with the article's own tables."""
    connection.execute(TABLES)
    connection.commit()
    return connection


def one(connection: psycopg.Connection[Any], query: str, *params: object) -> Any:
    """Return the one value of a query."""
    row = connection.execute(query.encode(), params or None).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.case("S01")
def test_the_article_loses_what_has_no_balance_row(article: psycopg.Connection[Any]) -> None:
    """Control: without a balance row the article's consolidation deletes the entries and adds them nowhere."""
    article.execute("INSERT INTO pendente (conta_id, valor) VALUES (7, 500)")
    article.execute(CONSOLIDATE.format(limit=5_000).encode())
    article.execute("INSERT INTO conta_saldo VALUES (7, 0)")
    assert one(article, "SELECT count(*) FROM pendente") == 0
    assert one(article, "SELECT saldo FROM conta_saldo") == 0, "500 are gone"


@pytest.mark.case("S01")
def test_nothing_is_taken_from_an_account_without_a_base_row(
    ledger: Ledger, connection: psycopg.Connection[Any]
) -> None:
    """A tail row of an account that has no base row stays where it is; and no base row can be deleted."""
    fund(ledger, "platform", 100, "hot")
    connection.execute("INSERT INTO tail VALUES (7, 1, 500)")
    connection.commit()
    ledger.consolidate()
    assert one(connection, "SELECT sum(amount) FROM tail") == 500
    assert posted(ledger, "platform") == 100
    with pytest.raises(psycopg.errors.RestrictViolation):
        connection.execute("DELETE FROM base")


@pytest.mark.case("S02")
@pytest.mark.parametrize("keeping", KEEPINGS)
def test_a_retried_debit_and_a_reused_reference(ledger: Ledger, keeping: Any) -> None:
    """The retry of a debit that emptied the account is replayed; the same key for 900 is a conflict, not a silence."""
    fund(ledger, "platform", 100, keeping)
    wanted = transfer("repasse:9", "platform", "world", 100)
    assert not ledger.post(**wanted).replayed
    assert ledger.post(**wanted).replayed
    ledger.post(**transfer("more", "world", "platform", 1_000))
    with pytest.raises(TransferConflict) as caught:
        ledger.post(**(wanted | {"amount": 900}))
    assert caught.value.fields == {"amount": (100, 900)}
    assert posted(ledger, "platform") == 1_000


@pytest.mark.case("S03")
@pytest.mark.case("C061")
def test_the_article_deletes_more_than_its_limit(article: psycopg.Connection[Any]) -> None:
    """Control: with statistics from a nearly empty table the article's LIMIT bounds nothing."""
    article.execute("INSERT INTO conta_saldo VALUES (7, 0)")
    article.execute("INSERT INTO pendente (conta_id, valor) VALUES (7, 1)")
    article.execute("ANALYZE pendente")
    article.execute("INSERT INTO pendente (conta_id, valor) SELECT 7, 1 FROM generate_series(1, 99)")
    assert one(article, CONSOLIDATE.format(limit=1)) > 1


@pytest.mark.req("0.4")
@pytest.mark.case("S03")
@pytest.mark.case("C061")
@pytest.mark.parametrize("plans", ["auto", "force_generic_plan"])
def test_a_batch_is_bounded_after_idling(
    ledger: Ledger, session: Sessions, connection: psycopg.Connection[Any], plans: str
) -> None:
    """A consolidator that idled on a nearly empty tail, with a prepared plan and old statistics, obeys its bound."""
    fund(ledger, "platform", 100, "hot")
    account_id = one(connection, "SELECT id FROM account WHERE name = 'platform'")
    consolidator = session(autocommit=True, prepare_threshold=2)
    consolidator.execute(f"SET plan_cache_mode = {plans}".encode())
    held = ledger.within(consolidator)
    connection.execute("ANALYZE tail")
    connection.commit()
    for _ in range(IDLE_ROUNDS):
        with consolidator.transaction():
            fold_within(held, account_id, rows_max=BATCH)
    assert one(consolidator, "SELECT count(*) FROM pg_prepared_statements WHERE statement ~ 'SKIP LOCKED'") == 1
    ledger.post_many([transfer("first", "world", "platform", 1)])
    burst = "INSERT INTO tail SELECT %s, 1000000 + n, 1 FROM generate_series(1, %s) n"
    connection.execute(burst.encode(), [account_id, BURST])
    connection.commit()
    with consolidator.transaction():
        assert fold_within(held, account_id, rows_max=BATCH) == BATCH
    assert one(connection, "SELECT count(*) FROM tail") == BURST + 1 - BATCH


@pytest.mark.case("S10")
@pytest.mark.case("C004")
def test_the_article_deadlocks_with_foreign_keys(
    article: psycopg.Connection[Any], session: Sessions, observer: Observer, ledger_name: str
) -> None:
    """Control: FOR UPDATE against the KEY SHARE of two foreign-key checks is a deadlock."""
    article.execute("INSERT INTO conta_saldo VALUES (7, 0)")
    article.execute("CREATE TABLE nota (conta_id bigint REFERENCES conta_saldo)")
    article.commit()
    first, second = (session(options=f"-c search_path={ledger_name} -c deadlock_timeout=100ms") for _ in range(2))
    for caller in (first, second):
        caller.execute("INSERT INTO nota VALUES (7)")
    lock = "SELECT 1 FROM conta_saldo WHERE conta_id = 7 FOR UPDATE"
    going = Background(lambda: first.execute(lock))
    observer.until_blocked(pid_of(first), by=pid_of(second))
    with pytest.raises(psycopg.errors.DeadlockDetected):  # noqa: PT012  (either of the two is the victim)
        second.execute(lock)
        second.commit()
        going.result()
    second.rollback()


@pytest.mark.case("S07")
def test_the_articles_reference_is_an_error_in_repeatable_read(
    article: psycopg.Connection[Any], session: Sessions, ledger_name: str
) -> None:
    """Control: ON CONFLICT DO NOTHING raises 40001 for a key from after the snapshot; Lastro names it (see races)."""
    caller = session(options=f"-c search_path={ledger_name}")
    caller.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    caller.execute("SELECT 1")
    insert = "INSERT INTO lancamento (conta_id, valor, referencia) VALUES (7, 1, 'r') ON CONFLICT DO NOTHING"
    article.execute(insert)
    article.commit()
    with pytest.raises(psycopg.errors.SerializationFailure):
        caller.execute(insert)


@pytest.mark.req("0.3")
def test_lock_and_sum_in_one_command_counts_twice(
    article: psycopg.Connection[Any], session: Sessions, observer: Observer, ledger_name: str
) -> None:
    """Canary: a guarded debit in one statement reads 200 for 100 and overdraws; so Lastro reads after the lock."""
    article.execute("INSERT INTO conta_saldo VALUES (7, 0); INSERT INTO pendente (conta_id, valor) VALUES (7, 100)")
    article.commit()
    consolidator, debit = (session(options=f"-c search_path={ledger_name}") for _ in range(2))
    consolidator.execute(CONSOLIDATE.format(limit=5_000).encode())
    guarded = """
    WITH locked AS MATERIALIZED (
        SELECT s.saldo + (SELECT coalesce(sum(valor), 0) FROM pendente WHERE conta_id = 7) AS available
        FROM conta_saldo s WHERE conta_id = 7 FOR UPDATE
    )
    INSERT INTO pendente (conta_id, valor) SELECT 7, -140 FROM locked WHERE available >= 140
    """
    going = Background(lambda: debit.execute(guarded))
    observer.until_blocked(pid_of(debit), by=pid_of(consolidator))
    consolidator.commit()
    going.result()
    debit.commit()
    assert one(article, "SELECT saldo + (SELECT sum(valor) FROM pendente) FROM conta_saldo") == -40


@pytest.mark.req("0.4")
def test_sum_and_delete_in_two_commands_loses(
    article: psycopg.Connection[Any], session: Sessions, ledger_name: str
) -> None:
    """Canary: an entry that commits between the sum and the delete is lost; so Lastro sums what it deletes."""
    article.execute("INSERT INTO conta_saldo VALUES (7, 0); INSERT INTO pendente (conta_id, valor) VALUES (7, 100)")
    article.commit()
    other = session(options=f"-c search_path={ledger_name}")
    total = one(article, "SELECT sum(valor) FROM pendente")
    other.execute("INSERT INTO pendente (conta_id, valor) VALUES (7, 7)")
    other.commit()
    article.execute("DELETE FROM pendente")
    article.execute("UPDATE conta_saldo SET saldo = saldo + %s", [total])
    article.commit()
    assert one(article, "SELECT saldo + (SELECT coalesce(sum(valor), 0) FROM pendente) FROM conta_saldo") == 100


@pytest.mark.case("S11")
def test_the_latest_row_is_no_lock(
    article: psycopg.Connection[Any], session: Sessions, observer: Observer, ledger_name: str
) -> None:
    """Control: who locks an account's latest row reads an old balance after the wait: 70 where 120 is right."""
    article.execute("CREATE TABLE linha (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, saldo bigint)")
    article.execute("INSERT INTO linha (saldo) VALUES (100)")
    article.commit()
    credit, debit = (session(options=f"-c search_path={ledger_name}") for _ in range(2))
    latest = "SELECT saldo FROM linha ORDER BY id DESC LIMIT 1 FOR UPDATE"
    assert one(credit, latest) == 100
    going = Background(lambda: one(debit, latest))
    observer.until_blocked(pid_of(debit), by=pid_of(credit))
    credit.execute("INSERT INTO linha (saldo) VALUES (150)")
    credit.commit()
    debit.execute("INSERT INTO linha (saldo) VALUES (%s)", [going.result() - 30])
    debit.commit()
    assert one(article, "SELECT saldo FROM linha ORDER BY id DESC LIMIT 1") == 70


@pytest.mark.case("S11")
@pytest.mark.req("2.4")
def test_balances_on_the_rows_follow_from_one_another(ledger: Ledger, session: Sessions, observer: Observer) -> None:
    """The one that waited for the lock starts from what the one before it left: 100, 150, 120."""
    fund(ledger, "shop", 100)
    credit, debit = session(), session()
    ledger.within(credit).post(**transfer("in", "world", "shop", 50))
    going = Background(lambda: ledger.within(debit).post(**transfer("out", "shop", "world", 30)))
    observer.until_blocked(pid_of(debit), by=pid_of(credit))
    credit.commit()
    taken = going.result().transfer
    debit.commit()
    assert (taken.debit_before, taken.debit_after) == (150, 120)
    assert posted(ledger, "shop") == 120
    assert_balanced(ledger)
