"""
What comes out of an archive, counted while it comes: no more of it than its limit, and no more than packing explains.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import Final, Protocol

from lastro.imports.cells import FileRefused
from lastro.imports.limits import MIB, UNPACK_FREE_BYTES, UNPACK_RATIO_MAX

# What a damaged archive, or one packed in an unknown way, makes of reading it.
DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    ValueError,
)


class Source(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """The next bytes; none at the end."""
        ...


class Unpacked:
    """
    A source of unpacked bytes that ends with `FileRefused` beyond *bytes_max*, or beyond what *packed_bytes* explain.
    """

    def __init__(self, source: Source, *, packed_bytes: int, bytes_max: int, what: str) -> None:
        self._source = source
        self._explained = max(UNPACK_FREE_BYTES, packed_bytes * UNPACK_RATIO_MAX)
        self._bytes_max = bytes_max
        self._what = what
        self.bytes_read = 0

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        block = self._source.read(size)
        self.bytes_read += len(block)
        if self.bytes_read > self._explained:
            raise FileRefused(
                f"is refused: {self._what} grows to more than {UNPACK_RATIO_MAX} times its packed size, as bombs do"
            )
        if self.bytes_read > self._bytes_max:
            raise FileRefused(f"has more than {self._bytes_max // MIB} MiB in {self._what}")
        return block
