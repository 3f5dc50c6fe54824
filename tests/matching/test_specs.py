"""Match specs are read strictly: what isn't one is refused by the setting it means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lastro import InvalidInput
from lastro.imports import ready_specs
from lastro.matching import MatchSpec, match_spec_of, read_match_spec, ready_match_spec
from lastro.matching.spec_files import READY, document_of_match_spec

LEAST: dict[str, Any] = {"accounts": ["world"], "side": "debit"}


@pytest.mark.parametrize("name", READY)
def test_the_ready_ones_fit_their_sheets(name: str) -> None:
    """Each ready spec names columns that its ready sheet has, and survives being written and read."""
    found = ready_match_spec(name)
    (sheet,) = ready_specs(found.sheet)
    assert {found.reference, found.amount, found.currency, found.date} <= set(sheet.fields)
    assert sheet.period == found.date
    assert match_spec_of(name, document_of_match_spec(found)) == found


def test_a_file_holds_one(tmp_path: Path) -> None:
    """A TOML file with one table is a spec; its name is the table's, and the sheet's where none is said."""
    file = tmp_path / "match.toml"
    file.write_text('[fees]\naccounts = ["fees"]\nside = "credit"\nkinds = ["fee"]\n', "utf-8")
    assert read_match_spec(file) == MatchSpec(
        name="fees", sheet="fees", accounts=("fees",), side="credit", kinds=("fee",)
    )
    file.write_text("[a]\n[b]\n", "utf-8")
    with pytest.raises(InvalidInput, match="one match spec"):
        read_match_spec(file)
    file.write_text("fees", "utf-8")
    with pytest.raises(InvalidInput, match="isn't TOML"):
        read_match_spec(file)
    with pytest.raises(InvalidInput, match="can't be read"):
        read_match_spec(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"acounts": []}, "there is no setting 'acounts'; accounts is one"),
        ({"accounts": []}, "accounts are the accounts"),
        ({"accounts": "world"}, "accounts are up to"),
        ({"accounts": ["a*b"]}, r"may end in \*"),
        ({"side": "left"}, "side is one of debit, credit"),
        ({"by": "metadata"}, "by is one of cause, source, key"),
        ({"form": "order"}, "form holds {reference} once"),
        ({"form": "{reference}{reference}"}, "form holds {reference} once"),
        ({"days_after": -1}, "days_after are a whole number"),
        ({"days_before": True}, "days_before are a whole number"),
        ({"zone": "Nowhere/Land"}, "zone names no time zone"),
        ({"reference": "Not A Field"}, "reference is a name of small letters"),
        ({"sheet": "x; DROP TABLE transfer"}, "sheet is a name of small letters"),
    ],
)
def test_what_is_no_setting_is_refused(settings: dict[str, Any], message: str) -> None:
    """Each wrong value is refused in words that name its setting."""
    with pytest.raises(InvalidInput, match=message):
        match_spec_of("fees", LEAST | settings)


@pytest.mark.parametrize("left_out", LEAST)
def test_what_has_no_default_must_be_said(left_out: str) -> None:
    """Which accounts, and which side of them, nobody can guess."""
    with pytest.raises(InvalidInput, match=f"{left_out} is missing"):
        match_spec_of("fees", {name: value for name, value in LEAST.items() if name != left_out})


def test_no_ready_one_is_refused() -> None:
    """A name that is none lists those that are."""
    with pytest.raises(InvalidInput, match="billing, movements; got 'fees'"):
        ready_match_spec("fees")
