"""Tables: drawn on a terminal, tab-separated anywhere else; a stored name is text and nothing more."""

from __future__ import annotations

import sys

import pytest

from lastro.cli.tables import print_table

ROWS = [{"account": "[red]a\x1b[2J", "posted": "5.90"}, {"account": "b", "posted": "-10.00"}]


def test_a_terminal_gets_a_drawn_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal there is a rule under the header, numbers stand at the right, and markup in a name is only text."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(ROWS)
    drawn = capsys.readouterr().out
    assert "───" in drawn
    assert "[red]a\\u001b[2J" in drawn
    assert "\x1b[2J" not in drawn
    ends = [line.rstrip() for line in drawn.splitlines() if "5.90" in line or "-10.00" in line]
    assert len({len(line) for line in ends}) == 1


def test_a_pipe_gets_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Elsewhere: a header line and a line a row, tabs between the values, and no rows print nothing."""
    print_table(ROWS)
    assert capsys.readouterr().out == "account\tposted\n[red]a\\u001b[2J\t5.90\nb\t-10.00\n"
    print_table([])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("columns", [8, 20, 40, 60, 80, 200])
def test_nothing_is_cut_off_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    """However few characters a line has, every character of every value is there."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", str(columns))
    row = {
        "key": "abcdefghijklmnopqrst" * 2,
        "account": "ABCDEFGHIJKLMNOPQRST" * 2,
        "note": "帳簿" * 20,
        "posted": "0123456789",
    }
    print_table([row])
    drawn = capsys.readouterr().out
    for value in row.values():
        assert {letter: drawn.count(letter) >= value.count(letter) for letter in value} == dict.fromkeys(value, True)
    assert "…" not in drawn
