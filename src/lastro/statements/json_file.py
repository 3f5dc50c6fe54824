"""
A statement as one JSON document. Amounts are strings of minor units: a JSON number above 2^53 is rounded by most readers.
"""

from __future__ import annotations

import json
from typing import IO, Any

from lastro.model.statement import StatementHead, StatementLine
from lastro.statements.amounts import decimal_text, places_of


class JsonWriter:
    """
    Writes the head first and the entries after it, one a line of the file, so that it may be of any length.
    """

    def __init__(self, head: StatementHead, file: IO[bytes]) -> None:
        self.lines = 0
        self._head = head
        self._places = places_of(head.currency)
        self._file = file
        document = {
            "account": head.account,
            "currency": head.currency,
            "since": None if head.since is None else head.since.isoformat(),
            "until": None if head.until is None else head.until.isoformat(),
            "by": head.by,
            "opening": str(head.opening),
            "closing": str(head.closing),
            "opening_decimal": self._decimal(head.opening),
            "closing_decimal": self._decimal(head.closing),
        }
        self._file.write(f'{json.dumps(document)[:-1]}, "entries": ['.encode())

    def add(self, line: StatementLine) -> None:
        """Write an entry."""
        comma = ",\n" if self.lines else "\n"
        self._file.write(f"{comma}{json.dumps(self._document(line))}".encode())
        self.lines += 1

    def end(self) -> None:
        """Close the document."""
        self._file.write(b"\n]}\n")

    def _document(self, line: StatementLine) -> dict[str, Any]:
        entry = line.entry
        return {
            "transfer_id": entry.transfer_id,
            "recorded_at": entry.recorded_at.isoformat(),
            "occurred_at": entry.occurred_at.isoformat(),
            "kind": entry.kind,
            "side": entry.side,
            "amount": str(entry.amount),
            "signed": str(entry.signed),
            "signed_decimal": self._decimal(entry.signed),
            "balance": str(line.balance),
            "balance_decimal": self._decimal(line.balance),
            "counter_account": entry.counter_account,
            "key": entry.key,
            "cause": entry.cause,
            "reverses": entry.reverses,
            "source": entry.source,
            "actor": entry.actor,
        }

    def _decimal(self, minor: int) -> str | None:
        # Of a unit whose decimals nobody knows the minor units are all there is to say.
        return None if self._places is None else decimal_text(minor, self._head.currency, self._places)
