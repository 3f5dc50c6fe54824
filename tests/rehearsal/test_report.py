"""The report: one page that needs nothing else, well-formed whatever stands in it, and two runs beside each other."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import lastro
from lastro.rehearsal.comparing import compared, programmes_differ, read_run, refuse_others
from lastro.rehearsal.drawing import Axis, Line, panel, short
from lastro.rehearsal.report import page, write_report

NASTY = """<script>alert("1")</script> & 'x' ]]> \u2028"""
TIMES = {"visits": 9, "errors": 0, "p50_ms": 2.0, "p95_ms": 5.0, "p99_ms": 9.0, "max_ms": None}
# What would make a browser fetch something.
FETCHES = re.compile(
    r"""\b(?:src|href|action|data|poster|srcset)\s*=|url\(|@import|<(?:script|link|iframe|img|object)\b"""
)


@pytest.fixture
def run() -> dict[str, Any]:
    """A run."""
    return run_made()


def run_made() -> dict[str, Any]:
    """A run as `--json` prints it, with names that want to be markup."""
    return {
        "form": 1,
        "scenario": "match",
        "planted": None,
        "waits_for": "placement",
        "ended_at": "2026-11-30T22:00:00+00:00",
        "verdict": "failed",
        "reasons": [f"burst.p99_ms_max: {NASTY}"],
        "criteria": [
            {"name": "books.balanced", "limit": True, "actual": True, "holds": True, "note": "they do"},
            {"name": "burst.p99_ms_max", "limit": 500.0, "actual": None, "holds": False, "note": NASTY},
        ],
        "criteria_from": NASTY,
        "programme": {
            "rate": 40.0, "seconds": 6.0, "burst": 5, "seed": 1, "clients": 8, "processes": 1, "warm_up_s": 0.6,
        },
        "measured": {"arrivals": 9, "completed": 9, "errors": {"lock_timeout": 2}, "deadlocks": 3, "unbalanced": None},
        "phases": {"whole": dict(TIMES), "burst": TIMES | {"p99_ms": 800.0}},
        "generator": {"arrivals": 9, "started_late": 0, "waited": 0, "cpu_share": 0.031, "held": True},
        "events": [{"at_s": 3.0, "until_s": 4.5, "what": NASTY}],
        "stretches": [
            {"at_s": 0.0, "arrivals": 3, "errors": 0, "p50_ms": 2.0, "p95_ms": 4.0, "p99_ms": 5.0, "max_ms": 6.0},
            {"at_s": 0.5, "arrivals": 0, "errors": 0, "p50_ms": None, "p95_ms": None, "p99_ms": None, "max_ms": None},
            {"at_s": 1.0, "arrivals": 6, "errors": 1, "p50_ms": 2.0, "p95_ms": 4.0, "p99_ms": 500.0, "max_ms": 6e4},
        ],
        "readings": [
            {"name": "lock_waits", "subject": NASTY, "unit": "sessions", "points": [[0.0, 0], [4.0, 7.0]]},
            {"name": "lock_waits", "subject": "other", "unit": "sessions", "points": [[0.5, 1], [4.0, None]]},
            {"name": "at rest", "subject": "", "unit": "rows", "points": [[0.0, 5], [7.0, 5]]},
        ],
        "findings": [
            {
                "code": "hot_account_direct", "severity": "warning", "subject": NASTY, "phase": "the burst",
                "from_s": 3.0, "until_s": 4.0, "evidence": NASTY, "disproved_by": NASTY, "advice": NASTY,
                "page": "docs/doctor.md#hot-account-direct",
            }
        ],
        "unread": [NASTY],
        "workers": {},
        "made_by": {"lastro": "0", "python": "3"},
    }  # fmt: skip


def parsed(text: str) -> ET.Element:
    """The page as XML: every element that is opened is closed, and nothing that was said became markup."""
    assert text.startswith("<!DOCTYPE html>\n")
    return ET.fromstring(text)


@pytest.mark.req("3.18")
def test_the_page_needs_nothing_else_and_is_well_formed(run: dict[str, Any]) -> None:
    """No script, no link, no image, nothing to fetch; and whatever an account is called, it is text."""
    for text in (page(run), page(run, against=run)):
        root = parsed(text)
        assert not FETCHES.search(text), FETCHES.search(text)
        tags = {element.tag for element in root.iter()}
        assert "script" not in tags
        said = " ".join(root.itertext())
        assert said.count("alert") >= 8
        assert "verdict" in text
        assert "Failed." in said
        assert "hot account direct" in said


def test_everything_lies_on_one_time_axis(run: dict[str, Any]) -> None:
    """Every panel has the same width, the same moments below each other, and the burst at the same place."""
    root = parsed(page(run))
    drawn = list(root.iter("svg"))
    # Latency, arrivals, lock waits, and the reading that didn't move, folded away.
    assert len(drawn) == 4
    assert len({panel.get("viewBox", "").split()[2] for panel in drawn}) == 1
    marks = [
        {name: mark.get(name) for name in ("x", "width")}
        for mark in root.iter("rect")
        if mark.get("class") == "mark burst"
    ]
    assert len(marks) == 4
    assert marks.count(marks[0]) == 4
    (folded,) = root.iter("details")
    assert len(list(folded.iter("svg"))) == 1


def test_a_line_breaks_off_where_there_is_no_value() -> None:
    """A stretch without a figure is a gap and no line through it."""
    points = [(0.0, 1.0), (1.0, 2.0), (2.0, None), (3.0, 1.0)]
    drawn = ET.fromstring(panel(Axis(4.0, []), [Line("a", points, 0)], height=90, title="a"))
    (path,) = drawn.iter("path")
    assert re.sub(r"[^ML]", "", path.get("d", "")) == "MLM"


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0], [5.0], [0.2, 3.0], [1e9], [-3.0, 4.0], [1e-9]])
def test_any_values_can_be_drawn(values: list[float], log: bool) -> None:
    """No value, one, equal ones, tiny, huge and negative ones: a panel is drawn, and no line leaves it."""
    points = list(enumerate(values))
    drawn = ET.fromstring(panel(Axis(5.0, []), [Line("a", points, 0)], height=90, log=log, title="a"))  # type: ignore[arg-type]
    for path in drawn.iter("path"):
        heights = [float(y) for y in re.findall(r"[ML][\d.]+ (-?[\d.]+)", path.get("d", ""))]
        assert all(0 <= y <= 90 for y in heights)


def test_a_comparison_tells_better_from_worse(run: dict[str, Any]) -> None:
    """Figure by figure: less time is better, more done is better, a tenth is noise, and none has no change."""
    later = deepcopy(run)
    later["phases"]["burst"] |= {"p99_ms": 400.0, "p50_ms": 2.1, "p95_ms": 10.0}
    later["measured"] |= {"completed": 18, "deadlocks": 0}
    told = {line.name: (line.change, line.direction) for line in compared(run, later)}
    assert told["burst: p99 ms"] == ("-50%", "better")
    assert told["burst: p95 ms"] == ("+100%", "worse")
    assert told["burst: p50 ms"] == ("+5%", "")
    assert told["burst: max ms"] == ("", "")
    assert told["completed"] == ("+100%", "better")
    assert told["deadlocks"] == ("-100%", "better")
    back = {line.name: (line.change, line.direction) for line in compared(later, run)}
    assert back["deadlocks"] == ("+3", "worse")
    assert programmes_differ(run, later) == []
    assert programmes_differ(run, {"programme": {"rate": 41.0}})[0] == "burst"


def test_runs_are_read_strictly(run: dict[str, Any], tmp_path: Path) -> None:
    """What isn't a run of this release, and a run of another scenario, are refused in words."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run), "utf-8")
    assert read_run(path) == run
    for text in ("", "{", "[]", "{}", json.dumps(run | {"form": 2})):
        path.write_text(text, "utf-8")
        with pytest.raises(lastro.InvalidInput, match="run"):
            read_run(path)
    with pytest.raises(lastro.InvalidInput, match="can't be read"):
        read_run(tmp_path / "nowhere.json")
    with pytest.raises(lastro.InvalidInput, match="nothing to compare"):
        refuse_others(run, {"scenario": "checkout"})


def test_a_report_that_cant_be_written_is_refused(run: dict[str, Any], tmp_path: Path) -> None:
    """A folder that isn't there is a sentence, and no traceback after a run of minutes."""
    write_report(tmp_path / "out.html", run)
    parsed((tmp_path / "out.html").read_text("utf-8"))
    with pytest.raises(lastro.InvalidInput, match="can't be written"):
        write_report(tmp_path / "nowhere" / "out.html", run)


def test_numbers_at_an_axis_are_short() -> None:
    """An axis has room for a few characters."""
    assert [short(value) for value in (0, 0.25, 12.0, 1_500, 2_000_000, 3e9)] == ["0", "0.25", "12", "1.5k", "2M", "3G"]
