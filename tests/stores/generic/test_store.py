"""What only the generic engine has to answer for: its URLs, its migrations, its awaited twins, and what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

import lastro
from lastro import Ledger
from lastro.engine.generic import GenericEngine
from lastro.engine.generic_errors import translated
from tests.support.generic import forced, forced_async, name_of, sqlalchemy_url, temporary
from tests.support.money import fund, posted, transfer
from tests.support.sessions import together


@pytest.mark.req("1.4")
def test_a_url_of_none_of_our_stores_is_sqlalchemys(firebird_url: str) -> None:
    """`connect` asks SQLAlchemy for what it doesn't know itself."""
    with lastro.connect(firebird_url) as ledger:
        assert isinstance(ledger._engine, GenericEngine)
        with pytest.raises(lastro.SchemaOutdated, match="there is no ledger"):
            ledger.account("a", "BRL")


def test_what_cannot_be_said_is_refused_before_anything_is_written(ledger: Ledger) -> None:
    """No account is kept hot, none that is kept summed is closed or kept otherwise, and there are no partitions."""
    fund(ledger, "direct", 5)
    fund(ledger, "summed", 5, "summed")
    for call in (
        lambda: ledger.open_account("hot", "BRL", keeping="hot"),
        lambda: ledger.keep("direct", "BRL", "hot"),
        lambda: ledger.keep("summed", "BRL", "direct"),
        lambda: ledger.close_account("summed", "BRL"),
        ledger.partitions,
        lambda: ledger.register_kinds(lastro.PREPAID),
        lambda: ledger.close_period(until=datetime(2025, 11, 1, tzinfo=UTC)),
        lambda: ledger.reopen_period(key="r", since=datetime(2025, 11, 1, tzinfo=UTC), reason="r", actor="a"),
        ledger.period_closings,
    ):
        with pytest.raises(lastro.InvalidInput, match="this database can't do that"):
            call()
    assert [account.name for account in ledger.accounts()] == ["direct", "summed", "world"]
    assert [ledger.account(name, "BRL").keeping for name in ("direct", "summed")] == ["direct", "summed"]
    assert ledger.keep("direct", "BRL", "summed").keeping == "summed"
    assert not ledger.post(**transfer("k", "direct", "summed", 5)).replayed
    assert (posted(ledger, "direct"), posted(ledger, "summed")) == (0, 10)
    assert ledger.consolidate().rows == 0
    assert ledger.kinds() == []
    dated = {"occurred_at": datetime(2025, 1, 1, tzinfo=UTC)}
    assert ledger.post(**transfer("dated", "summed", "direct", 5), **dated).transfer.kind == "test"
    assert ledger.reverse("dated", "undo").transfer.kind == "reversal"


def test_a_migration_that_broke_off_goes_on(ledger: Ledger, application: Engine) -> None:
    """Each table is made by itself; what is there is left, what isn't is made, and only then the migration is noted."""
    name = name_of(ledger)
    fund(ledger, "a", 5)
    with application.begin() as connection:
        connection.execute(text(f"DROP VIEW {name}_movement"))
        connection.execute(text(f"DELETE FROM {name}_version"))
    url = application.url.render_as_string(hide_password=False)
    with forced(url, name) as anew, pytest.raises(lastro.SchemaOutdated):
        anew.balance("a", "BRL")
    assert ledger.migrate() == ["0001_core"]
    assert posted(ledger, "a") == 5
    with application.begin() as connection:
        assert connection.execute(text(f"SELECT count(*) FROM {name}_movement")).scalar() == 2


def test_two_migrators_at_once_make_one_ledger(url: str) -> None:
    """Whoever comes second finds everything there, or is told to call again."""
    with temporary(url) as throw_away:
        name = f"{name_of(throw_away)}x"

        def migrate() -> list[str]:
            with forced(url, name) as ledger:
                return ledger.migrate()

        outcomes = together([migrate] * 2)
        assert all(isinstance(outcome, list | lastro.LastroError) for outcome in outcomes), outcomes
        with forced(url, name) as ledger:
            ledger.migrate()
            fund(ledger, "a", 5)
            assert posted(ledger, "a") == 5


@pytest.mark.parametrize("kind", ["connection", "session"])
async def test_a_driver_for_asyncio_is_awaited(server_url: str, kind: str) -> None:
    """Own connections and the caller's, where SQLAlchemy's driver has a twin for asyncio."""
    with temporary(server_url) as blocking:
        fund(blocking, "a", 50)
        async with forced_async(server_url, name_of(blocking)) as ledger:
            assert (await ledger.post(**transfer("own", "a", "world", 10))).transfer.debit_after == 40
            engine = create_async_engine(sqlalchemy_url(server_url))
            handle = engine.connect() if kind == "connection" else AsyncSession(engine)
            async with handle as caller:
                held = ledger.within(caller)
                await held.post(**transfer("undone", "a", "world", 10))
                await caller.rollback()
                await held.post(**transfer("kept", "a", "world", 10))
                with pytest.raises(lastro.InsufficientFunds):
                    await held.post(**transfer("too much", "a", "world", 31))
                await caller.commit()
            assert [entry.key for entry in await ledger.entries("a", "BRL")][2:] == ["own", "kept"]
            with (
                create_engine("sqlite://").connect() as unawaited,
                pytest.raises(lastro.InvalidInput, match="this one is blocking"),
            ):
                await ledger.within(unawaited).account("a", "BRL")
            await engine.dispose()


def test_a_handle_of_another_database_is_refused(ledger: Ledger, application: Engine) -> None:
    """So is one in autocommit mode, and one that is no transaction at all."""
    elsewhere = create_engine("sqlite://")
    with elsewhere.connect() as connection, pytest.raises(lastro.InvalidInput, match="speaks to sqlite"):
        ledger.within(connection).account("a", "BRL")
    if application.dialect.name == "postgresql":  # SQLAlchemy's dialect for Firebird can't set it
        with (
            application.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
            pytest.raises(lastro.NotInTransaction),
        ):
            ledger.within(connection).account("a", "BRL")
    with pytest.raises(lastro.InvalidInput, match="within"):
        ledger.within(application)
    elsewhere.dispose()


def test_a_batch_longer_than_a_list_may_be(ledger: Ledger) -> None:
    """Keys are looked up in pieces, and every one is found again."""
    fund(ledger, "a", 2_000)
    batch = [transfer(f"k{number}", "a", "world", 1) for number in range(1_100)]
    ids = [outcome.transfer.id for outcome in ledger.post_many(batch)]
    assert ids == sorted(set(ids))
    assert all(outcome.replayed for outcome in ledger.post_many(batch))
    assert posted(ledger, "a") == 900


def test_text_that_collations_take_for_equal(ledger: Ledger) -> None:
    """Keys and names are found by their digests: case, accents and blanks at the end tell them apart everywhere."""
    for number, name in enumerate(("ada", "Ada", "ada ", "adá")):
        fund(ledger, name, 0, "summed")
        assert not ledger.post(**transfer(f"key{' ' * number}", "world", name, number + 1)).replayed
    assert [posted(ledger, name) for name in ("ada", "Ada", "ada ", "adá")] == [1, 2, 3, 4]
    seen: list[str] = []
    while page := ledger.accounts(after=(seen[-1], "BRL") if seen else None, limit=1):
        seen.append(page[0].name)
    assert sorted(seen) == sorted(["ada", "Ada", "ada ", "adá", "world"])


def test_errors_that_sqlalchemy_raises_itself() -> None:
    """They become errors of this library as well."""
    from sqlalchemy.exc import InvalidRequestError, PendingRollbackError
    from sqlalchemy.exc import TimeoutError as PoolTimeoutError

    assert type(translated(PoolTimeoutError("x"), ambiguous=False)) is lastro.ConnectionLost
    assert type(translated(PendingRollbackError("x"), ambiguous=False)) is lastro.NotInTransaction
    assert type(translated(InvalidRequestError("x"), ambiguous=False)) is lastro.InvalidInput
    assert type(translated(OverflowError("x"), ambiguous=False)) is lastro.AmountOutOfRange


def test_the_name_of_a_ledger_is_its_tables_prefix(url: str) -> None:
    """Two ledgers in one database don't see each other."""
    with temporary(url) as one, temporary(url) as other:
        fund(one, "a", 5)
        assert other.accounts() == []
        assert name_of(one) != name_of(other)
