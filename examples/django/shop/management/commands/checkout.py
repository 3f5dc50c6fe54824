"""python manage.py checkout NUMBER PRICE [--fail]: check an order out, or fail after it inside the same block."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

import lastro.django
from shop.models import Order, check_out


class Command(BaseCommand):
    """Check an order out."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the order."""
        parser.add_argument("number", type=int)
        parser.add_argument("price", type=int)
        parser.add_argument("--fail", action="store_true")

    def handle(self, *, number: int, price: int, fail: bool, **_: Any) -> None:
        """Check it out and say what is stored afterwards."""
        try:
            with transaction.atomic():
                first = check_out(number, price)
                if fail:
                    raise OSError("the printer is out of paper")
            self.stdout.write("stored" if first else "was stored before")
        except OSError as error:
            self.stdout.write(f"rolled back: {error}")
        sold = lastro.django.ledger().balance("seller:42", "BRL").posted
        self.stdout.write(f"orders {Order.objects.count()}, seller:42 {sold}")
