"""
Lastro in a Django project: a ledger on Django's own connection, made by `manage.py migrate`, to be looked at in the admin.

`INSTALLED_APPS += ["lastro.django"]`; what `LASTRO` may say in the settings: `lastro.django.configuration`.
"""

from lastro.django.bound import DjangoLedger, ledger

__all__ = ["DjangoLedger", "ledger"]
