"""
The books of a ledger at its version 1, and the ledgers themselves.
"""

from typing import ClassVar

from django.db import migrations, models

import lastro.django.fields
from lastro.django.configuration import declared_table_of
from lastro.django.migrating import BringLedgersUp


class Migration(migrations.Migration):
    """
    Models to read the books by, then the tables and views themselves.
    """

    initial = True
    # Each migration of a ledger is a transaction of its own.
    atomic = False
    dependencies: ClassVar[list[tuple[str, str]]] = []
    operations: ClassVar = [
        migrations.CreateModel(
            name="Account",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("name", lastro.django.fields.WordField(max_length=340)),
                ("currency", lastro.django.fields.WordField(max_length=32)),
                ("opened_at", lastro.django.fields.MomentField(in_table=True)),
                ("closed_at", lastro.django.fields.MomentField(in_table=True, null=True)),
                ("metadata", models.JSONField(null=True)),
            ],
            options={
                "db_table": declared_table_of("account"),
                "ordering": ("name", "currency"),
                "managed": False,
                "default_permissions": ("view",),
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="Balance",
            fields=[
                ("account_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("account", lastro.django.fields.WordField(max_length=340)),
                ("currency", lastro.django.fields.WordField(max_length=32)),
                ("keeping", lastro.django.fields.WordField(max_length=16)),
                ("state", lastro.django.fields.WordField(max_length=16)),
                ("floor", lastro.django.fields.AmountField(null=True)),
                ("posted", lastro.django.fields.AmountField()),
                ("held", lastro.django.fields.AmountField()),
                ("available", lastro.django.fields.AmountField()),
            ],
            options={
                "db_table": declared_table_of("balance"),
                "managed": False,
                "default_permissions": ("view",),
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="Entry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "transfer_id", "side", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("transfer_id", models.BigIntegerField()),
                ("side", lastro.django.fields.WordField(max_length=16)),
                ("account", lastro.django.fields.WordField(max_length=340)),
                ("currency", lastro.django.fields.WordField(max_length=32)),
                ("kind", lastro.django.fields.WordField(max_length=16)),
                ("amount", lastro.django.fields.AmountField()),
                ("balance_before", lastro.django.fields.AmountField(null=True)),
                ("balance_after", lastro.django.fields.AmountField(null=True)),
                ("counter_account", lastro.django.fields.WordField(max_length=340)),
                ("key", lastro.django.fields.WordField(max_length=400)),
                ("cause", lastro.django.fields.WordField(max_length=255, null=True)),
                ("reverses", lastro.django.fields.WordField(max_length=400, null=True)),
                ("source", lastro.django.fields.WordField(max_length=255, null=True)),
                ("actor", lastro.django.fields.WordField(max_length=255, null=True)),
                ("occurred_at", lastro.django.fields.MomentField()),
                ("recorded_at", lastro.django.fields.MomentField()),
                ("metadata", models.JSONField(null=True)),
                ("account_id", models.BigIntegerField()),
            ],
            options={
                "verbose_name_plural": "entries",
                "db_table": declared_table_of("entry"),
                "managed": False,
                "default_permissions": ("view",),
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="Movement",
            fields=[
                ("movement_key", lastro.django.fields.WordField(max_length=400, primary_key=True, serialize=False)),
                ("position", models.BigIntegerField()),
                ("kind", lastro.django.fields.WordField(max_length=16)),
                ("currency", lastro.django.fields.WordField(max_length=32)),
                ("debit", lastro.django.fields.WordField(max_length=340)),
                ("credit", lastro.django.fields.WordField(max_length=340)),
                ("amount", lastro.django.fields.AmountField()),
                ("occurred_at", lastro.django.fields.MomentField()),
                ("recorded_at", lastro.django.fields.MomentField()),
                ("cause", lastro.django.fields.WordField(max_length=255, null=True)),
                ("reverses", lastro.django.fields.WordField(max_length=400, null=True)),
            ],
            options={
                "db_table": declared_table_of("movement"),
                "managed": False,
                "default_permissions": ("view",),
                "base_manager_name": "objects",
            },
        ),
        BringLedgersUp(to="0001_core"),
    ]
