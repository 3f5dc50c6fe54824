"""
A statement as a page to be read and printed: one file that needs nothing else, no script and no network.
"""

from __future__ import annotations

from datetime import datetime
from html import escape
from typing import IO, Final

from lastro.model.statement import StatementHead, StatementLine, moment_of
from lastro.statements.amounts import decimal_text, places_of

_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
p { margin: 0 0 1.2rem; opacity: .75; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .35rem .6rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
thead th { border-bottom: 2px solid; }
tbody td { border-bottom: 1px solid #8884; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.balance td, .balance th { font-weight: 600; }
@media print {
  @page { margin: 1.5cm; }
  body { font-size: 10px; margin: 0; max-width: none; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
}
""".strip()


class HtmlWriter:
    """
    Writes UTF-8. Whatever stands in a name or a key is shown as it is, and never becomes markup.
    """

    def __init__(self, head: StatementHead, file: IO[bytes]) -> None:
        self.lines = 0
        self._head = head
        self._places = places_of(head.currency)
        self._file = file
        title = f"{escape(head.account)} in {escape(head.currency)}"
        placed = "Occurred" if head.by == "occurred" else "Recorded"
        unit = "" if self._places is not None else "; amounts in minor units"
        self._write(
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>Statement: {title}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n"
            f"<h1>Statement: {title}</h1>\n"
            f"<p>What {placed.lower()} {_span(head.since, head.until)}{unit}. Moments are UTC.</p>\n"
            "<table>\n<thead>\n<tr>"
            f'<th scope="col">{placed}</th><th scope="col">Kind</th><th scope="col">Other account</th>'
            '<th scope="col">Key</th><th scope="col">Cause</th><th scope="col" class="number">Amount</th>'
            '<th scope="col" class="number">Balance</th></tr>\n</thead>\n<tbody>\n'
        )
        self._balance("Opening balance", head.opening)

    def add(self, line: StatementLine) -> None:
        """Write an entry."""
        entry = line.entry
        texts = (
            _moment(moment_of(entry, self._head.by)),
            entry.kind,
            entry.counter_account,
            entry.key,
            entry.cause or "",
        )
        cells = "".join(f"<td>{escape(text)}</td>" for text in texts)
        self._write(
            f'<tr>{cells}<td class="number">{self._decimal(entry.signed)}</td>'
            f'<td class="number">{self._decimal(line.balance)}</td></tr>\n'
        )
        self.lines += 1

    def end(self) -> None:
        """Write the closing balance and end the page."""
        self._balance("Closing balance", self._head.closing)
        self._write("</tbody>\n</table>\n</body>\n</html>\n")

    def _balance(self, name: str, minor: int) -> None:
        self._write(
            f'<tr class="balance"><th scope="row" colspan="6">{name}</th>'
            f'<td class="number">{self._decimal(minor)}</td></tr>\n'
        )

    def _decimal(self, minor: int) -> str:
        return decimal_text(minor, self._head.currency, self._places)

    def _write(self, text: str) -> None:
        self._file.write(text.encode())


def _span(since: datetime | None, until: datetime | None) -> str:
    first = "from the beginning" if since is None else f"from {_moment(since)}"
    return f"{first} to the end" if until is None else f"{first}, before {_moment(until)}"


def _moment(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(" ", timespec="microseconds" if moment.microsecond else "seconds")
