"""Statements as files: what stands in them is what the ledger says, and nothing that a name holds becomes anything else."""

from __future__ import annotations

import csv
import json
import re
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import pytest

from lastro import Entry, InvalidInput, StatementHead, StatementLine
from lastro.statements import FORMATS, Format, writing
from lastro.statements.csv_file import safe

BEGINS = datetime(2026, 1, 1, tzinfo=UTC)
LARGEST = 2**63 - 1
DANGEROUS = (
    "=1+1", "+1", "-1", "@sum(a1)", "\ta", "\ra", "\na", "  =1", "＝1", "'=1", "'quoted", "\u200b=1", "\ufeff-1",
    "\u202e \u2060+1",
)  # fmt: skip
SPLIT = {
    "a;=1": "a;'=1", "a\t@b": "a\t'@b", "a\n\u200b-1;b;+1": "a\n'\u200b-1;b;'+1", "a\r\n=1": "a\r\n'=1", "\t=1": "'\t'=1",
    "a;'b": "a;''b", "a; b=1": "a; b=1",
}  # fmt: skip
MARKUP = '<script>alert(1)</script> & "it\'s"'


def head(currency: str = "BRL", **changed: object) -> StatementHead:
    """A statement's head."""
    return StatementHead("shop", currency, BEGINS, None, "recorded", 0, 0)._replace(**changed)


def line(
    number: int = 1, *, signed: int = 590, balance: int = 590, currency: str = "BRL", **changed: object
) -> StatementLine:
    """A line of it."""
    entry = Entry(
        transfer_id=number, account="shop", currency=currency, side="credit" if signed > 0 else "debit", kind="pay",
        amount=abs(signed), balance_before=None, balance_after=None, counter_account="world", key=f"k{number}",
        cause=None, reverses=None, source=None, actor=None, occurred_at=BEGINS, recorded_at=BEGINS + timedelta(seconds=number),
    )  # fmt: skip
    return StatementLine(entry._replace(**changed), balance)


def written(format_: Format, lines: list[StatementLine], of: StatementHead | None = None) -> bytes:
    """What a statement is as a file."""
    file = BytesIO()
    with writing(of or head(), file, format_) as writer:
        for one in lines:
            writer.add(one)
    assert writer.lines == len(lines)
    return file.getvalue()


def cells(text: bytes) -> list[dict[str, str]]:
    """The rows of a CSV file by column."""
    return list(csv.DictReader(text.decode().splitlines(keepends=True)))


@pytest.mark.case("C027")
def test_amounts_are_exact_in_every_format() -> None:
    """The largest and the smallest that an account may hold, in minor units and as decimals; no float on the way."""
    lines = [
        line(1, signed=LARGEST, balance=LARGEST),
        line(2, signed=-LARGEST, balance=-LARGEST - 1),
        line(3, signed=-5, balance=-5),
    ]
    of = head(opening=1, closing=-5)
    rows = cells(written("csv", lines, of))
    assert [row["amount_minor"] for row in rows] == ["", str(LARGEST), str(-LARGEST), "-5", ""]
    assert [row["amount"] for row in rows] == ["", "92233720368547758.07", "-92233720368547758.07", "-0.05", ""]
    assert [row["balance"] for row in rows] == [
        "0.01",
        "92233720368547758.07",
        "-92233720368547758.08",
        "-0.05",
        "-0.05",
    ]
    document = json.loads(written("json", lines, of))
    assert [entry["signed"] for entry in document["entries"]] == [str(LARGEST), str(-LARGEST), "-5"]
    assert document["entries"][1]["balance_decimal"] == "-92233720368547758.08"
    assert (document["opening"], document["closing_decimal"]) == ("1", "-0.05")
    assert b"92233720368547758.07" in written("html", lines, of)


def test_a_currency_without_known_decimals_is_in_minor_units() -> None:
    """POINTS have none that anybody knows: the same integers stand everywhere, and JSON says that there is no decimal."""
    lines = [line(signed=7, balance=7, currency="POINTS")]
    of = head("POINTS", closing=7)
    assert [row["amount"] for row in cells(written("csv", lines, of))][1] == "7"
    assert json.loads(written("json", lines, of))["entries"][0]["signed_decimal"] is None
    assert b"amounts in minor units" in written("html", lines, of)
    assert [row["amount"] for row in cells(written("csv", [line(currency="JPY")], head("JPY")))][1] == "590"


def test_no_cell_is_a_formula() -> None:
    """Whatever a name begins with that a spreadsheet would run gets an apostrophe, in every text, and only there."""
    for text in DANGEROUS:
        assert safe(text) == f"'{text}"
        named = line(
            key=text, cause=text, source=text, actor=text, reverses=text, counter_account=text, kind=text, account=text
        )
        row = cells(written("csv", [named]))[1]
        for column in ("key", "cause", "source", "actor", "reverses", "counter_account", "kind", "account"):
            assert row[column].replace("\r\n", "\n").startswith("'"), (column, text)
    for text, marked in SPLIT.items():
        assert safe(text) == marked
    for text in ("order:1", "a=b", "a'b", "\u200b", ""):
        assert safe(text) == text
    assert cells(written("csv", [line(signed=-5)]))[1]["amount_minor"] == "-5"


def test_each_cell_is_quoted() -> None:
    """A separator of another country's splits no cell in two, and amounts stay plain numbers between their quotes."""
    text = written("csv", [line(signed=-5, balance=-5, key="a;=1+1", counter_account='b"c')]).decode()
    entry = text.split("\r\n")[2]
    assert '"-0.05","-5","-0.05","-5","BRL"' in entry
    assert '"b""c","a;\'=1+1",' in entry
    assert all(row.startswith('"') and row.endswith('"') for row in text.splitlines())


def test_a_page_shows_markup_as_text() -> None:
    """A name of tags is shown as it is; the page asks for nothing from elsewhere and runs nothing."""
    page = written("html", [line(key=MARKUP, counter_account=MARKUP, cause=MARKUP)], head(account=MARKUP)).decode()

    class Reader(HTMLParser):
        tags: list[str] = []  # noqa: RUF012  (one page, one reader)
        text: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attributes: object) -> None:
            self.tags.append(tag)

        def handle_data(self, data: str) -> None:
            self.text.append(data)

    reader = Reader()
    reader.feed(page)
    assert "script" not in reader.tags
    assert "".join(reader.text).count(MARKUP) == 5
    assert not re.search(r"(src|href)=|url\(|@import|https?:", page)


def test_a_file_comes_into_being_when_it_is_whole(tmp_path: Path) -> None:
    """Where writing breaks off nothing is left, and what was there stays; where it doesn't, the new one is there."""
    place = tmp_path / "statement.csv"
    place.write_text("before")

    def break_off() -> None:
        with writing(head(), place, "csv") as writer:
            writer.add(line())
            raise KeyError

    with pytest.raises(KeyError):
        break_off()
    assert (place.read_text(), [path.name for path in tmp_path.iterdir()]) == ("before", ["statement.csv"])
    with writing(head(), str(place), "csv") as writer:
        writer.add(line())
    assert len(cells(place.read_bytes())) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["statement.csv"]
    with pytest.raises(InvalidInput, match="csv, json, html, parquet"), writing(head(), place, "xlsx"):  # type: ignore[arg-type]
        pass


def test_a_name_that_says_another_format_is_refused(tmp_path: Path) -> None:
    """A page isn't written into a .csv: nobody could open it as what it says it is. A name that says nothing takes any."""
    with (
        pytest.raises(InvalidInput, match="written as html, and its name says csv"),
        writing(head(), tmp_path / "statement.CSV", "html"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
    with writing(head(), tmp_path / "statement.txt", "csv"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["statement.txt"]


def test_parquet_keeps_the_types() -> None:
    """64-bit integers, exact decimals, moments in UTC; and what the statement is of in the file's metadata."""
    import pyarrow.parquet as pq

    lines = [line(1, signed=LARGEST, balance=LARGEST), line(2, signed=-5, balance=-5, cause="c")]
    table = pq.read_table(BytesIO(written("parquet", lines, head(opening=3, closing=-5))))
    assert table.column("amount_minor").to_pylist() == [LARGEST, -5]
    assert table.column("amount").to_pylist() == [Decimal("92233720368547758.07"), Decimal("-0.05")]
    assert table.column("recorded_at").to_pylist() == [one.entry.recorded_at for one in lines]
    assert table.column("cause").to_pylist() == [None, "c"]
    assert (str(table.schema.field("amount_minor").type), str(table.schema.field("amount").type)) == (
        "int64",
        "decimal128(20, 2)",
    )
    assert table.schema.metadata[b"lastro.opening_minor"] == b"3"
    assert "amount" not in pq.read_schema(BytesIO(written("parquet", [], head("POINTS")))).names


@pytest.mark.parametrize("format_", [name for name in FORMATS if name != "parquet"])
def test_a_long_statement_is_never_held(format_: Format, tmp_path: Path) -> None:
    """A hundred times the lines take no more memory."""

    def lines(number: int) -> Iterator[StatementLine]:
        return (line(one) for one in range(number))

    def most(number: int) -> int:
        tracemalloc.start()
        with writing(head(), tmp_path / "file", format_) as writer:
            for one in lines(number):
                writer.add(one)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(100)
    assert most(10_000) < most(100) + 1_000_000
