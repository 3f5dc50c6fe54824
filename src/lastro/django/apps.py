"""
The app: its name among Django's, its checks, and what it does after `migrate`.
"""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks
from django.core.signals import setting_changed
from django.db.models.signals import post_migrate

from lastro.django.bound import forget
from lastro.django.checks import check_settings
from lastro.django.configuration import remember_names
from lastro.django.migrating import complete


class LastroConfig(AppConfig):
    """
    `lastro.django` in INSTALLED_APPS; `lastro` wherever Django wants one word for it.
    """

    name = "lastro.django"
    label = "lastro"
    verbose_name = "Ledger"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the checks and the receivers, and remember how things are called."""
        remember_names()
        checks.register(check_settings, checks.Tags.database, checks.Tags.compatibility)
        post_migrate.connect(complete, sender=self, dispatch_uid="lastro.complete")
        setting_changed.connect(forget, dispatch_uid="lastro.forget")
