"""What samples look like to Prometheus, in the report and on a screen: complete, escaped and readable."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

from rich.console import Console

from lastro.cli.doctor_view import drawn
from lastro.doctor.documents import diagnosis_document
from lastro.doctor.findings import find
from lastro.doctor.metrics import exposition
from lastro.doctor.readings import Reading
from lastro.doctor.record import Record
from lastro.doctor.report import charts, report
from tests.doctor.windows import reading, waiting, window

EVIL = '<script>alert("x")</script>\n\\'
SAMPLES_MAX = 3
COLUMNS = 100
VOID = {"meta", "polyline", "i"}


class Tags(HTMLParser):
    """Counts what is opened and closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        del attrs
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close it."""
        if tag not in VOID:
            assert self.open.pop() == tag


def test_the_exposition() -> None:
    """A type a metric, a line a subject, labels escaped; text has no line, and what couldn't be read has one."""
    [sample] = window(
        [
            reading("tail_age", 1.5, unit="s"),
            reading("tail_age", 1.5, EVIL, unit="s"),
            reading("commits", 7, unit="transactions"),
            reading("setting", "on", "fsync"),
            Reading("slots", None, "", trouble="no right"),
        ]
    )
    text = exposition(sample, ())
    assert "# TYPE lastro_doctor_tail_age_seconds gauge\nlastro_doctor_tail_age_seconds 1.5\n" in text
    assert '{subject="<script>alert(\\"x\\")</script>\\n\\\\"} 1.5' in text
    assert "# TYPE lastro_doctor_commits_total counter\nlastro_doctor_commits_total 7\n" in text
    assert 'lastro_doctor_unreadable{reading="slots"} 1' in text
    assert "fsync" not in text
    assert all(re.fullmatch(r"# TYPE \w+ \w+|\w+(\{.*\})? [-0-9.e+]+", line) for line in text.splitlines())


def test_the_report_stands_alone() -> None:
    """It has findings, pictures on one axis and what wasn't read; it loads nothing and executes nothing of what it shows."""
    samples = window(*[[*waiting(EVIL, 5 + step), Reading("slots", None, "", trouble=EVIL)] for step in range(5)])
    page = report(samples, find(samples))
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "hot_account_direct" in page
    assert "What couldn't be read" in page
    assert page.count("<svg") >= 2
    assert re.findall(r'(?:src|href)="', page) == []
    assert charts(samples) in page


def test_one_sample_can_be_drawn() -> None:
    """A single moment is a picture too, and readings that were 0 throughout are none."""
    drawing = charts(window([reading("sessions_busy", 3), reading("tail_age", 0.0)]))
    assert drawing.count("<polyline") == 1


def test_the_screen_is_readable() -> None:
    """One line on the whole, the finding with what to do, and the readings, within the terminal's width."""
    samples = window(
        *[
            [*waiting("platform", 5), reading("commits", 100 * step), reading("tail_age", 2.0, unit="s")]
            for step in range(4)
        ]
    )
    console = Console(file=io.StringIO(), width=COLUMNS, force_terminal=False)
    console.print(drawn(samples, find(samples)))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    lines = text.splitlines()
    assert "commits/s 100" in lines[0]
    assert lines[0].endswith("hot_account_direct")
    assert "lastro keep platform BRL hot" in text
    assert max(map(len, lines)) <= COLUMNS


def test_the_record_is_bounded() -> None:
    """The oldest samples go; findings are made of the newest seconds."""
    record = Record(samples_max=SAMPLES_MAX, window_s=1.5)
    for sample in window(*[[reading("open_incidents", 0)]] * 5):
        record.add(sample)
    assert len(record.samples) == SAMPLES_MAX
    assert [sample.at for sample in record.window()] == [sample.at for sample in record.samples[1:]]
    assert record.findings() == ()


def test_a_diagnosis_as_a_document() -> None:
    """It has the span, the findings, and the last sample's readings."""
    samples = window(*[waiting("platform", 5)] * 4)
    document = diagnosis_document(samples, find(samples))
    assert document["samples"] == len(samples)
    assert document["findings"][0]["about"]["keep"] == "hot"
    assert document["from"] < document["to"]
