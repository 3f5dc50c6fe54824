"""
A statement as Parquet: amounts as 64-bit integers of minor units, and as exact decimals where the currency has them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import IO, Any, Final

from lastro.errors import InvalidInput
from lastro.model.statement import StatementHead, StatementLine
from lastro.statements.amounts import moment_text, places_of

# So many lines are gathered before they are written as a group, which is what a reader reads at once.
LINES_A_GROUP: Final = 10_000
# Room for 64 bits, whatever the number of decimals.
DIGITS: Final = 20
_TEXTS: Final = ("kind", "side", "counter_account", "key", "cause", "reverses", "source", "actor")


class ParquetFileWriter:
    """
    Writes a group of lines at a time. What the statement is of stands in the file's own metadata, under `lastro.…`.
    """

    def __init__(self, head: StatementHead, file: IO[bytes]) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise InvalidInput(
                "a statement as Parquet needs pyarrow: pip install 'lastro[parquet]'", argument="format"
            ) from error
        self.lines = 0
        self._pa = pa
        self._places = places_of(head.currency)
        self._schema = self._schema_of(head)
        self._file = pq.ParquetWriter(file, self._schema)
        self._waiting: list[dict[str, Any]] = []

    def add(self, line: StatementLine) -> None:
        """Write an entry, with its group."""
        entry = line.entry
        row: dict[str, Any] = {name: getattr(entry, name) for name in _TEXTS}
        row |= {
            "transfer_id": entry.transfer_id,
            "recorded_at": entry.recorded_at,
            "occurred_at": entry.occurred_at,
            "amount_minor": entry.signed,
            "balance_minor": line.balance,
        }
        if self._places is not None:
            row["amount"] = Decimal(entry.signed).scaleb(-self._places)
            row["balance"] = Decimal(line.balance).scaleb(-self._places)
        self._waiting.append(row)
        self.lines += 1
        if len(self._waiting) == LINES_A_GROUP:
            self._write()

    def end(self) -> None:
        """Write the last group, and the file's foot."""
        self._write()
        self._file.close()

    def _write(self) -> None:
        if self._waiting:
            self._file.write_table(self._pa.Table.from_pylist(self._waiting, schema=self._schema))
            self._waiting.clear()

    def _schema_of(self, head: StatementHead) -> Any:
        pa = self._pa
        moment = pa.timestamp("us", tz="UTC")
        fields = [("transfer_id", pa.int64()), ("recorded_at", moment), ("occurred_at", moment)]
        fields += [(name, pa.string()) for name in _TEXTS]
        fields += [("amount_minor", pa.int64()), ("balance_minor", pa.int64())]
        if self._places is not None:
            decimal = pa.decimal128(DIGITS, self._places)
            fields += [("amount", decimal), ("balance", decimal)]
        return pa.schema(fields, metadata={f"lastro.{name}": value for name, value in _metadata(head).items()})


def _metadata(head: StatementHead) -> dict[str, str]:
    return {
        "account": head.account,
        "currency": head.currency,
        "since": moment_text(head.since),
        "until": moment_text(head.until),
        "by": head.by,
        "opening_minor": str(head.opening),
        "closing_minor": str(head.closing),
    }
