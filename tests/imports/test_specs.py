"""Specs: what TOML and Python may say, what is refused and how, and that a document of plain values says it all."""

from __future__ import annotations

import contextlib
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastro import InvalidInput
from lastro.imports import Column, SheetSpec, Totals, document_of, read_specs, ready_specs, specs_of
from lastro.imports.limits import SPECS_MAX
from lastro.imports.specs import checked
from tests.imports.conftest import Read, spec
from tests.imports.making import by_openpyxl

GOOD = """
[billing]
sheet = "Faturamento"
files = "*fatura*.csv"
header_row = 3
key = ["invoice", "line"]
period = "billed_on"
decimal_mark = ","
thousands = "."
dates = "day-first"
zone = "America/Sao_Paulo"
hidden = "skip"
totals = { column = "invoice", texts = ["Total"] }

[billing.columns]
invoice = { type = "text", headers = ["Fatura", "Nota"], required = true, width = 9 }
line = { type = "integer", required = true }
billed_on = { type = "date", required = true, serials = true }
at = { type = "datetime", dates = "iso" }
amount = { type = "money", currency = "BRL", symbol = "R$" }
rate = { type = "decimal", places = 6, decimal_mark = ".", thousands = "" }
paid = { type = "boolean", yes = ["sim"], no = ["não"] }
"""


def test_a_spec_in_toml(tmp_path: Path) -> None:
    """A spec is read with what its sheet says for all of its columns, and what a column says for itself."""
    path = tmp_path / "specs.toml"
    path.write_text(GOOD, encoding="utf-8")
    (billing,) = read_specs(path)
    assert (billing.sheet, billing.header_row, billing.key, billing.hidden) == (
        "Faturamento",
        3,
        ("invoice", "line"),
        "skip",
    )
    assert billing.totals == Totals(column="invoice", texts=("Total",))
    assert billing.column("invoice") == Column(
        name="invoice",
        type="text",
        headers=("Fatura", "Nota"),
        required=True,
        width=9,
        decimal_mark=",",
        thousands=".",
        dates="day-first",
    )
    assert (billing.column("at").zone, billing.column("at").dates) == ("America/Sao_Paulo", "iso")
    assert (billing.column("rate").decimal_mark, billing.column("amount").decimal_mark) == (".", ",")
    assert billing.fits("FATURA-11.CSV")


def test_the_ready_specs(tmp_path: Path, read: Read) -> None:
    """`billing` and `movements` are ready, and read a workbook that holds both."""

    def movements(sheet: Any) -> None:
        second = sheet.parent.create_sheet("Movements")
        second.append(["Movement", "Reference", "Date", "Amount", "Currency"])
        second.append(["M1", "R1", "2026-11-03", 590, "JPY"])

    rows = [["Invoice", "Order", "Date", "Valor", "Moeda"], ["I1", "R1", "2026-11-01", 12.5, "BRL"]]
    outcome = read(by_openpyxl(tmp_path / "x.xlsx", rows, sheet="Billing", change=movements), *ready_specs())
    assert [(sheet.spec, sheet.rows, sheet.missing) for sheet in outcome.report.sheets] == [
        ("billing", 1, ("fee", "description")),
        ("movements", 1, ("kind",)),
    ]
    assert [one.name for one in ready_specs("movements")] == ["movements"]
    with pytest.raises(InvalidInput, match="billing, movements"):
        ready_specs("bills")


def test_a_document_says_all_of_a_spec() -> None:
    """What `document_of` writes is the same specs when it is read again, and plain JSON."""
    specs = (*specs_of(tomllib.loads(GOOD)), *ready_specs("movements"), spec())
    assert specs_of(document_of(specs)) == specs


@given(st.data())
def test_no_document_ends_in_another_error(data: st.DataObject) -> None:
    """Whatever stands at any place of a document, it is a spec or an InvalidInput that says what isn't one."""
    document = tomllib.loads(GOOD)
    junk = data.draw(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(max_size=5),
            st.lists(st.text(max_size=3), max_size=3),
            st.just({}),
        )
    )
    table = data.draw(
        st.sampled_from(
            [document, document["billing"], document["billing"]["columns"], *document["billing"]["columns"].values()]
        )
    )
    table[data.draw(st.sampled_from([*table, "more"]))] = junk
    with contextlib.suppress(InvalidInput):
        specs = specs_of(document)
        assert specs_of(document_of(specs)) == specs


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"key": ["nothing"]}, "key names 'nothing', which is no column"),
        ({"key": ["note"]}, "key names note, which isn't required"),
        ({"key": []}, "key names the fields"),
        ({"period": "reference"}, "must be a required column of dates"),
        ({"shet": 1}, "'shet' is no setting; did you mean sheet?"),
        ({"header_row": 0}, "header_row is a row's number"),
        ({"sheet": True}, "sheet is a sheet's name"),
        ({"encoding": "utf-7"}, "encoding is 'detect' or one of"),
        ({"delimiter": "x"}, "delimiter is one of"),
        ({"hidden": "maybe"}, "hidden is one of refuse, read, skip"),
        ({"totals": {"column": "reference"}}, "column and texts"),
        ({"totals": {"column": "reference", "texts": []}}, "at least one"),
        ({"columns": {"note": {"type": "texts"}}}, "type is one of"),
        ({"columns": {"note": {}}}, "type is missing"),
        ({"columns": {"note": {"type": "text", "headers": ["Reference"]}}}, "share the header 'reference'"),
        ({"columns": {"Note": {"type": "text"}}}, "small letters"),
        ({"columns": {"row": {"type": "text"}}}, "the sheet's row number"),
        ({"columns": {"note": {"type": "money"}}}, "currency or currency_from"),
        ({"columns": {"note": {"type": "money", "currency": "XXQ"}}}, "not an ISO 4217 currency"),
        ({"columns": {"note": {"type": "money", "currency_from": "count"}}}, "must be a column of text"),
        ({"columns": {"note": {"type": "decimal"}}}, "places"),
        ({"columns": {"note": {"type": "text", "places": 2}}}, "places"),
        ({"columns": {"note": {"type": "datetime"}}}, "zone"),
        ({"columns": {"note": {"type": "datetime", "zone": "Mars/Phobos"}}}, "names no time zone"),
        ({"columns": {"note": {"type": "integer", "thousands": "."}}}, "is the decimal mark"),
        ({"columns": {"note": {"type": "boolean", "yes": ["x"], "no": ["X"]}}}, "word in common"),
    ],
)
def test_a_bad_spec_is_refused_with_its_setting(change: dict[str, Any], said: str) -> None:
    """A spec that can't be meant is refused before any file is opened, with the setting that is wrong."""
    with pytest.raises(InvalidInput) as refused:
        spec(**change)
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["[billing", "\xff", "billing = 1", "", "[billing]\nkey = ['a']"])
def test_a_file_that_holds_no_specs(text: str, tmp_path: Path) -> None:
    """A file that isn't TOML, or no specs, is refused."""
    path = tmp_path / "specs.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput):
        read_specs(path)
    with pytest.raises(InvalidInput, match="can't be read"):
        read_specs(tmp_path / "nowhere.toml")


def test_names_and_counts_of_specs() -> None:
    """The specs of one import have names of their own, and there are not too many."""
    with pytest.raises(InvalidInput, match="two specs are called payments"):
        checked([spec(), replace(spec(), sheet="Other")])
    with pytest.raises(InvalidInput, match=f"1 to {SPECS_MAX}"):
        specs_of({})


def test_specs_of_values() -> None:
    """A spec may be made in Python as well; what isn't a Column, and an unhashable setting, are refused."""
    made = SheetSpec(name="a", key=("k",), columns=(Column(name="k", type="text", required=True),))
    assert made.fields == ("k",)
    with pytest.raises(InvalidInput, match="must be Columns"):
        SheetSpec(name="a", key=("k",), columns=("k",))  # type: ignore[arg-type]
