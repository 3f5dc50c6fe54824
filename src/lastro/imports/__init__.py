"""
Spreadsheets read by declared specs and merged: archives taken apart safely, cells typed strictly, what differs written.

Reading knows no database. What merges rows (`sending`, `jobs`, `working`, `merging`) stands on these seams:

* `take(path, folder)` returns the files of a zip, or the one file, as `Source`s: a path, or the reason of a refusal. Both
  folders are the caller's to make and to throw away.
* `read_specs(path)`, `ready_specs()` and `specs_of(document)` return `SheetSpec`s; `document_of(specs)` is what a job may
  keep of them.
* `parse(sources, specs, folder=…, period="2026-11")` reads them by up to four processes, and returns a `FileReport` for
  each source in its order. `status` is "parsed" (all rows good), "rejected" (some rows are not; the others are
  staged) or "error" (with the reason; nothing is staged).
* A `SheetReport` a spec: `staged` is a file in the text format of COPY, UTF-8, one line a good row: its number in the sheet,
  then `fields` in their order (those of the spec without the `missing` ones), tabs between, `\\N` for an empty cell. The
  types, for the staging table: `text` text; `integer` and `money` bigint (money in minor units); `decimal` numeric;
  `date` date; `datetime` timestamptz (written in UTC); `boolean` boolean (`t`, `f`). `aside` holds the rejected rows as
  JSON lines: `row`, `cells` by field as they were, `reasons` (cell, field, value, reason).
* A field that is `missing` has no column in the file: what is stored of it is to be left alone, not to be emptied.
* With a period, a row whose `spec.period` lies in another month is rejected. Of a `datetime` the month is that of its
  column's zone. Whether a key stands in a file twice is for the merge to say: rows carry their numbers for that.
"""

from lastro.imports.archives import Source, Taken, take
from lastro.imports.columns import Column
from lastro.imports.parsing import Progress, parse
from lastro.imports.reports import FileReport, Rejection, SheetReport, document_of_report, report_of
from lastro.imports.spec_files import document_of, read_specs, ready_specs, specs_of
from lastro.imports.specs import SheetSpec, Totals
from lastro.imports.staging import staged_rows

__all__ = [
    "Column",
    "FileReport",
    "Progress",
    "Rejection",
    "SheetReport",
    "SheetSpec",
    "Source",
    "Taken",
    "Totals",
    "document_of",
    "document_of_report",
    "parse",
    "read_specs",
    "ready_specs",
    "report_of",
    "specs_of",
    "staged_rows",
    "take",
]
