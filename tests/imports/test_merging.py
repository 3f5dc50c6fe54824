"""Merging a file: what differs is written, what is lacking is deleted, what is equal isn't touched, or nothing at all is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lastro import InvalidInput, UnknownImport
from lastro.imports.limits import SHRINK_ROWS_FREE
from lastro.imports.merging import shrinks
from lastro.imports.sending import month
from tests.imports.conftest import Importing
from tests.imports.making import by_libreoffice, packed
from tests.imports.months import (
    BILLING,
    MONTH,
    MOVEMENTS,
    Line,
    billing,
    csv_of,
    lines,
    placed,
    stored,
    workbook,
    zipped,
)

Connection = psycopg.Connection[Any]

MOVED = [["M1", "R", f"{MONTH}-05", "10.00", "BRL", "card"], ["M2", "R", f"{MONTH}-06", "-3.50", "BRL", ""]]


@pytest.mark.req("4.2")
def test_both_sheets_of_a_file_are_merged_in_one_transaction(
    importing: Importing, connection: Connection, tmp_path: Path
) -> None:
    """A workbook's billing and movements come in by one transaction, each row typed, with the file and row it came from."""
    book = workbook(tmp_path / "november.xlsx", billed=[line.cells for line in lines(1, 2)], moved=MOVED)
    (done,) = importing.ledger.imports.run(book, period=MONTH)
    assert done.status == "merged"
    assert [(sheet.sheet, sheet.inserted) for sheet in done.sheets] == [("billing", 2), ("movements", 2)]
    rows = connection.execute(
        "SELECT invoice, reference, billed_on::text, amount, fee, currency, file_id, row_number FROM sheet_billing"
    ).fetchall()
    assert ("I001", "R", "2026-11-05", 1000, None, "BRL", done.file_id, 2) in rows
    moved = connection.execute("SELECT movement, amount, kind FROM sheet_movements ORDER BY 1").fetchall()
    assert moved == [("M1", 1000, "card"), ("M2", -350, None)]
    writers = connection.execute(
        "SELECT xmin::text FROM sheet_billing UNION SELECT xmin::text FROM sheet_movements "
        "UNION SELECT xmin::text FROM import_outcome UNION SELECT xmin::text FROM outbox"
    ).fetchall()
    assert len(writers) == 1, "rows, outcome and event are one transaction's"


@pytest.mark.req("4.2")
def test_an_unchanged_row_is_not_rewritten(importing: Importing, connection: Connection) -> None:
    """Merged again, in another order, a row keeps its transaction and its place, and isn't counted as changed."""
    assert importing.merged(*lines(1, 2, 3)) == (3, 0, 0, 0)
    before = placed(connection)
    assert importing.merged(*lines(3, 1, 2)) == (0, 0, 3, 0)
    assert placed(connection) == before
    assert importing.merged(Line("I002", "99.00"), *lines(3, 1)) == (0, 1, 2, 0)
    after = placed(connection)
    assert [after[0], after[2]] == [before[0], before[2]]
    assert after[1][:3] != before[1][:3]
    assert after[1][3] == before[1][3], "the same line, changed"

    # The same where no month is declared; then nothing is deleted.
    before = placed(connection)
    assert importing.merged(Line("I003"), Line("I004", month="2026-12"), month=None) == (1, 0, 1, 0)
    assert placed(connection)[:3] == before


@pytest.mark.req("4.2")
@pytest.mark.case("C083")
def test_rows_that_the_month_lacks_are_deleted_and_kept(importing: Importing, connection: Connection) -> None:
    """Rows of the declared month that the file no longer has go, those of other months stay; what went can be found."""
    importing.merged(Line("I009", month="2026-10"), month="2026-10")
    importing.merged(*lines(1, 2, 3))
    done = importing.billing(Line("I001"), Line("I003", "11.00"))
    assert sorted(stored(connection)) == ["I001", "I003", "I009"]
    kept = importing.ledger.imports.replaced(done.file_id)
    assert [(one.is_deleted, one.line["invoice"], one.line["amount"]) for one in kept] == [
        (False, "I003", 1000),
        (True, "I002", 1000),
    ]
    assert importing.ledger.imports.replaced(done.file_id, after=kept[0].replaced_id) == kept[1:]


@pytest.mark.req("4.2")
def test_a_row_may_move_to_another_month(importing: Importing, connection: Connection) -> None:
    """A key that another month has is changed, not doubled."""
    importing.merged(Line("I001", month="2026-10"), month="2026-10")
    assert importing.merged(Line("I001"), Line("I002")) == (1, 1, 0, 0)
    assert stored(connection)["I001"] == (1000, "2026-11-05", "d")


@pytest.mark.case("C083")
def test_a_missing_column_leaves_what_is_stored(importing: Importing, connection: Connection) -> None:
    """A file without a column changes nothing of it, and the job's log says so; a new row has nothing there."""
    importing.merged(Line("I001", description="kept"), Line("I002", description="kept too"))
    cut = [line.cells[:-1] for line in (Line("I001", "77.00"), Line("I002"), Line("I003"))]
    (done,) = importing.run(billing=csv_of(BILLING[:-1], cut)).values()
    assert stored(connection) == {
        "I001": (7700, "2026-11-05", "kept"),
        "I002": (1000, "2026-11-05", "kept too"),
        "I003": (1000, "2026-11-05", None),
    }
    assert "billing.csv has no column for description: what is stored of it stays" in importing.log(done)


@pytest.mark.case("C080")
def test_a_key_twice_in_a_file_is_reported_with_all_its_rows(importing: Importing, connection: Connection) -> None:
    """The file is refused with each key and each of its rows, equal or not, stored already or new, and nothing is merged."""
    importing.merged(*lines(1, 2))
    before = placed(connection)
    doubled = [*lines(1, 2, 2), Line("I009", "1.00"), Line("I009", "2.00"), Line("I009", "3.00"), Line("I010")]
    reason = importing.refused(*doubled)
    assert reason == (
        "billing.csv has keys more than once (invoice, reference): I002, R in the rows 3, 4; I009, R in the rows 5, 6, 7"
    )
    assert placed(connection) == before


SHRUNK = [
    (3, 1, False),
    (3, 2, True),
    (2, 1, False),
    (20, SHRINK_ROWS_FREE, False),
    (40, SHRINK_ROWS_FREE + 1, True),
    (60, 12, False),
    (60, 13, True),
]


@pytest.mark.case("C083")
@pytest.mark.parametrize(("present", "missing", "refused"), SHRUNK)
def test_what_is_too_much_of_a_month(present: int, missing: int, refused: bool) -> None:
    """More than half of the rows, or than a fifth of them where that is more than ten."""
    assert shrinks(missing=missing, present=present) is refused


@pytest.mark.case("C083")
def test_a_file_that_shrinks_a_month_is_refused(importing: Importing, connection: Connection) -> None:
    """A download that was cut off deletes nothing, unless it is told that it may; nor does a header alone, whatever it may."""
    importing.merged(*lines(1, 2, 3))
    assert importing.refused(*lines(3)).startswith("billing lacks 2 of the 3 rows that 2026-11 has by now")
    assert "no row" in importing.refused(allow_shrink=True)
    assert len(stored(connection)) == 3
    assert importing.merged(*lines(3), allow_shrink=True) == (0, 0, 1, 2)


@pytest.mark.req("4.6")
def test_rejected_rows_stop_a_file_or_are_kept_aside(importing: Importing, connection: Connection) -> None:
    """One rejected cell and nothing is merged, with the cell in the log; in quarantine the good rows are, and nothing goes."""
    importing.merged(*lines(1, 2, 3))
    bad = [*lines(1), Line("I002", "1,5"), Line("I004")]
    done = importing.billing(*bad)
    assert (done.status, done.sheets) == ("error", ())
    assert str(done.reason).startswith("1 rows are rejected, so that none is merged")
    assert any("billing.csv, D3: '1,5' is no number" in line for line in importing.log(done))
    assert sorted(stored(connection)) == ["I001", "I002", "I003"]
    done = importing.billing(*bad, quarantine=True)
    (sheet,) = done.sheets
    # Which row the rejected one is nobody knows: neither it nor any other is taken for lacking.
    assert (sheet.inserted, sheet.unchanged, sheet.deleted, sheet.quarantined) == (1, 1, 0, 1)
    assert sorted(stored(connection)) == ["I001", "I002", "I003", "I004"]
    (aside,) = importing.ledger.imports.quarantined(done.file_id)
    assert (aside.sheet, aside.row, aside.cells["amount"]) == ("billing", 3, "1,5")
    assert aside.reasons[0]["cell"] == "D3"


@pytest.mark.req("4.6")
def test_a_file_that_fails_leaves_nothing_and_the_others_go_on(
    importing: Importing, connection: Connection, tmp_path: Path
) -> None:
    """A workbook whose second sheet can't be merged leaves nothing of the first; the files beside it are merged."""
    broken = workbook(tmp_path / "b.xlsx", billed=[Line("I001").cells], moved=[MOVED[0], MOVED[0]])
    members: dict[str, str | bytes] = {"a-movements.csv": csv_of(MOVEMENTS, MOVED), "notes.csv": "x,y\n1,2\n"}
    path = packed(tmp_path / "sent.zip", {**members, "b.xlsx": broken.read_bytes(), "c.xlsx": b"PK no workbook"})
    done = {each.file: each for each in importing.ledger.imports.run(path, period=MONTH)}
    assert {name: each.status for name, each in done.items()} == {
        "a-movements.csv": "merged",
        "notes.csv": "error",
        "b.xlsx": "error",
        "c.xlsx": "error",
    }
    assert "Movements has keys more than once (movement): M1 in the rows 2, 3" in str(done["b.xlsx"].reason)
    assert all(each.reason for each in done.values() if each.status == "error")
    assert stored(connection) == {}
    assert connection.execute("SELECT count(*) FROM open_import").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM import_piece").fetchone() == (0,)


@pytest.mark.req("4.2")
def test_a_merged_file_is_told_by_an_event(importing: Importing) -> None:
    """A merge puts one event into the outbox, with what it did; a file that ended in error puts none."""
    done = importing.billing(*lines(1, 2))
    importing.refused(*lines(1, 1))
    (event,) = importing.ledger.outbox.waiting()
    assert (event.event_id, event.topic) == (f"import:{done.file_id}:merged", "imports")
    assert event.payload["sheets"]["billing"] == {
        "inserted": 2, "updated": 0, "unchanged": 0, "deleted": 0, "quarantined": 0,
    }  # fmt: skip


@pytest.mark.req("4.1")
def test_files_of_one_month_are_its_parts(importing: Importing, connection: Connection) -> None:
    """Files of one sheet and month that are sent together don't delete each other's rows; each keeps its own in step."""
    north, south = billing(*lines(1, 2, 3)), billing(*lines(4, 5))
    assert {each.status for each in importing.run(billing_n=north, billing_s=south).values()} == {"merged"}
    before = placed(connection)
    done = importing.run(billing_n=north, billing_s=south)
    assert [each.sheets[0].unchanged for each in done.values()] == [3, 2]
    assert placed(connection) == before
    # A part that comes again alone, by its name, is the same part.
    assert importing.merged(*lines(1, 3), name="billing_n") == (0, 0, 2, 1)
    assert sorted(stored(connection)) == ["I001", "I003", "I004", "I005"]
    # A row may move from one part to the other, whichever is merged first.
    importing.run(billing_n=billing(*lines(1)), billing_s=billing(*lines(3, 4, 5)), terms={"allow_shrink": True})
    assert sorted(stored(connection)) == ["I001", "I003", "I004", "I005"]
    # One file by another name is all of its month again.
    assert importing.merged(*lines(1, 3, 4), name="billing_whole") == (0, 0, 3, 1)


@pytest.mark.req("4.1")
def test_a_part_whose_sibling_cannot_be_read_is_a_part(importing: Importing, connection: Connection) -> None:
    """What stands of a month's other part stays, also where the zip's directory refuses that one, and a text beside is none."""
    importing.run(billing_n=billing(*lines(1, 2, 3)), billing_s=billing(*lines(4)))
    again = {"billing_north": billing(*lines(1, 2, 3)), "../billing_s": billing(*lines(4))}
    done = importing.run(**again)
    assert (done["billing_north"].status, done["../billing_s"].status) == ("merged", "error")
    assert sorted(stored(connection)) == ["I001", "I002", "I003", "I004"]
    path = packed(importing.folder / "sent.zip", {"billing_all.csv": billing(*lines(1, 2, 3)), "notes.txt": "x"})
    (whole, _) = importing.ledger.imports.run(path, period=MONTH)
    assert whole.sheets[0].deleted == 1


@pytest.mark.case("C080")
def test_a_key_in_two_files_of_a_zip_is_reported_with_both(importing: Importing, connection: Connection) -> None:
    """The file that comes second is refused with the key, its row, and the other file's row; also when all is stored already."""
    for attempt in range(2):
        done = importing.run(billing_n=billing(*lines(1, 2)), billing_s=billing(*lines(2, 3)))
        assert sorted(each.status for each in done.values()) == ["error", "merged"], attempt
        (refused,) = (each for each in done.values() if each.status == "error")
        other, row, its_row = ("billing_s.csv", 3, 2) if refused.file == "billing_n.csv" else ("billing_n.csv", 2, 3)
        assert str(refused.reason).endswith(
            f"keys that another file sent with it has too: I002, R in row {row}, and in {other}, row {its_row}"
        )


@pytest.mark.req("4.2")
def test_a_dry_run_shows_what_a_merge_then_does(importing: Importing, connection: Connection, tmp_path: Path) -> None:
    """A preview counts what the merge will do, shows some of it, and changes nothing; what would be refused is told."""
    importing.merged(*lines(1, 2, 3))
    before = placed(connection)
    path = zipped(tmp_path / "next.zip", billing=billing(Line("I001"), Line("I002", "20.00"), Line("I004")))
    (would,) = importing.ledger.imports.preview(path, period=MONTH)
    (sheet,) = would.sheets
    assert (sheet.inserted, sheet.updated, sheet.unchanged, sheet.deleted, would.reason) == (1, 1, 1, 1, None)
    told = {
        change.sort: (change.before and change.before["invoice"], change.after and change.after["invoice"])
        for change in would.changes
    }
    assert told == {"inserted": (None, "I004"), "updated": ("I002", "I002"), "deleted": ("I003", None)}
    assert placed(connection) == before
    assert connection.execute("SELECT count(*) FROM import_request").fetchone() == (1,)
    (done,) = importing.ledger.imports.run(path, period=MONTH)
    assert done.sheets == would.sheets
    path = zipped(tmp_path / "next.zip", billing=billing(*lines(1, 1)))
    (would,) = importing.ledger.imports.preview(path, period=MONTH)
    assert "more than once" in str(would.reason)


@pytest.mark.req("4.2")
def test_what_libreoffice_saved_merges_to_the_same(
    importing: Importing, connection: Connection, tmp_path: Path, need: Callable[..., Path]
) -> None:
    """A workbook that LibreOffice opened and saved, as it is or as an .ods, changes nothing of what the first one brought."""
    soffice = need("soffice", name="libreoffice")
    book = workbook(tmp_path / "november.xlsx", billed=[line.cells for line in lines(1, 2, 3)], moved=MOVED)
    (first,) = importing.ledger.imports.run(book, period=MONTH)
    assert first.status == "merged"
    before = placed(connection), placed(connection, "sheet_movements", "movement")
    for ending in ("xlsx", "ods"):
        saved = by_libreoffice(soffice, book, ending, tmp_path / "office")
        (again,) = importing.ledger.imports.run(saved, period=MONTH)
        assert [sheet.unchanged for sheet in again.sheets] == [3, 2], again.reason
        assert (placed(connection), placed(connection, "sheet_movements", "movement")) == before


def test_what_stands_is_read_in_a_transaction_of_the_callers(importing: Importing, connection: Connection) -> None:
    """Files, logs and the backlog are read beside the caller's own statements; a number that no file has is refused."""
    done = importing.billing(*lines(1))
    connection.execute("SELECT 1")
    held = importing.ledger.within(connection).imports
    assert held.file(done.file_id) == done
    assert held.files() == [done] == held.files(request_id=done.request_id)
    assert held.files(before=done.file_id) == []
    assert held.backlog() == (0, 0)
    with pytest.raises(UnknownImport):
        held.log(done.file_id + 1)


@pytest.mark.parametrize("period", ["2026-13", "11/2026", "2026-1", 202611, "0000-01"])
def test_a_month_is_a_month(period: Any) -> None:
    """Anything else is refused before anything is read."""
    with pytest.raises(InvalidInput, match="period must be a month like 2026-11"):
        month(period)
