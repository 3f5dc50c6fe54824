"""The orders, and an account that was opened by a data migration."""

from django.db import migrations, models

import lastro.django


def open_account(apps, schema_editor):
    """Open it in the ledger of the database that is being migrated."""
    if schema_editor.connection.alias == "default":
        lastro.django.ledger().open_account("of the migration", "BRL")


class Migration(migrations.Migration):
    """The first one: the ledger is there already."""

    initial = True
    dependencies = [("lastro", "0001_core")]
    operations = [
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.IntegerField(unique=True)),
            ],
        ),
        migrations.RunPython(open_account, migrations.RunPython.noop),
    ]
