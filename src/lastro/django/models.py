"""
The books as Django models: unmanaged, over the tables and views of the ledger `default`, and only to be read.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from django.db import models

from lastro.django.configuration import configured, declared_table_of, table_of
from lastro.django.fields import AmountField, MomentField, WordField
from lastro.errors import InvalidInput
from lastro.model.limits import (
    ACCOUNT_CHARACTERS_MAX,
    ACTOR_CHARACTERS_MAX,
    CAUSE_CHARACTERS_MAX,
    CURRENCY_CHARACTERS_MAX,
    KEY_CHARACTERS_MAX,
    KIND_CHARACTERS_MAX,
    SOURCE_CHARACTERS_MAX,
)

WORD_CHARACTERS_MAX = 16


def _refuse(doing: str) -> NoReturn:
    raise InvalidInput(
        f"the books are only read here, and {doing} writes: post through lastro.django.ledger()", argument="model"
    )


class Books(models.QuerySet):
    """
    Rows of the books, from the ledger's own database.
    """

    def update(self, **kwargs: Any) -> NoReturn:
        """Refuse."""
        _refuse("update()")

    def delete(self) -> NoReturn:
        """Refuse."""
        _refuse("delete()")

    def bulk_create(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse."""
        _refuse("bulk_create()")

    def bulk_update(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse."""
        _refuse("bulk_update()")


class OnTheLedgersDatabase(models.Manager.from_queryset(Books)):  # type: ignore[misc]  # (a base made as it runs)
    """
    Reads from the database that LASTRO names, whatever the project's routers say.
    """

    def get_queryset(self) -> Any:
        """Return all rows, of the table that LASTRO means now: tests change it, and Django's test databases."""
        meta = self.model._meta  # noqa: SLF001  (public under this name)
        meta.db_table = table_of(meta.model_name)
        return super().get_queryset().using(configured().database)


class Read(models.Model):
    """
    A row that is only read.
    """

    objects = OnTheLedgersDatabase()

    class Meta:
        """Permissions to view, and no others."""

        abstract = True
        managed = False
        default_permissions: ClassVar = ("view",)
        base_manager_name = "objects"

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse."""
        _refuse("save()")

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse."""
        _refuse("delete()")


class Account(Read):
    """
    An account. Its terms and its balance stand in `Balance`.
    """

    id = models.BigIntegerField(primary_key=True)
    name = WordField(max_length=ACCOUNT_CHARACTERS_MAX)
    currency = WordField(max_length=CURRENCY_CHARACTERS_MAX)
    opened_at = MomentField(in_table=True)
    closed_at = MomentField(null=True, in_table=True)
    metadata = models.JSONField(null=True)

    class Meta(Read.Meta):
        """Over the table, which is written once an account."""

        db_table = declared_table_of("account")
        ordering: ClassVar = ("name", "currency")
        unique_together: ClassVar = (("name", "currency"),)

    def __str__(self) -> str:
        return f"{self.name} {self.currency}"


class Balance(Read):
    """
    An account's terms, and what is posted, held and available on it, in minor units. Name the account: a balance that is
    kept summed is the sum of its history.
    """

    account_id = models.BigIntegerField(primary_key=True)
    account = WordField(max_length=ACCOUNT_CHARACTERS_MAX)
    currency = WordField(max_length=CURRENCY_CHARACTERS_MAX)
    keeping = WordField(max_length=WORD_CHARACTERS_MAX)
    state = WordField(max_length=WORD_CHARACTERS_MAX)
    floor = AmountField(null=True)
    posted = AmountField()
    held = AmountField()
    available = AmountField()

    class Meta(Read.Meta):
        """Over the view."""

        db_table = declared_table_of("balance")

    def __str__(self) -> str:
        return f"{self.account} {self.currency}"


class Entry(Read):
    """
    One side of a transfer. Filter by `account` and `currency`, or by `cause`: those have an index.
    """

    pk = models.CompositePrimaryKey("transfer_id", "side")
    transfer_id = models.BigIntegerField()
    side = WordField(max_length=WORD_CHARACTERS_MAX)
    account = WordField(max_length=ACCOUNT_CHARACTERS_MAX)
    currency = WordField(max_length=CURRENCY_CHARACTERS_MAX)
    kind = WordField(max_length=KIND_CHARACTERS_MAX)
    amount = AmountField()
    balance_before = AmountField(null=True)
    balance_after = AmountField(null=True)
    counter_account = WordField(max_length=ACCOUNT_CHARACTERS_MAX)
    key = WordField(max_length=KEY_CHARACTERS_MAX)
    cause = WordField(max_length=CAUSE_CHARACTERS_MAX, null=True)
    reverses = WordField(max_length=KEY_CHARACTERS_MAX, null=True)
    source = WordField(max_length=SOURCE_CHARACTERS_MAX, null=True)
    actor = WordField(max_length=ACTOR_CHARACTERS_MAX, null=True)
    occurred_at = MomentField()
    recorded_at = MomentField()
    metadata = models.JSONField(null=True)
    account_id = models.BigIntegerField()

    class Meta(Read.Meta):
        """Over the view."""

        db_table = declared_table_of("entry")
        verbose_name_plural = "entries"

    def __str__(self) -> str:
        return f"{self.key} {self.side}"


class Movement(Read):
    """
    One transfer, in the columns of a classic points ledger. By its key take `ledger().transfer(key)`, which has an index.
    """

    movement_key = WordField(primary_key=True, max_length=KEY_CHARACTERS_MAX)
    position = models.BigIntegerField()
    kind = WordField(max_length=KIND_CHARACTERS_MAX)
    currency = WordField(max_length=CURRENCY_CHARACTERS_MAX)
    debit = WordField(max_length=ACCOUNT_CHARACTERS_MAX)
    credit = WordField(max_length=ACCOUNT_CHARACTERS_MAX)
    amount = AmountField()
    occurred_at = MomentField()
    recorded_at = MomentField()
    cause = WordField(max_length=CAUSE_CHARACTERS_MAX, null=True)
    reverses = WordField(max_length=KEY_CHARACTERS_MAX, null=True)

    class Meta(Read.Meta):
        """Over the view."""

        db_table = declared_table_of("movement")

    def __str__(self) -> str:
        return f"{self.movement_key}"
