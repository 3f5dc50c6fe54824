"""
Where a statement is written to: a file that comes into being once it is complete, or one that is open already.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, Literal, Protocol, TypeAlias

from lastro.errors import InvalidInput
from lastro.model.statement import StatementHead, StatementLine
from lastro.model.text import shown
from lastro.statements.csv_file import CsvWriter
from lastro.statements.html_page import HtmlWriter
from lastro.statements.json_file import JsonWriter

Format: TypeAlias = Literal["csv", "json", "html", "parquet"]


class Writer(Protocol):
    """Takes the lines of one statement. `lines` counts them."""

    lines: int

    def add(self, line: StatementLine) -> None:
        """Write one line."""
        ...

    def end(self) -> None:
        """Write what stands behind the last line."""
        ...


def _parquet(head: StatementHead, file: IO[bytes]) -> Writer:
    # Its library is an extra, and large: it is loaded by whoever asks for it.
    from lastro.statements.parquet_file import ParquetFileWriter

    return ParquetFileWriter(head, file)


_WRITERS: Final[dict[str, Callable[[StatementHead, IO[bytes]], Writer]]] = {
    "csv": CsvWriter,
    "json": JsonWriter,
    "html": HtmlWriter,
    "parquet": _parquet,
}
FORMATS: Final = tuple(_WRITERS)


@contextmanager
def writing(head: StatementHead, to: str | Path | IO[bytes], format_: Format) -> Iterator[Writer]:
    """
    Give a writer for the statement *head* in *format_*. A path gets its file when everything is written, by a rename: who
    reads it never sees a half, and what was there before stays if anything fails.
    """
    if format_ not in _WRITERS:
        raise InvalidInput(f"format is one of {', '.join(FORMATS)}; got {shown(format_)}", argument="format")
    make = _WRITERS[format_]
    if not isinstance(to, str | Path):
        writer = make(head, to)
        yield writer
        writer.end()
        return
    place = Path(to)
    suffix = place.suffix.removeprefix(".").lower()
    if suffix in _WRITERS and suffix != format_:
        raise InvalidInput(
            f"{place.name!r} is to be written as {format_}, and its name says {suffix}: pass format={suffix!r}, or name it "
            "otherwise",
            argument="format",
        )
    draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            writer = make(head, file)
            yield writer
            writer.end()
            file.flush()
            os.fsync(file.fileno())
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
