"""
A page to be read and printed, around whatever table: one file that needs nothing else, no script and no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

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

END: Final = "</tbody>\n</table>\n</body>\n</html>\n"
_NUMBER: Final = ' class="number"'
_STRONG: Final = ' class="balance"'


def beginning(title: str, about: str, columns: Sequence[str], *, numbers: int) -> str:
    """
    Return a page up to the first row of its table. The last *numbers* of the *columns* are lined up at the right.
    """
    texts = len(columns) - numbers
    heads = "".join(
        f'<th scope="col"{_NUMBER if place >= texts else ""}>{escape(column)}</th>'
        for place, column in enumerate(columns)
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n<p>{escape(about)}</p>\n<table>\n<thead>\n<tr>{heads}</tr>\n</thead>\n<tbody>\n"
    )


def row(cells: Sequence[str], *, numbers: int, strong: bool = False) -> str:
    """
    Return a row of texts, of which the last *numbers* are lined up at the right. Nothing in them becomes markup.
    """
    texts = len(cells) - numbers
    said = "".join(f"<td{_NUMBER if place >= texts else ''}>{escape(cell)}</td>" for place, cell in enumerate(cells))
    return f"<tr{_STRONG if strong else ''}>{said}</tr>\n"
