"""Runs of matching on a real database: what is looked at, what comes of it, and that the ledger is only read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

import lastro
from lastro import AsyncLedger, InvalidInput, Ledger
from lastro.ledger.asking import Ask
from lastro.matching import running
from lastro.matching.rules import judge
from lastro.matching.values import Item, MatchRun
from lastro.plans.plan import Effect
from tests.matching.statement import PERIOD, add_lines, found, pay_in, said, spec

Connection = psycopg.Connection[Any]

TABLES = ("match_run", "match_group", "match_item", "match_waiting")
ALL_GROUPS = """
SELECT number, outcome, currency, reference, difference, cut_short, is_line, place, id, on_date, amount, is_inside
FROM match_group INNER JOIN match_item USING (run_id)
WHERE run_id = %s AND group_number = number ORDER BY number, is_line, place
"""


@pytest.fixture
def shop(ledger: Ledger) -> Ledger:
    """A ledger with a shop in it."""
    ledger.open_account("shop", "BRL", floor=None)
    return ledger


def test_each_outcome_is_found_stored_and_read(shop: Ledger, connection: Connection) -> None:
    """One of each kind: what matched isn't listed unless asked for, and the figures count it all."""
    pay_in(shop, "o1", 100, 3)
    pay_in(shop, "o2:a", 60, 3)
    pay_in(shop, "o2:b", 40, 4)
    pay_in(shop, "o3", 70, 5)
    pay_in(shop, "o4", 50, 6)
    pay_in(shop, "o6", 30, 7)
    add_lines(connection, [("o1", 100, 4), ("o2", 100, 4), ("o3", 71, 5), ("o5", 20, 6), ("o6", 10, 7), ("o6", 20, 8)])
    run = shop.matching.match("movements", period=PERIOD, actor="ana")
    assert (run.lines, run.transfers, run.internal, run.cut_short, run.actor) == (6, 6, 0, 0, "ana")
    assert (run.matched, run.amount_differs, run.missing_in_ledger, run.missing_in_statement) == (3, 1, 1, 1)
    assert (run.spec, run.period, run.account, run.differences) == ("movements", PERIOD, None, 3)
    assert found(shop, run.id) == [
        ("amount_differs", "o3", ["m00003"], ["o3"], 1),
        ("missing_in_statement", "o4", [], ["o4"], -50),
        ("missing_in_ledger", "o5", ["m00004"], [], 20),
    ]
    assert found(shop, run.id, matched=True)[:2] == [
        ("matched", "o1", ["m00001"], ["o1"], 0),
        ("matched", "o2", ["m00002"], ["o2:a", "o2:b"], 0),
    ]
    assert found(shop, run.id, matched=True)[-1] == ("matched", "o6", ["m00005", "m00006"], ["o6"], 0)
    assert shop.matching.run(run.id) == run
    assert shop.matching.runs(spec="movements", period=PERIOD) == [run]
    assert shop.matching.runs(spec="billing") == []


def test_a_page_of_groups_goes_on_where_the_last_one_ended(shop: Ledger, connection: Connection) -> None:
    """Pages by the group's number; behind the last one there is nothing, and of no run there are none."""
    add_lines(connection, [(f"o{number}", 5, 3) for number in range(5)])
    run = shop.matching.match("movements", period=PERIOD)
    first = shop.matching.groups(run.id, limit=3)
    rest = shop.matching.groups(run.id, after=first[-1].number, limit=3)
    assert [group.reference for group in (*first, *rest)] == ["o0", "o1", "o2", "o3", "o4"]
    assert shop.matching.groups(run.id, after=rest[-1].number) == []
    with pytest.raises(InvalidInput, match="no run 99"):
        shop.matching.groups(99)


def _random_books(ledger: Ledger, connection: Connection, *, references: int) -> tuple[list[Any], list[Any]]:
    """Lines and transfers of many references that match in all ways, by a fixed seed."""
    chance = Random(7)
    lines, transfers = [], []
    for number in range(references):
        reference = f"o{number:03}"
        parts = [chance.randint(1, 30) for _ in range(chance.choice((1, 1, 2, 3)))]
        transfers += [(reference, place, amount, chance.randint(1, 30)) for place, amount in enumerate(parts)]
        wanted = chance.choice(([sum(parts)], parts, [sum(parts), 3], [sum(parts) + 1], []))
        lines += [(reference, amount, chance.randint(1, 30)) for amount in wanted]
    chance.shuffle(transfers)
    with connection.transaction():
        held = ledger.within(connection)
        for reference, place, amount, day in transfers:
            pay_in(held, f"{reference}:{place}", amount, day)
    chance.shuffle(lines)
    add_lines(connection, lines)
    return lines, transfers


def _run_in_pages(ledger: Ledger, page_items: int) -> MatchRun:
    plan = partial(
        running.match,
        spec(days_before=2, days_after=9),
        period=PERIOD,
        account=None,
        actor=None,
        now=None,
        page_items=page_items,
    )
    return ledger._run(Ask(plan, Effect.KEYED))


def test_a_run_finds_what_the_rules_say_however_small_its_pages(shop: Ledger, connection: Connection) -> None:
    """All of a month's references: the same as the rules applied to each here, and the same in pages of any size."""
    lines, transfers = _random_books(shop, connection, references=120)
    expected = []
    by_reference: dict[str, tuple[list[Item], list[Item]]] = defaultdict(lambda: ([], []))
    for number, (reference, amount, day) in enumerate(lines, 1):
        by_reference[reference][0].append(Item(date(2026, 11, day), f"m{number:05}", number, amount))
    for number, (reference, place, amount, day) in enumerate(transfers, 1):
        by_reference[reference][1].append(Item(date(2026, 11, day), f"{reference}:{place}", number, amount))
    window = spec(days_before=2, days_after=9).window
    for reference, (of_lines, of_transfers) in sorted(by_reference.items()):
        expected += [
            (group.outcome, reference, [line.id for line in group.lines], [each.id for each in group.transfers],
             group.difference)
            for group in judge(of_lines, of_transfers, window)
        ]  # fmt: skip
    runs = [_run_in_pages(shop, page_items) for page_items in (10_000, 60, 12)]
    assert found(shop, runs[0].id, matched=True) == expected
    assert len({(run.matched, run.differences, run.lines, run.transfers) for run in runs}) == 1
    contents = [connection.execute(ALL_GROUPS, (run.id,)).fetchall() for run in runs]
    assert contents[0] == contents[1] == contents[2]
    assert len(contents[0]) == len(lines) + len(transfers)


def test_a_later_run_is_the_same_until_the_data_are_others(shop: Ledger, connection: Connection) -> None:
    """Over the same data equal groups; after a correction the newest run says what stands, the older ones what was."""
    pay_in(shop, "o1", 100, 3)
    add_lines(connection, [("o1", 90, 3)])
    first, again = (shop.matching.match("movements", period=PERIOD) for _ in range(2))
    assert again.id > first.id
    assert (
        connection.execute(ALL_GROUPS, (first.id,)).fetchall() == connection.execute(ALL_GROUPS, (again.id,)).fetchall()
    )
    connection.execute("UPDATE sheet_movements SET amount = 100")
    connection.commit()
    corrected = shop.matching.match("movements", period=PERIOD)
    assert [run.differences for run in shop.matching.runs(period=PERIOD)] == [0, 1, 1]
    assert (found(shop, corrected.id), found(shop, first.id)) == (
        [],
        [("amount_differs", "o1", ["m00001"], ["o1"], -10)],
    )


@pytest.fixture
def reader(connection: Connection, ledger_name: str) -> Iterator[str]:
    """A role that may read everything of the ledger, and write what matching calls its own."""
    role = f"reader_of_{ledger_name}"
    connection.execute(f'CREATE ROLE "{role}"')
    connection.execute(f'GRANT USAGE ON SCHEMA "{ledger_name}" TO "{role}"')
    connection.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{ledger_name}" TO "{role}"')
    for table in TABLES:
        connection.execute(f'GRANT INSERT, DELETE ON {table} TO "{role}"')
    connection.execute(f'GRANT USAGE ON SEQUENCE match_run_id TO "{role}"')
    connection.commit()
    yield role
    connection.rollback()
    connection.execute("RESET ROLE")
    connection.execute(f'DROP OWNED BY "{role}"')
    connection.execute(f'DROP ROLE "{role}"')
    connection.commit()


def test_matching_never_writes_to_the_ledger(shop: Ledger, connection: Connection, reader: str) -> None:
    """A role that may read the ledger and the sheets, and write only matching's own tables, can match."""
    pay_in(shop, "o1", 100, 3)
    add_lines(connection, [("o1", 100, 3)])
    connection.execute(f'SET LOCAL ROLE "{reader}"')
    run = shop.within(connection).matching.match("movements", period=PERIOD)
    assert (run.matched, run.differences) == (1, 0)
    connection.commit()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f'SET LOCAL ROLE "{reader}"; DELETE FROM transfer')


def test_a_run_that_fails_leaves_nothing(shop: Ledger, connection: Connection) -> None:
    """A reference that names more than a page is refused, and no run, group or waiting item stays behind."""
    add_lines(connection, [("o1", 5, 3) for _ in range(4)])
    with pytest.raises(InvalidInput, match="match them by a field that says which is which"):
        _run_in_pages(shop, 4)
    run = _run_in_pages(shop, 5)
    assert run.missing_in_ledger == 1
    assert [connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in TABLES] == [
        (1,), (1,), (4,), (0,),
    ]  # fmt: skip


def test_what_is_looked_at_is_declared(shop: Ledger, connection: Connection) -> None:
    """Accounts by name and by beginning, kinds, the side, and what a reference is in the ledger."""
    for account in ("seller:1", "seller:2", "bank"):
        shop.open_account(account, "BRL", floor=None)
    pay_in(shop, "k1", 10, 3, credit="seller:1", source="ref 1")
    pay_in(shop, "k2", 20, 3, debit="seller:2", credit="bank", source="ref 2")
    pay_in(shop, "k3", 30, 3, debit="seller:1", credit="seller:2", source="ref 3")
    pay_in(shop, "k4", 40, 3, kind="fee", credit="seller:1", source="ref 4")
    pay_in(shop, "k5", 50, 3, source="ref 5")
    sellers = spec(accounts=("seller:*",), kinds=("sale",), side="credit", by="source", form="ref {reference}")
    add_lines(connection, [("1", 10, 3), ("2", -20, 3), ("9", 1, 3)])
    run = shop.matching.match(sellers, period=PERIOD)
    assert (run.lines, run.transfers, run.internal, run.matched) == (3, 2, 1, 2)
    assert found(shop, run.id) == [("missing_in_ledger", "ref 9", ["m00003"], [], 1)]
    by_key = shop.matching.match(spec(by="key", form="k{reference}"), period=PERIOD)
    assert found(shop, by_key.id, matched=True)[0] == ("matched", "k1", ["m00001"], ["k1"], 0)
    one = shop.matching.match(sellers, period=PERIOD, account="seller:2")
    assert (one.account, one.transfers, one.internal) == ("seller:2", 2, 0)
    assert [group[1] for group in found(shop, one.id)] == ["ref 1", "ref 3", "ref 9"]


def test_neighbouring_months_explain_but_are_not_reported(shop: Ledger, connection: Connection) -> None:
    """What was booked on the last day and came on the first of the next month matches in both runs, and only once each."""
    pay_in(shop, "o1", 100, 30)
    pay_in(shop, "o2", 50, "2026-12-02")
    pay_in(shop, "o3", 70, "2026-10-31")
    add_lines(connection, [("o1", 100, "2026-12-02"), ("o4", 5, "2026-12-03"), ("o3", 70, 1)])
    november = shop.matching.match(spec(), period=PERIOD)
    assert (november.lines, november.transfers, november.matched, november.differences) == (1, 1, 2, 0)
    december = shop.matching.match(spec(), period="2026-12")
    assert (december.lines, december.transfers, december.matched) == (2, 1, 1)
    assert [group[:2] for group in found(shop, december.id)] == [
        ("missing_in_statement", "o2"), ("missing_in_ledger", "o4"),
    ]  # fmt: skip


def test_a_transfers_day_is_that_of_the_zone(shop: Ledger, connection: Connection) -> None:
    """One minute to midnight in São Paulo is still November there, and December in UTC."""
    pay_in(shop, "o1", 100, 30, occurred_at=datetime.fromisoformat("2026-11-30T23:59:00-03:00"))
    add_lines(connection, [("o1", 100, 30)])
    exact = {"days_before": 0, "days_after": 0}
    assert shop.matching.match(spec(zone="America/Sao_Paulo", **exact), period=PERIOD).differences == 0
    assert shop.matching.match(spec(**exact), period=PERIOD).missing_in_ledger == 1


def test_currencies_and_missing_references_never_meet(shop: Ledger, connection: Connection) -> None:
    """The same reference and amount in another currency is another thing; without a cause a transfer stands alone."""
    pay_in(shop, "o1", 100, 3)
    pay_in(shop, "o2", 7, 3, cause=None)
    pay_in(shop, "o3", 7, 3, cause=None)
    add_lines(connection, [("o1", 100, 3)], currency="USD")
    run = shop.matching.match("movements", period=PERIOD)
    assert found(shop, run.id) == [
        ("missing_in_statement", None, [], ["o2"], -7),
        ("missing_in_statement", None, [], ["o3"], -7),
        ("missing_in_statement", "o1", [], ["o1"], -100),
        ("missing_in_ledger", "o1", ["m00001"], [], 100),
    ]


def test_a_spec_that_does_not_fit_its_sheet_is_refused(shop: Ledger) -> None:
    """What a spec names must be a column of its sheet, of the right type, in a sheet that there is; a period is a month."""
    for settings, message in (
        ({"sheet": "nowhere"}, "no sheet is declared by that name"),
        ({"reference": "nothing"}, "no text column"),
        ({"amount": "movement"}, "no money or integer column"),
        ({"date": "kind"}, "no date column of movements"),
    ):
        with pytest.raises(InvalidInput, match=message):
            shop.matching.match(spec(**settings), period=PERIOD)
    for period in ("2026-13", "november", "2026-1", "0000-01", "9999-12", None):
        with pytest.raises(InvalidInput, match="a month like 2026-11"):
            shop.matching.match("movements", period=period)  # type: ignore[arg-type]


async def test_awaited_it_is_the_same(shop: Ledger, async_ledger: AsyncLedger, connection: Connection) -> None:
    """The awaiting twin matches, reads and writes the same."""
    pay_in(shop, "o1", 100, 3)
    add_lines(connection, [("o1", 90, 3)])
    run = await async_ledger.matching.match("movements", period=PERIOD)
    assert [said(group) async for group in async_ledger.matching.each_group(run.id)] == found(shop, run.id)
    assert await async_ledger.matching.runs() == [run]


def test_the_files_say_what_was_found(shop: Ledger, connection: Connection, tmp_path: Path) -> None:
    """CSV and a page: a line an item, markup and formulas in a reference stay text, and a file is whole or not there."""
    pay_in(shop, "=1<b>", 1234, 3)
    add_lines(connection, [("=1<b>", 1200, 3)])
    run = shop.matching.match("movements", period=PERIOD)
    assert shop.matching.write(run.id, tmp_path / "m.csv") == 1
    header, line, transfer = (tmp_path / "m.csv").read_text("utf-8").splitlines()
    assert header.startswith('"group","outcome","reference","currency","difference"')
    assert line == (
        '"1","amount_differs","\'=1<b>","BRL","-0.34","-34","statement","m00001","2026-11-03","12.00","1200","no"'
    )
    assert transfer.split(",")[6:8] == ['"ledger"', '"\'=1<b>"']
    assert shop.matching.write(run.id, tmp_path / "m.html", "html") == 1
    page = (tmp_path / "m.html").read_text("utf-8")
    assert "Matching: movements, 2026-11" in page
    assert "=1&lt;b&gt;" in page
    assert "<b>" not in page
    with pytest.raises(InvalidInput, match="csv, html"):
        shop.matching.write(run.id, tmp_path / "m.xlsx", "xlsx")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no run 99"):
        shop.matching.write(99, tmp_path / "none.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.csv", "m.html"]


def test_other_stores_say_that_they_cannot(tmp_path: Path) -> None:
    """On SQLite there are no merged sheets, and the refusal says so."""
    with lastro.connect(f"sqlite:///{tmp_path}/books.db") as ledger:
        ledger.migrate()
        with pytest.raises(InvalidInput, match="need PostgreSQL"):
            ledger.matching.match("movements", period=PERIOD)
