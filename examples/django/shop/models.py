"""The shop's own table, and what happens when an order is paid."""

from django.db import models, transaction

import lastro.django


class Order(models.Model):
    """An order; its price in cents."""

    number = models.BigIntegerField(unique=True)
    price = models.BigIntegerField()

    def __str__(self) -> str:
        return f"order {self.number}"


@transaction.atomic
def check_out(number: int, price: int) -> bool:
    """Store an order with its money; say whether this attempt did it, and not an earlier one."""
    Order.objects.get_or_create(number=number, defaults={"price": price})
    cause = f"order:{number}"
    commission = {"key": f"{cause}:commission", "kind": "commission", "credit": "platform", "amount": price // 10}
    sale = {"key": f"{cause}:sale", "kind": "sale", "credit": "seller:42", "amount": price - price // 10}
    posted = lastro.django.ledger().post_many(
        [{"debit": "world", "currency": "BRL", "cause": cause} | transfer for transfer in (commission, sale)]
    )
    return not any(one.replayed for one in posted)
