"""
What every reader gives, whatever the format: a book's sheets, and a sheet's rows in batches with their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from lastro.imports.cells import Merge, Value
from lastro.imports.dates import DateSystem
from lastro.imports.specs import SheetSpec


class Batch(NamedTuple):
    """
    Some rows of a sheet, top down: row *numbers[i]* is *rows[i]*, whose first value stands in column *offset*.

    All rows are of one length. *hidden* are the numbers of the hidden ones, *faults* says why a whole row can't be
    read, by its number.
    """

    numbers: Sequence[int]
    rows: Sequence[Sequence[Value]]
    offset: int = 0
    hidden: frozenset[int] = frozenset()
    faults: Mapping[int, str] = {}


class Listed(NamedTuple):
    """
    A sheet as its book lists it.
    """

    name: str
    hidden: bool


class Sheet(Protocol):
    """
    A sheet that is being read. `merges` are complete for all rows that were given so far; `notes` say how it was read.
    """

    @property
    def date_system(self) -> DateSystem:
        """From which day its serial numbers count."""
        ...

    @property
    def hidden_columns(self) -> frozenset[int]:
        """Its hidden columns, counted from 0."""
        ...

    @property
    def merges(self) -> Sequence[Merge]:
        """Its merged cells."""
        ...

    @property
    def notes(self) -> Mapping[str, str]:
        """What was found out, and not declared: the encoding of a csv file, for instance."""
        ...

    @property
    def share_read(self) -> float:
        """How much of it has been read, from 0 to 1."""
        ...

    def batches(self) -> Iterator[Batch]:
        """Its rows, once."""
        ...


class Book(Protocol):
    """
    An opened file.
    """

    @property
    def sheets(self) -> Sequence[Listed]:
        """Its sheets, in their order."""
        ...

    def opened(self, index: int, spec: SheetSpec) -> Sheet:
        """The sheet of that index, from 0, as *spec* wants it read."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...
