"""
Columns of the ledger's views as Django reads them: exact amounts, and moments in each store's own form.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from lastro.engine.sqlite_values import EPOCH, MICROSECOND, microseconds


class AmountField(models.BigIntegerField):
    """
    Minor units, an int: a sum comes from PostgreSQL as a Decimal.
    """

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> int | None:
        """Return the exact int."""
        return None if value is None else int(value)


class WordField(models.CharField):
    """
    Text: MariaDB and MySQL hold what is compared byte by byte as bytes.
    """

    def get_internal_type(self) -> str:
        """Keep Django's advice on how to make such a column away: the ledger makes its own."""
        return "WordField"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> str | None:
        """Return the text."""
        return value.decode() if isinstance(value, bytes) else value


class MomentField(models.DateTimeField):
    """
    A moment: SQLite's tables hold whole microseconds since 1970, its views text that ends in Z; MariaDB and MySQL hold it
    without a time zone, in UTC.
    """

    def __init__(self, *args: Any, in_table: bool = False, **kwargs: Any) -> None:
        self.in_table = in_table
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        """Return what a migration writes down of it."""
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, kwargs | ({"in_table": True} if self.in_table else {})

    def get_internal_type(self) -> str:
        """Keep Django's own converters away, which know one form only."""
        return "MomentField"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> datetime | None:
        """Return the moment, aware where USE_TZ is on, else in the project's time zone, as Django's own fields do."""
        if value is None:
            return None
        if isinstance(value, int):
            value = EPOCH + value * MICROSECOND
        elif isinstance(value, str):
            value = datetime.fromisoformat(value)
        aware = value if value.tzinfo else value.replace(tzinfo=_stored_in(connection))
        zone = UTC if settings.USE_TZ else timezone.get_default_timezone()
        moment: datetime = aware.astimezone(zone)
        return moment if settings.USE_TZ else moment.replace(tzinfo=None)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002  (Django's signature)
        """Return a moment as the column holds it."""
        moment = value if prepared else self.get_prep_value(value)
        if connection.vendor == "postgresql" or not isinstance(moment, datetime):
            return super().get_db_prep_value(moment, connection, prepared=True)
        aware = moment if moment.tzinfo else timezone.make_aware(moment, timezone.get_default_timezone())
        if connection.vendor == "mysql":
            return f"{aware.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}"
        if self.in_table:
            return microseconds(aware)
        return f"{aware.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def _stored_in(connection: Any) -> Any:
    if connection.vendor == "mysql":
        return UTC
    # A session without a time zone of its own is in the project's.
    return connection.timezone or timezone.get_default_timezone()
