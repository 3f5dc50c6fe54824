"""The application's own table, and a transfer to post beside it."""

from typing import Any

from django.db import models


class Order(models.Model):
    """An order."""

    number = models.IntegerField(unique=True)

    def __str__(self) -> str:
        return f"order {self.number}"


def wanted(**changed: Any) -> dict[str, Any]:
    """A transfer of 5 BRL from the world to `a`, changed."""
    return {"key": "k", "kind": "pay", "debit": "world", "credit": "a", "amount": 5, "currency": "BRL"} | changed
