"""The shop's table, and the accounts that its money goes to."""

from django.db import migrations, models

import lastro.django


def open_accounts(apps, schema_editor):
    """Open them; done twice it does nothing."""
    ledger = lastro.django.ledger()
    ledger.open_account("platform", "BRL", keeping="hot")
    ledger.open_account("seller:42", "BRL")


class Migration(migrations.Migration):
    """The first one."""

    initial = True
    dependencies = [("lastro", "0001_core")]
    operations = [
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.BigIntegerField(unique=True)),
                ("price", models.BigIntegerField()),
            ],
        ),
        migrations.RunPython(open_accounts, migrations.RunPython.noop),
    ]
