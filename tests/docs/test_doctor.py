"""The page on the doctor has a section for each finding, where findings say it is, and speaks of every reading."""

from __future__ import annotations

import re

from lastro.doctor.finding import PAGE, page_of
from lastro.doctor.rules import BY_CODE
from tests.docs.tables import code
from tests.house.checkout import PACKAGE, ROOT

DOCTOR = ROOT / PAGE


def test_each_finding_has_its_section() -> None:
    """In the order in which they are told, under the anchor that a finding's page names."""
    sections = re.findall(r"^### (\w+)$", DOCTOR.read_text("utf-8"), re.MULTILINE)
    assert sections == list(BY_CODE)
    assert [page_of(section) for section in sections] == [f"{PAGE}#{section}" for section in sections]


def test_each_reading_is_told() -> None:
    """The table names every reading that the package makes, and none that it doesn't."""
    made = {
        name
        for path in (PACKAGE / "doctor").glob("*.py")
        for name in re.findall(r"""Reading\(\s*"(\w+)\"""", path.read_text("utf-8"))
    }
    made |= {name for path in (PACKAGE / "doctor").glob("*.py") for name in _named_otherwise(path.read_text("utf-8"))}
    table = [line for line in DOCTOR.read_text("utf-8").splitlines() if line.startswith("| `")]
    told = {name for line in table for name in code(line.split(" | ")[0]) if re.fullmatch(r"[a-z_0-9]+", name)}
    probes = {"pooler"}
    assert told - made - probes == set()
    assert made - told == set()


def _named_otherwise(text: str) -> set[str]:
    """Names that are given to what makes the reading."""
    counters = re.search(r"_COUNTED: Final = \{(.*?)\}", text, re.DOTALL)
    return (
        set(re.findall(r'\("(call_p\d+)"', text))
        | set(re.findall(r'_ages\("(\w+)"', text))
        | (set(re.findall(r'"(\w+)":', counters[1])) if counters else set())
    )
