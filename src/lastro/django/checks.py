"""
`manage.py check`: what is wrong with the setting `LASTRO`, by the numbers lastro.E001 to lastro.E006.
"""

from __future__ import annotations

from typing import Any

from django.core.checks import Error

from lastro.django.configuration import mistakes


def check_settings(**_: Any) -> list[Error]:
    """
    Return the mistakes in the setting as Django's errors.
    """
    return [Error(mistake.message, hint=mistake.hint, id=mistake.number) for mistake in mistakes()]
