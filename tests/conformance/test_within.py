"""Inside the caller's own transaction: it stays the caller's, whatever happens to the posting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

import lastro
from lastro import Ledger
from lastro.model.account import Keeping
from tests.conformance.adapters import Caller, Loop
from tests.conformance.conftest import Raw

pytestmark = pytest.mark.usefixtures("balanced")


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 5 BRL from the world to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 5, "currency": "BRL"} | changed


@pytest.fixture
def books(callers_book: Ledger) -> Ledger:
    """Accounts `a` (direct), `hot`, and `summed`, each with a floor of 0."""
    callers_book.open_account("a", "BRL")
    callers_book.open_account("hot", "BRL", keeping="hot")
    callers_book.open_account("summed", "BRL", keeping="summed")
    return callers_book


@pytest.mark.req("0.1")
def test_the_posting_is_stored_with_the_callers_work(books: Ledger, caller: Caller, raw: Raw) -> None:
    """Until the caller commits nobody else sees either; then everybody sees both."""
    caller.order(1)
    held = books.within(caller.handle)
    held.post(**wanted(credit="hot"))
    held.post_many([wanted(key="2"), wanted(key="3", debit="a", credit="summed")])
    assert (books.transfer("k"), raw("SELECT id FROM {s}.orders")) == (None, [])
    assert held.balance("hot", "BRL").posted == 5
    caller.commit()
    assert books.balance("hot", "BRL").posted == 5
    assert books.balance("summed", "BRL").posted == 5
    assert raw("SELECT id FROM {s}.orders") == [(1,)]


def test_every_operation_is_the_callers_to_undo(books: Ledger, caller: Caller, raw: Raw) -> None:
    """All that a held ledger can do is undone by the caller's rollback."""
    books.post(**wanted(key="before"))
    before = raw.written()
    held = books.within(caller.handle)
    held.open_account("new", "USD", keeping="hot", floor=None)
    held.post(**wanted(key="1", credit="new", currency="USD"))
    held.post_many([wanted(key="2", credit="hot"), wanted(key="3", debit="hot", credit="a")])
    assert held.reverse("before", "undo").transfer.amount == 5
    held.bump("orders", 3)
    assert held.count("orders") == 3
    assert held.account("new", "USD").floor is None
    assert [account.name for account in held.accounts(prefix="new")] == ["new"]
    assert [entry.key for entry in held.entries("a", "BRL")] == ["before", "3", "undo"]
    assert held.transfer("undo") is not None
    caller.rollback()
    assert raw.written() == before
    with pytest.raises(lastro.UnknownAccount):
        books.post(**wanted(key="1", credit="new", currency="USD"))


@pytest.mark.req("2.6")
def test_a_refusal_leaves_the_transaction_usable(books: Ledger, caller: Caller, raw: Raw) -> None:
    """Each refusal, in each of the ways to post, undoes only itself: the caller goes on and commits its other work."""
    books.post(**wanted(key="taken"))
    before = raw.written()
    held = books.within(caller.handle)
    caller.order(1)
    refused: list[tuple[type[lastro.Refusal], dict[str, Any]]] = [
        (lastro.InsufficientFunds, wanted(debit="hot", credit="a", amount=6)),
        (lastro.InsufficientFunds, wanted(debit="summed", credit="hot")),
        (lastro.InsufficientFunds, wanted(debit="a", credit="hot", amount=6)),
        (lastro.TransferConflict, wanted(key="taken", amount=6)),
        (lastro.UnknownAccount, wanted(credit="nobody")),
        (lastro.CurrencyMismatch, wanted(currency="USD")),
        (lastro.InvalidInput, wanted(amount=0)),
    ]
    for number, (refusal, transfer) in enumerate(refused, 2):
        with pytest.raises(refusal):
            held.post(**transfer)
        with pytest.raises(refusal):
            held.post_many([wanted(key="good", credit="hot"), transfer])
        caller.order(number)
    with pytest.raises(lastro.UnknownTransfer):
        held.reverse("nothing", "undo")
    with pytest.raises(lastro.AccountConflict):
        held.open_account("hot", "BRL")
    caller.commit()
    assert raw.written() == before | {"orders": 1 + len(refused)}


@pytest.mark.req("2.6")
@pytest.mark.stores("postgres")
def test_a_duplicate_undoes_only_itself(books: Ledger, caller: Caller, raw: Raw) -> None:
    """A replay inside the caller's transaction keeps its writes and the row lock that it holds on its job."""
    first = books.post(**wanted(key="job:1:period:1")).transfer
    raw("INSERT INTO {s}.orders VALUES (1)")
    caller.execute("SELECT id FROM {s}.orders WHERE id = 1 FOR UPDATE")
    caller.order(2)
    held = books.within(caller.handle)
    assert held.post(**wanted(key="job:1:period:1")) == lastro.Posted(first, replayed=True)
    assert held.post_many([wanted(key="job:1:period:1")]) == [lastro.Posted(first, replayed=True)]
    with pytest.raises(psycopg.errors.LockNotAvailable):
        raw("SELECT id FROM {s}.orders WHERE id = 1 FOR UPDATE NOWAIT")
    caller.commit()
    assert raw("SELECT id FROM {s}.orders ORDER BY id") == [(1,), (2,)]
    assert books.balance("a", "BRL").posted == 5


@pytest.mark.parametrize("undo", [True, False], ids=["undone", "kept"])
def test_a_savepoint_is_the_callers(books: Ledger, caller: Caller, raw: Raw, undo: bool) -> None:
    """Postings inside a savepoint of the caller's go with it; the same key can be posted again afterwards."""
    held = books.within(caller.handle)
    held.post(**wanted(key="outside"))

    def inside() -> None:
        caller.order(1)
        held.post(**wanted(key="inside", credit="hot"))
        held.post_many([wanted(key="inside 2")])
        with pytest.raises(lastro.InsufficientFunds):
            held.post(**wanted(key="inside 3", debit="summed"))

    caller.in_savepoint(inside, undo=undo)
    assert held.post(**wanted(key="inside", credit="hot")).replayed is not undo
    caller.commit()
    assert books.balance("a", "BRL").posted == (5 if undo else 10)
    assert books.balance("hot", "BRL").posted == 5
    assert raw.one("SELECT count(*) FROM {s}.orders") == (0 if undo else 1)


def test_a_transaction_begun_by_the_posting_is_committed(books: Ledger, caller: Caller, raw: Raw) -> None:
    """Where the posting is the first thing in the transaction, the caller's commit() commits it all the same."""
    books.within(caller.handle).post(**wanted())
    caller.commit()
    assert raw.one("SELECT count(*) FROM {s}.transfer") == 1
    # And the next transaction on the same handle, by the same held ledger or another.
    held = books.within(caller.handle)
    held.post(**wanted(key="2"))
    caller.rollback()
    held.post(**wanted(key="3"))
    caller.commit()
    assert [entry.key for entry in books.entries("a", "BRL")] == ["k", "3"]


@pytest.mark.stores("postgres")
def test_a_failed_transaction_is_refused(books: Ledger, caller: Caller, raw: Raw) -> None:
    """In a transaction that can only be rolled back nothing is posted, and the message says what to do."""
    caller.order(1)
    with pytest.raises(Exception, match="division by zero"):
        caller.execute("SELECT 1 / 0")
    held = books.within(caller.handle)
    for call in (lambda: held.post(**wanted()), lambda: held.post_many([wanted()]), lambda: held.balance("a", "BRL")):
        with pytest.raises(lastro.NotInTransaction, match="roll back"):
            call()
    caller.rollback()
    held.post(**wanted())
    caller.commit()
    assert (raw.one("SELECT count(*) FROM {s}.transfer"), raw("SELECT id FROM {s}.orders")) == (1, [])


@pytest.mark.stores("postgres")
@pytest.mark.parametrize("caller", ["psycopg", "async psycopg"], indirect=True)
def test_a_closed_connection_is_a_fault(books: Ledger, caller: Caller) -> None:
    """A connection that is gone is ConnectionLost, with nothing stored."""
    caller.close()
    with pytest.raises(lastro.ConnectionLost, match="closed") as caught:
        books.within(caller.handle).post(**wanted())
    assert caught.value.committed == "no"


@pytest.mark.stores("postgres")
def test_the_callers_settings_stay(books: Ledger, caller: Caller) -> None:
    """lock_timeout is the caller's again after a posting, a refusal and a batch; a stricter one is kept meanwhile."""
    held = books.within(caller.handle)
    for setting in ("0", "123ms", "1min"):
        caller.execute(f"SET LOCAL lock_timeout = '{setting}'")
        held.post(**wanted(key=f"in {setting}", credit="hot"))
        held.post(**wanted(key=f"direct {setting}"))
        held.post(**wanted(key=f"locked {setting}", debit="hot", credit="a"))
        held.post_many([wanted(key=f"batch {setting}", debit="a", credit="hot")])
        with pytest.raises(lastro.InsufficientFunds):
            held.post(**wanted(key="r", debit="summed"))
        with pytest.raises(lastro.InsufficientFunds):
            held.post_many([wanted(key="r", debit="summed")])
        held.reverse(f"in {setting}", f"undo {setting}")
        assert caller.execute("SHOW lock_timeout") == [(setting,)]


@pytest.mark.stores("postgres")
def test_the_callers_session_does_not_matter(books: Ledger, caller: Caller) -> None:
    """Time zone, date style, search path and float digits of the caller's session change nothing of what is read."""
    caller.execute("SET LOCAL timezone = 'America/Sao_Paulo'")
    caller.execute("SET LOCAL datestyle = 'ISO, DMY'")
    caller.execute("SET LOCAL search_path = pg_catalog")
    held = books.within(caller.handle)
    posted = [held.post(**wanted()), *held.post_many([wanted(key="2"), wanted(key="3", debit="a", credit="hot")])]
    assert [held.transfer(transfer.key) for transfer, _ in posted] == [transfer for transfer, _ in posted]
    caller.commit()
    assert [books.transfer(transfer.key) for transfer, _ in posted] == [transfer for transfer, _ in posted]


@pytest.mark.case("S07")
@pytest.mark.stores("postgres")
def test_in_repeatable_read_a_key_met_is_a_fault(books: Ledger, caller: Caller, raw: Raw) -> None:
    """A key committed after the caller's snapshot can't be read in it: SerializationLost, never "insufficient"."""
    caller.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    assert caller.execute("SELECT count(*) FROM {s}.orders") == [(0,)]
    books.post(**wanted(credit="hot"))
    with pytest.raises(lastro.SerializationLost, match="retry the whole transaction"):
        books.within(caller.handle).post(**wanted(credit="hot"))
    caller.rollback()
    assert books.within(caller.handle).post(**wanted(credit="hot")).replayed
    caller.commit()


def test_a_rolled_back_account_is_not_believed_in(books: Ledger, caller: Caller, reopen: Callable[..., Ledger]) -> None:
    """What a process learnt of an account that was rolled back doesn't outlive it, when another opens it anew."""
    held = books.within(caller.handle)
    held.open_account("new", "BRL", keeping="hot", floor=None)
    held.post(**wanted(key="1", credit="new"))
    caller.rollback()
    for call in (
        lambda: books.entries("new", "BRL"),
        lambda: books.balance("new", "BRL"),
        lambda: books.post(**wanted(key="1", credit="new")),
    ):
        with pytest.raises(lastro.UnknownAccount):
            call()
    held.open_account("new", "BRL", keeping="hot", floor=None)
    held.post(**wanted(key="1", credit="new"))
    caller.rollback()
    other = reopen()
    other.open_account("new", "BRL")
    other.post(**wanted(key="1", credit="new"))
    assert [entry.key for entry in books.entries("new", "BRL")] == ["1"]
    held.post(**wanted(key="not kept", credit="hot"))
    caller.rollback()
    assert books.reverse("1", "undo").transfer.debit_before == 5


@pytest.mark.parametrize("keeping", ["hot", "direct"])
def test_a_rolled_back_world_is_not_believed_in(
    books: Ledger, caller: Caller, keeping: Keeping, reopen: Callable[..., Ledger]
) -> None:
    """The world of a new currency that was rolled back is not the other side of what is posted after another opened it."""
    floor = None if keeping == "hot" else 0
    held = books.within(caller.handle)
    held.open_account("new", "EUR", keeping=keeping, floor=floor)
    held.post(**wanted(key="1", credit="new", currency="EUR"))
    caller.rollback()
    other = reopen()
    other.open_account("newer", "EUR", keeping=keeping, floor=floor)
    books.post(**wanted(key="2", credit="newer", currency="EUR"))
    assert [entry.counter_account for entry in other.entries("newer", "EUR")] == ["world"]


# --- what within() does not take ---------------------------------------------------------------------------------------


@pytest.mark.stores("postgres")
def test_autocommit_is_refused(ledger: Ledger, server_url: str, raw: Raw) -> None:
    """Without a transaction each statement would stand alone: refused, until the caller opens one."""
    ledger.open_account("a", "BRL")
    before = raw.written()
    with psycopg.connect(server_url, autocommit=True) as connection:
        with pytest.raises(lastro.NotInTransaction, match="autocommit"):
            ledger.within(connection).post(**wanted())
        assert raw.written() == before
        with connection.transaction():
            ledger.within(connection).post(**wanted())
    engine = create_engine(server_url.replace("postgresql", "postgresql+psycopg", 1), isolation_level="AUTOCOMMIT")
    with engine.connect() as connected, pytest.raises(lastro.NotInTransaction, match="autocommit"):
        ledger.within(connected).post(**wanted(key="2"))
    engine.dispose()
    assert [entry.key for entry in ledger.entries("a", "BRL")] == ["k"]


@pytest.mark.stores("postgres")
async def test_autocommit_is_refused_awaiting(async_ledger: lastro.AsyncLedger, server_url: str) -> None:
    """The same from asyncio."""
    await async_ledger.open_account("a", "BRL")
    async with await psycopg.AsyncConnection.connect(server_url, autocommit=True) as connection:
        with pytest.raises(lastro.NotInTransaction, match="autocommit"):
            await async_ledger.within(connection).post(**wanted())
        async with connection.transaction():
            await async_ledger.within(connection).post(**wanted())
    engine = create_async_engine(
        server_url.replace("postgresql", "postgresql+psycopg", 1), isolation_level="AUTOCOMMIT"
    )
    async with engine.connect() as connected:
        with pytest.raises(lastro.NotInTransaction, match="autocommit"):
            await async_ledger.within(connected).post(**wanted(key="2"))
    await engine.dispose()
    assert [entry.key for entry in await async_ledger.entries("a", "BRL")] == ["k"]


@pytest.mark.stores("postgres")
@pytest.mark.parametrize("caller", ["psycopg", "async psycopg"], indirect=True)
def test_a_pipeline_is_refused(books: Ledger, caller: Caller, raw: Raw, loop: Loop) -> None:
    """In psycopg's pipeline mode rows come later than a posting must read them: refused, and usable after it."""
    held = books.within(caller.handle)

    async def in_pipeline() -> None:
        async with caller.handle.pipeline():
            for call in (held._ledger.post(**wanted()), held._ledger.post_many([wanted()])):  # type: ignore[attr-defined]
                with pytest.raises(lastro.InvalidInput, match="pipeline mode"):
                    await call

    caller.order(1)
    if caller.kind == "async psycopg":
        loop.settle(in_pipeline())
    else:
        with caller.handle.pipeline():
            for call in (lambda: held.post(**wanted()), lambda: held.post_many([wanted()])):
                with pytest.raises(lastro.InvalidInput, match="pipeline mode"):
                    call()
    assert not held.post(**wanted()).replayed
    caller.commit()
    assert raw("SELECT id FROM {s}.orders") == [(1,)]
    assert books.balance("a", "BRL").posted == 5


@pytest.mark.stores("postgres")
def test_another_driver_is_refused(ledger: Ledger) -> None:
    """A SQLAlchemy connection over another driver is refused with the URL that would do."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection, pytest.raises(lastro.InvalidInput, match=r"sqlite3.*postgresql\+psycopg://"):
        ledger.within(connection).post(**wanted())
    with Session(engine) as session, pytest.raises(lastro.InvalidInput, match=r"sqlite3.*postgresql\+psycopg://"):
        ledger.within(session).post(**wanted())
    engine.dispose()


@pytest.mark.stores("postgres")
def test_what_holds_no_transaction_is_refused(ledger: Ledger, server_url: str) -> None:
    """Anything else is refused by its type: a URL, a cursor, an engine, None, the awaited twin."""
    engine = create_engine(server_url.replace("postgresql", "postgresql+psycopg", 1))
    with psycopg.connect(server_url) as connection:
        for handle in (None, object(), server_url, connection.cursor(), engine, text("SELECT 1"), ledger):
            with pytest.raises(lastro.InvalidInput, match=r"within\(\) takes .*Connection") as caught:
                ledger.within(handle).post(**wanted())
            assert type(handle).__qualname__ in str(caught.value)


@pytest.mark.stores("postgres")
async def test_the_other_style_is_refused(ledger: Ledger, async_ledger: lastro.AsyncLedger, server_url: str) -> None:
    """An awaited connection in a blocking ledger and the reverse are told apart, in words."""
    url = server_url.replace("postgresql", "postgresql+psycopg", 1)
    engine, async_engine = create_engine(url), create_async_engine(url)
    async with await psycopg.AsyncConnection.connect(server_url) as awaited, async_engine.connect() as connected:
        for handle in (awaited, connected):
            with pytest.raises(lastro.InvalidInput, match="Async"):
                ledger.within(handle).post(**wanted())
    with psycopg.connect(server_url) as connection, engine.connect() as sqlalchemys, Session(engine) as session:
        for blocking in (connection, sqlalchemys, session):
            with pytest.raises(lastro.InvalidInput, match=type(blocking).__qualname__):
                await async_ledger.within(blocking).post(**wanted())
    engine.dispose()
    await async_engine.dispose()


@pytest.mark.stores("postgres")
def test_the_callers_cursors_do_not_matter(ledger: Ledger, server_url: str, ledger_name: str) -> None:
    """A row factory, another cursor class, binary results or no prepared statements on the connection change nothing."""
    ledger.open_account("a", "BRL")
    for number, options in enumerate(
        ({"row_factory": dict_row}, {"cursor_factory": psycopg.ClientCursor}, {"prepare_threshold": None},
         {"prepare_threshold": 0}, {"cursor_factory": psycopg.RawCursor})
    ):  # fmt: skip
        with psycopg.connect(server_url, **options) as connection:  # type: ignore[arg-type]
            held = ledger.within(connection)
            posted = [held.post(**wanted(key=f"{number}"))]
            posted += held.post_many([wanted(key=f"{number} many"), wanted(key=f"{number} more", metadata={"%": "{}"})])
            assert [held.transfer(t.key) for t, _ in posted] == [t for t, _ in posted]
            connection.execute(sql.SQL("SELECT 1 FROM {}").format(sql.Identifier(ledger_name, "transfer")))
    assert ledger.balance("a", "BRL").posted == 75
