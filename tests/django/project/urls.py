"""The admin, and views that post."""

import asyncio

from asgiref.sync import sync_to_async
from books.models import Order, wanted
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path

import lastro
import lastro.django


def pay(request: HttpRequest, outcome: str) -> HttpResponse:
    """Post one transfer with an order; then end well, raise, or be refused something else and go on."""
    Order.objects.create(number=1)
    lastro.django.ledger().post(**wanted())
    if outcome == "raise":
        raise OSError("out of paper")
    if outcome == "refused":
        try:
            lastro.django.ledger().post(**wanted(key="too much", debit="a", credit="b", amount=1_000))
        except lastro.InsufficientFunds:
            return HttpResponse("refused")
    return HttpResponse("paid")


async def pay_async(request: HttpRequest, outcome: str) -> HttpResponse:
    """The same from an event loop."""
    await asyncio.sleep(0)
    response: HttpResponse = await sync_to_async(pay)(request, outcome)
    return response


urlpatterns = [
    path("admin/", admin.site.urls),
    path("pay/<str:outcome>/", pay),
    path("pay-async/<str:outcome>/", pay_async),
]
